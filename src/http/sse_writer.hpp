#pragma once

// Writes server-sent events (text/event-stream).

#include <keel/version.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// Appends one event. An empty id or event is omitted. Data is split at line ends (CR, LF, CRLF), so that the data cannot
/// end the event; readers get LF for each. Line ends and NUL in an id or event are invalid and omitted.
void append_event(std::string& out, std::string_view id, std::string_view event, std::string_view data);
/// Appends an event with an id and empty data, so that a client can resume before the first message.
void append_priming_event(std::string& out, std::string_view id);
/// Appends a comment, which readers ignore: keeps an idle stream alive. Line ends become blanks.
void append_comment(std::string& out, std::string_view text = {});
/// Appends the time that a reader waits before it reconnects.
void append_retry(std::string& out, std::chrono::milliseconds wait);

}  // namespace keel::http
