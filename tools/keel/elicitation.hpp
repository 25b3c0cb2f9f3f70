#pragma once

// Answers the server's elicitation requests in the terminal. Nothing is sent or opened without the user's consent.

#include "console.hpp"
#include "form_field.hpp"
#include "terminal_input.hpp"

#include <keel/answering.hpp>

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

namespace keel::command {

class asker {
public:
    class dialog;  // the dialog of one request: question_dialog.hpp

    /// `where` is the name under which the user reached the server; the name that the server gives itself is not
    /// trusted.
    /// `interrupted` returns the token that Ctrl-C stops.
    asker(console& out, std::string where, std::function<std::stop_token()> interrupted);

    /// True if there is a terminal.
    bool there() const { return console_.is_terminal() && input_.there(); }

    // Called on the client's worker threads, one at a time.
    form_answer ask_form(const asked_by& who, const form_question& q);
    elicit_action ask_url(const asked_by& who, const url_question& q);
    /// After Ctrl-C: waits until the question is withdrawn, which happens when its call is cancelled.
    void wait_if_interrupted(const asked_by& who) const;

private:
    console& console_;
    std::string where_;
    std::function<std::stop_token()> interrupted_;
    terminal_input input_;
    std::mutex turn_;
};

}  // namespace keel::command
