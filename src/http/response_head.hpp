#pragma once

// The heads of answers, and chunks, appended to a buffer that goes out as it is.

#include <keel/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// "Not Found"; "Unknown" for a number without a name.
std::string_view reason_phrase(int status) noexcept;

/// The status line and, where the version needs it, Connection.
void begin_response(std::string& out, int status, unsigned minor, bool keep_alive);
/// One header. A value cannot end its line: control characters in it become blanks.
void add_header(std::string& out, std::string_view name, std::string_view value);
void add_content_type(std::string& out, std::string_view type);
void add_content_length(std::string& out, std::size_t length);
/// The empty line. What follows is the body.
void end_head(std::string& out);

/// The whole head of an answer with a JSON body, whose length is not known yet. Append the body and call end_json:
///     const std::size_t slot = begin_json(out, 200, 1, true, more);
///     json::write(out, answer);
///     end_json(out, slot);
/// `more` is header lines that are ready, each with its line end.
std::size_t begin_json(std::string& out, int status, unsigned minor, bool keep_alive, std::string_view more = {});
void end_json(std::string& out, std::size_t slot);

/// A chunk of a body sent with Transfer-Encoding: chunked. What is appended between the two calls is its data. If that
/// is nothing, there is no chunk: an empty one would end the body.
std::size_t begin_chunk(std::string& out);
void end_chunk(std::string& out, std::size_t slot);
/// The end of a chunked body.
void append_last_chunk(std::string& out);

}  // namespace keel::http
