#pragma once

// Whether every message that a client sends is one the official schema of the revision in force allows, and whether it keeps the
// rules that can be seen from outside in every conversation: ids are used once, answers are for questions that were asked and once
// for each, only its own open requests are cancelled, nothing but ping comes before the handshake is done.
//
// It listens to both directions of one connection. Methods that are in no schema are a test's own: only their envelope is looked
// at.

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
    /// A line for the client, before it reads it. Whatever it is.
    void heard(std::string_view line);

    /// What was wrong so far: the reason and the message.
    const std::vector<std::string>& problems() const noexcept { return problems_; }

private:
    void note_heard(const json::value& m);
    std::string in_force() const;
    void check_request(const json::value& m);
    void check_notification(const json::value& m);
    void check_answer(const json::value& m);
    void must_fit(const std::string& revision, const std::string& name, const json::value& m);
    /// The method exists in another revision only.
    bool is_foreign(const std::string& revision, std::string_view method) const;
    void complain(const json::value& m, const std::string& why);

    std::string offered_;  // in an initialize that is not answered
    std::string session_;  // the older revision that was agreed on
    bool confirmed_ = false;
    std::set<std::string> used_;                    // ids, as JSON
    std::map<std::string, std::string> open_;       // own requests without an answer: id, method
    std::map<std::string, std::string> questions_;  // of the server's, without an answer: id, method
    std::vector<std::string> problems_;
};

}  // namespace keel::test
