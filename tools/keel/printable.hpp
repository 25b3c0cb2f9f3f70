#pragma once

// Text of strangers, made fit for a terminal: what would move the cursor, change colours, hide or turn around other text is
// shown as an escape instead.

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::command {

/// Lines and tabs stay as they are.
std::string printable(std::string_view text);
/// All of it on one line: white space of any kind becomes single spaces.
std::string printable_line(std::string_view text);

// Of text that is printable:

/// In columns of a terminal.
std::size_t width_of(std::string_view text);
/// At most so many columns; what was cut ends with "…".
std::string cut_to(std::string_view text, std::size_t columns);
/// Every line begins with so many spaces and is broken between words before `columns` are full; 0: as long as it takes. A word
/// that is longer stays whole.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace keel::command
