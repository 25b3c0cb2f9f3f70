#pragma once

// Checks that every message of a server matches the official schema of the revision in use.
//
// It reads both directions of one connection: the client's messages determine the revision and the method that an
// answer belongs to. Methods that are in no schema are custom methods of a test, and only their envelope is checked.
//
// It also reports the revisions in which a server has answered (see proof.hpp).

#include <keel/json.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

class message_check {
public:
    /// A line from the client, before the server reads it. It may be invalid.
    void sent(std::string_view line);
    /// A line from the server.
    void received(const json::value& line);
    /// Turns the check off for this connection: a handler of the test sends invalid messages on purpose.
    void expect_off_schema(std::string reason) { off_ = std::move(reason); }

    /// The errors so far: the message and the reason.
    const std::vector<std::string>& problems() const noexcept { return problems_; }

private:
    struct asked {
        std::string method;
        std::string revision;  // "" until a handshake decides it
        json::value capabilities;
        bool legacy_initialize = false;
    };

    void note_sent(const json::value& message);
    std::string in_force() const;

    void check_message(const json::value& m);
    void check_answer(const json::value& m);
    void note_answer(const asked& to) const;
    /// Returns "" if it is a valid answer to that request.
    std::string complaint_about_result(const asked& to, const json::value& m) const;
    std::string complaint_about_modern_result(const asked& to, const json::value& result) const;
    std::string complaint_about_questions(const asked& to, const json::value& result) const;
    void check_error(const json::value& m, const std::string& revision);
    void check_request(const json::value& m);
    void check_notification(const json::value& m);
    void complain(const json::value& m, const std::string& why);

    std::string session_;  // the negotiated older revision
    bool modern_ = false;  // a modern request was sent
    json::value client_capabilities_;
    json::value server_capabilities_;
    std::map<std::string, std::vector<asked>> asked_;  // by id, as JSON; not yet answered
    std::set<std::string> listens_;                    // ids of all listen requests so far
    std::set<std::string> questions_;                  // ids of requests of the server
    std::string off_;
    std::vector<std::string> problems_;
};

}  // namespace keel::test
