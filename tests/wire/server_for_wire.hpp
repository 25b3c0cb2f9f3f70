#pragma once

// The server of the conversations. A conversation lists the features that it needs: `offers: echo blocks`.

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

    /// Adds a tool, a resource (by URI), a template, a prompt or a method. Throws std::runtime_error if the name is
    /// unknown.
    void offer(const std::string& name);
    /// Removes it, and notifies clients.
    void withdraw(const std::string& name);
    /// An event after "!": "updated test://readme", "add echo", "advance 100ms", … Throws if it is unknown.
    void happen(const std::string& what);
    /// Runs until only time or the client can make progress.
    void settle();

private:
    template <class F>
    void add_tool(std::string name, std::string about, F f, tool_options options = {});
    void offer_tools();
    void offer_asking_tools();
    void offer_the_rest();

    std::map<std::string, std::function<void()>> shelf_;  // by name: adds it
    test::gate gate_;
};

}  // namespace keel::conversations
