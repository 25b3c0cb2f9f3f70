#pragma once

// The server that conversations are played against. A conversation names what of it is there: `offers: echo blocks`.

#include "server/feature_server.hpp"

#include <map>
#include <string>
#include <vector>

namespace keel::conversations {

class server_for_wire : public test::feature_server {
public:
    explicit server_for_wire(std::size_t page_size);
    /// Handlers may wait at the gate until the connection has ended.
    ~server_for_wire() {
        if (std::uncaught_exceptions() == 0) finish();
    }

    /// A tool, a resource by its URI, a template, a prompt or a method. Throws std::runtime_error for a name that is unknown.
    void offer(const std::string& name);
    /// Takes it away again, and says so.
    void withdraw(const std::string& name);
    /// What stands behind "!": "updated test://readme", "add echo", "advance 100ms", … Throws for what is unknown.
    void happen(const std::string& what);
    /// Runs until nothing can go on without time or the client.
    void settle();

private:
    template <class F>
    void add_tool(std::string name, std::string about, F f, tool_options options = {});
    void offer_tools();
    void offer_asking_tools();
    void offer_the_rest();

    std::map<std::string, std::function<void()>> shelf_;  // by name: puts it on offer
    test::gate gate_;
};

}  // namespace keel::conversations
