#pragma once

// One question and its answers, while it has the terminal.

#include "questions.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace keel::command {

class asker::exchange {
public:
    exchange(asker& owner, const asked_by& who)
        : owner_(owner), who_(who), turn_(owner.turn_), screen_(owner.console_) {}

    void write(std::string_view text) { screen_.write(text); }
    void line(std::string_view text) { screen_.write(std::string(text) + "\n"); }
    std::string bold(std::string_view text) const {
        return owner_.console_.has_colours() ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
    }
    /// Who asks: printable.
    std::string asker_name() const;
    std::size_t columns() const { return owner_.console_.columns(); }
    /// For people, printable: at the indent of what belongs to a question, on as many lines as it takes.
    void indented(std::string_view text);
    /// Writes the question (again, when the program was stopped meanwhile) and waits for a line.
    typed ask(std::string_view question);
    void forget_typed() { owner_.input_.forget_typed(); }
    /// The question was taken back, or the person has pressed Ctrl-C.
    bool over() const { return who_.cancelled() || owner_.interrupted_.stop_requested(); }

    struct choice {
        std::string_view word;
        char meaning;
    };
    /// Asks until one of the words, or its first letter, is typed (in any case). Nothing: cancelled.
    std::optional<char> choose(std::string_view question, std::span<const choice> choices);

private:
    asker& owner_;
    const asked_by& who_;
    std::unique_lock<std::mutex> turn_;
    console::question screen_;
};

}  // namespace keel::command
