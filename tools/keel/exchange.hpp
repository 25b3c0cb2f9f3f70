#pragma once

// One question and its answers, while it has the terminal.

#include "questions.hpp"

#include <optional>
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
    typed read() { return owner_.input_.read_line(who_.stop_token(), owner_.interrupted_); }
    void forget_typed() { owner_.input_.forget_typed(); }
    /// The question was taken back, or the person has pressed Ctrl-C.
    bool over() const { return who_.cancelled() || owner_.interrupted_.stop_requested(); }

    /// Asks until one of the letters is typed (or a word that begins with it, in any case). Nothing: cancelled.
    std::optional<char> ask_letter(std::string_view question, std::string_view letters);

private:
    asker& owner_;
    const asked_by& who_;
    std::unique_lock<std::mutex> turn_;
    console::question screen_;
};

}  // namespace keel::command
