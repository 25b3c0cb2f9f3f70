#pragma once

// Checks that every message of a client matches the official schema of the revision in use, and the rules that are
// visible in every conversation: ids are used once, each request of the server is answered at most once, only the
// client's own open requests are cancelled, and only ping is sent before the handshake is complete.
//
// It reads both directions of one connection. Methods that are in no schema are custom methods of a test: only their
// envelope is checked.

#include <keel/json.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

class client_check {
public:
    /// A line from the client.
    void wrote(const json::value& line);
    /// A line for the client, before the client reads it. It may be invalid.
    void heard(std::string_view line);

    /// The errors so far: the reason and the message.
    const std::vector<std::string>& problems() const noexcept { return problems_; }

private:
    void note_heard(const json::value& m);
    std::string in_force() const;
    void check_request(const json::value& m);
    void check_notification(const json::value& m);
    void check_answer(const json::value& m);
    void must_fit(const std::string& revision, const std::string& name, const json::value& m);
    /// Whether the method exists only in another revision.
    bool is_foreign(const std::string& revision, std::string_view method) const;
    void complain(const json::value& m, const std::string& why);

    std::string offered_;  // the version in an initialize request that is not answered yet
    std::string session_;  // the negotiated older revision
    bool confirmed_ = false;
    std::set<std::string> used_;                    // ids, as JSON
    std::map<std::string, std::string> open_;       // requests of the client without an answer: id, method
    std::map<std::string, std::string> questions_;  // requests of the server without an answer: id, method
    std::vector<std::string> problems_;
};

}  // namespace keel::test
