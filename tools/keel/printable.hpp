#pragma once

// Makes untrusted text safe for a terminal: characters that would move the cursor, change colors, or hide or reorder
// text are replaced with escapes.

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::command {

/// Keeps line breaks and tabs.
std::string printable(std::string_view text);
/// Puts everything on one line: white space becomes single spaces.
std::string printable_line(std::string_view text);

// For printable text:

/// The width in terminal columns.
std::size_t width_of(std::string_view text);
/// Truncates to at most `columns` columns; truncated text ends with "…".
std::string cut_to(std::string_view text, std::size_t columns);
/// Indents each line by `indent` spaces and wraps between words before `columns` (0: no wrapping). A longer word is not
/// split.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace keel::command
