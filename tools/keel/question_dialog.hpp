#pragma once

// The dialog of one elicitation request in the terminal.

#include "elicitation.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace keel::command {

class asker::dialog {
public:
    dialog(asker& owner, const asked_by& who)
        : owner_(owner), who_(who), interrupted_(owner.interrupted_()), turn_(owner.turn_), screen_(owner.console_) {}

    void write(std::string_view text) { screen_.write(text); }
    void line(std::string_view text) { screen_.write(std::string(text) + "\n"); }
    std::string bold(std::string_view text) const {
        return owner_.console_.has_colours() ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
    }
    /// The server's name, printable.
    std::string asker_name() const;
    std::size_t columns() const { return owner_.console_.columns(); }
    /// Writes printable text, indented and wrapped.
    void indented(std::string_view text);
    /// Writes the question (again if the program was stopped by Ctrl-Z meanwhile) and waits for a line.
    typed ask(std::string_view question);
    void forget_typed() { owner_.input_.forget_typed(); }
    /// True if the server withdrew the question or the user pressed Ctrl-C.
    bool over() const { return who_.cancelled() || interrupted_.stop_requested(); }

    struct choice {
        std::string_view word;
        char meaning;
    };
    /// Asks until the user types one of the words or its first letter (case-insensitive). Returns nothing if cancelled.
    std::optional<char> choose(std::string_view question, std::span<const choice> choices);

private:
    asker& owner_;
    const asked_by& who_;
    std::stop_token interrupted_;
    std::unique_lock<std::mutex> turn_;
    console::question screen_;
};

}  // namespace keel::command
