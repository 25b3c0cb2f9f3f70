#pragma once

// What a server gives, for people. Everything is made printable here.

#include <keel/content.hpp>
#include <keel/prompt.hpp>
#include <keel/types.hpp>

#include <string>
#include <string_view>

namespace keel::command {

/// Texts as they are; for anything else a line in brackets that says what it is. Ends with a newline, if it is not empty.
std::string shown(const content& block);
std::string shown(const tool_result& result);
std::string shown(const resource_contents& what);
/// On several lines.
std::string shown(const json::value& v);

/// "text=string [days=integer]"
std::string shown_arguments(const json::value& input_schema);
/// "12 bytes", "3.4 KiB"
std::string shown_size(std::size_t bytes);

}  // namespace keel::command
