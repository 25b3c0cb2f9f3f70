#pragma once

// Reads lines from the terminal; a wait can be cancelled.

#include <optional>
#include <stop_token>
#include <string>

namespace keel::command {

/// The result of a wait for a line.
struct typed {
    enum class kind : unsigned char {
        line,
        end,      // Ctrl-D, or the terminal is gone
        stopped,  // the wait was cancelled
        resumed,  // continued after Ctrl-Z: show the question again
    };
    kind what = kind::end;
    std::string line = {};
};

/// The controlling terminal, even if standard input is redirected. Not thread-safe. SIGCONT must be blocked in all
/// threads.
class terminal_input {
public:
    terminal_input();
    terminal_input(const terminal_input&) = delete;
    terminal_input& operator=(const terminal_input&) = delete;
    ~terminal_input();

    bool there() const noexcept { return fd_ >= 0; }
    /// Call it before a question is shown: a SIGCONT from before does not show it again.
    void discard_resumed();
    /// Returns the line without its end. Waits until one of the tokens is stopped.
    typed read_line(const std::stop_token& one, const std::stop_token& other);
    /// Discards input that was typed before the question was shown.
    void forget_typed();

private:
    bool resumed();

    int fd_ = -1;
    int continued_ = -1;  // SIGCONT
    bool own_ = false;
    std::string rest_;
};

}  // namespace keel::command
