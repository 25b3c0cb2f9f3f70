#pragma once

// Standard error: lines for people, and one line at the bottom that changes.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

/// Columns of the terminal behind a descriptor; 0: it is none.
std::size_t terminal_columns(int fd);

/// Any thread. Everything given must be printable already.
class console {
public:
    explicit console(int fd);
    console(const console&) = delete;
    console& operator=(const console&) = delete;
    ~console();

    bool is_terminal() const noexcept { return terminal_; }
    /// A terminal, and nobody minds colours (NO_COLOR).
    bool has_colours() const noexcept { return colours_; }

    /// 0: it is no terminal.
    std::size_t columns() const { return terminal_columns(fd_); }

    /// A line of its own.
    void say(std::string_view line);
    /// Stands at the bottom until it changes. Nothing happens where there is no terminal, and while somebody is asked.
    void show_status(std::string_view text);
    void clear_status();

    /// While somebody is asked something, what is said waits, and only the question is written.
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
    std::mutex mutex_;  // the client's loop tells of progress and logs, its workers ask, the main thread reports
    std::string status_;
    bool asking_ = false;
    std::vector<std::string> held_;
    std::size_t dropped_ = 0;
};

}  // namespace keel::command
