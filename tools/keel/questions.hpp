#pragma once

// Questions of the server, asked in the terminal. Nothing is sent, and nothing is opened, that the person has not seen and
// agreed to.

#include "console.hpp"
#include "form_field.hpp"
#include "terminal_input.hpp"

#include <keel/answering.hpp>

#include <mutex>
#include <stop_token>
#include <string>

namespace keel::command {

class asker {
public:
    class exchange;  // one question: exchange.hpp

    /// `where` is what the user called the server: its own name is proven by nothing.
    asker(console& out, std::string where, std::stop_token interrupted);

    /// There is somebody to ask.
    bool there() const { return console_.is_terminal() && input_.there(); }

    // On the client's worker threads, one question after the other.
    form_answer ask_form(const asked_by& who, const form_question& q);
    elicit_action ask_url(const asked_by& who, const url_question& q);
    /// After Ctrl-C: until the question has been taken back, as it is with the call it belongs to.
    void wait_if_interrupted(const asked_by& who) const;

private:
    console& console_;
    std::string where_;
    std::stop_token interrupted_;
    terminal_input input_;
    std::mutex turn_;
};

}  // namespace keel::command
