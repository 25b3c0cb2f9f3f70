#pragma once

// Lines that a person types, with a way out of the wait.

#include <optional>
#include <stop_token>
#include <string>

namespace keel::command {

/// What came of a wait for a line.
struct typed {
    enum class kind : unsigned char {
        line,
        end,      // Ctrl-D, or the terminal is gone
        stopped,  // nobody wants to know any more
        resumed,  // after Ctrl-Z: the question is not to be seen any more
    };
    kind what = kind::end;
    std::string line = {};
};

/// The terminal of whoever started the program: its standard input, or what stands behind that. One thread at a time. SIGCONT is
/// blocked in all of them.
class terminal_input {
public:
    terminal_input();
    terminal_input(const terminal_input&) = delete;
    terminal_input& operator=(const terminal_input&) = delete;
    ~terminal_input();

    bool there() const noexcept { return fd_ >= 0; }
    /// The line without its end. Until one of the two is stopped.
    typed read_line(const std::stop_token& one, const std::stop_token& other);
    /// What was typed before the question was there is no answer to it.
    void forget_typed();

private:
    bool resumed();

    int fd_ = -1;
    int continued_ = -1;  // SIGCONT
    bool own_ = false;
    std::string rest_;
};

}  // namespace keel::command
