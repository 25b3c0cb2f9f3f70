#pragma once

// Formats results for the terminal. All functions return printable text.

#include <keel/content.hpp>
#include <keel/prompt.hpp>
#include <keel/types.hpp>

#include <string>
#include <string_view>

namespace keel::command {

/// Text is shown as it is; other content as a line in brackets that describes it. Ends with a newline unless empty.
std::string shown(const content& block);
/// In a terminal, structured content is shown as indented JSON even if the server repeats it as text.
std::string shown(const tool_result& result, bool terminal, bool colors);
std::string shown(const resource_contents& what);
/// Indented JSON.
std::string shown(const json::value& v);

/// "text=string [days=integer]"
std::string shown_arguments(const json::value& input_schema);
/// "12 bytes", "3.4 KiB"
std::string shown_size(std::size_t bytes);

}  // namespace keel::command
