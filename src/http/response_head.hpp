#pragma once

// Writes response heads and chunks to an output buffer.

#include <keel/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// Appends the status line and, if the version needs it, Connection.
void begin_response(std::string& out, int status, unsigned minor, bool keep_alive);
/// Appends one header. Control characters in the value become blanks, which prevents header injection.
void add_header(std::string& out, std::string_view name, std::string_view value);
void add_content_type(std::string& out, std::string_view type);
void add_content_length(std::string& out, std::size_t length);
/// Appends the empty line before the body.
void end_head(std::string& out);

/// Appends the head of a response with a JSON body whose length is not known yet. Append the body and call end_json:
///     const std::size_t slot = begin_json(out, 200, 1, true, more);
///     json::write(out, answer);
///     end_json(out, slot);
/// `more` contains complete header lines with line ends.
std::size_t begin_json(std::string& out, int status, unsigned minor, bool keep_alive, std::string_view more = {});
void end_json(std::string& out, std::size_t slot);

/// Begins a chunk (Transfer-Encoding: chunked). The text appended between the two calls is its data. Writes no chunk if there is
/// none, because an empty chunk would end the body.
std::size_t begin_chunk(std::string& out);
void end_chunk(std::string& out, std::size_t slot);
/// Appends the end of a chunked body.
void append_last_chunk(std::string& out);

}  // namespace keel::http
