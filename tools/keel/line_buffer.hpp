#pragma once

// The line that a user edits: text, cursor and history. No I/O.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

class line_buffer {
public:
    const std::string& text() const noexcept { return text_; }
    std::size_t cursor() const noexcept { return cursor_; }  // bytes

    void insert(std::string_view more);
    void erase_before();  // Backspace
    void erase_after();   // Delete
    void erase_word();    // Ctrl-W
    void erase_to_start();
    void erase_to_end();
    void left();
    void right();
    void to_start() noexcept { cursor_ = 0; }
    void to_end() noexcept { cursor_ = text_.size(); }

    /// Replaces the `bytes` before the cursor.
    void replace_before(std::size_t bytes, std::string_view with);

    // The history: the newest line last. An edited line is kept while the user looks at older ones.
    void set_history(std::vector<std::string> lines) { history_ = std::move(lines); }
    const std::vector<std::string>& history() const noexcept { return history_; }
    void older();
    void newer();

    /// Returns the line and starts an empty one. Adds it to the history unless it is empty, repeats the newest, or begins with a
    /// space.
    std::string take();
    void clear();

private:
    void show(std::size_t which);

    std::string text_;
    std::size_t cursor_ = 0;
    std::vector<std::string> history_;
    std::size_t shown_ = 0;  // lines back in the history; 0: the edited line
    std::string edited_;
};

/// The part of a line that fits `columns`, with the cursor in it.
struct visible_line {
    std::string text;
    std::size_t cursor = 0;  // column
};
visible_line visible_part(std::string_view text, std::size_t cursor, std::size_t columns);

}  // namespace keel::command
