#pragma once

// Reads lines from a terminal, with editing, history and completion.

#include "completion.hpp"
#include "console.hpp"
#include "line_buffer.hpp"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace keel::command {

/// The terminal is in raw mode only inside read_line. Not thread-safe; other threads may write to the console meanwhile.
class line_editor {
public:
    /// `complete` gets the text before the cursor and returns the candidates for its last word.
    line_editor(console& screen, std::string prompt, std::function<candidates(const std::string&)> complete);

    /// Returns nothing on Ctrl-D in an empty line, if the terminal is gone, or if `stop` is requested.
    std::optional<std::string> read_line(const std::stop_token& stop);

    line_buffer& buffer() noexcept { return buffer_; }

private:
    enum class outcome : unsigned char { editing, line, end };
    outcome on_key(char c);
    outcome on_escape(const std::string& sequence);
    void complete_word();
    void show();

    console& screen_;
    std::string prompt_;
    std::function<candidates(const std::string&)> complete_;
    line_buffer buffer_;
    std::string pending_;  // bytes of an escape sequence or of a UTF-8 character
};

}  // namespace keel::command
