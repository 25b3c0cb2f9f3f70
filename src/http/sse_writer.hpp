#pragma once

// Server-sent events, as text/event-stream carries them.

#include <keel/version.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// One event. An empty id or event is left out. Data is split at its line ends (CR, LF, CRLF), so that nothing in it can
/// end the event; a reader sees each of them as LF. Line ends and NUL in an id or event, which no reader could
/// understand, are left out.
void append_event(std::string& out, std::string_view id, std::string_view event, std::string_view data);
/// An event with an id and empty data: there is something to resume from before anything was said.
void append_priming_event(std::string& out, std::string_view id);
/// Ignored by readers: keeps a quiet stream alive. Line ends become blanks.
void append_comment(std::string& out, std::string_view text = {});
/// How long a reader waits before it connects again.
void append_retry(std::string& out, std::chrono::milliseconds wait);

}  // namespace keel::http
