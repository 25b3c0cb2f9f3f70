#pragma once

// Whether every message that a server sends is one the official schema of the revision in force allows.
//
// It listens to both directions of one connection: what the client sent says which revision is in force and which
// method an answer belongs to. Methods that are not in the schema's list are a test's own, and only their envelope is
// looked at.
//
// It also tells in which revisions a server has answered (see proof.hpp).

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
    /// A line from the client, before the server reads it. Whatever it is.
    void sent(std::string_view line);
    /// A line from the server.
    void received(const json::value& line);
    /// This connection is about messages that no schema allows, because a handler of the test makes them.
    void expect_off_schema(std::string reason) { off_ = std::move(reason); }

    /// What was wrong so far: the message and the reason.
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
    /// "" when it is a right answer to that.
    std::string complaint_about_result(const asked& to, const json::value& m) const;
    std::string complaint_about_modern_result(const asked& to, const json::value& result) const;
    std::string complaint_about_questions(const asked& to, const json::value& result) const;
    void check_error(const json::value& m, const std::string& revision);
    void check_request(const json::value& m);
    void check_notification(const json::value& m);
    void complain(const json::value& m, const std::string& why);

    std::string session_;  // the older revision that was agreed on
    bool modern_ = false;  // a modern request was sent
    json::value client_capabilities_;
    json::value server_capabilities_;
    std::map<std::string, std::vector<asked>> asked_;  // by id, as JSON; not yet answered
    std::set<std::string> listens_;                    // ids of all listens that were ever asked for
    std::set<std::string> questions_;                  // ids of requests of the server's
    std::string off_;
    std::vector<std::string> problems_;
};

}  // namespace keel::test
