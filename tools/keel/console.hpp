#pragma once

// Standard error: lines of text, and a status line at the bottom that is rewritten in place.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

/// Columns of the terminal behind a descriptor; 0 if it is not a terminal.
std::size_t terminal_columns(int fd);

/// False if NO_COLOR is set and not empty (no-color.org), or if TERM is "dumb".
bool colors_wanted();

/// Thread-safe. All text passed in must already be printable.
class console {
public:
    explicit console(int fd);
    console(const console&) = delete;
    console& operator=(const console&) = delete;
    ~console();

    bool is_terminal() const noexcept { return terminal_; }
    /// True for a terminal if colors_wanted().
    bool has_colours() const noexcept { return colours_; }

    /// 0 if it is not a terminal.
    std::size_t columns() const { return terminal_columns(fd_); }

    /// Writes one line.
    void say(std::string_view line);
    /// Shown at the bottom until it changes. Does nothing if there is no terminal, or while a question is shown.
    void show_status(std::string_view text);
    void clear_status();
    /// Shows the line that the user edits, in place of the status. `rendered` must fit one row; it may end with a movement of the
    /// cursor. Other lines appear above it.
    void show_prompt(std::string rendered);
    /// Ends the edited line.
    void end_prompt();

    /// While a question is shown, other output is held back.
    class question {
    public:
        explicit question(console& c);
        question(const question&) = delete;
        question& operator=(const question&) = delete;
        ~question();
        void write(std::string_view text);

    private:
        console& console_;
    };

private:
    void put(std::string_view text);
    void erase_status();

    int fd_;
    bool terminal_;
    bool colours_;
    // Used by the client's loop (progress, logs), its worker threads (questions) and the main thread (results).
    std::mutex mutex_;
    std::string status_;
    bool asking_ = false;
    std::vector<std::string> held_;
    std::size_t dropped_ = 0;
};

}  // namespace keel::command
