#pragma once

// Parses text/event-stream (WHATWG HTML standard) from input split at any byte.

#include <keel/version.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

struct sse_limits {
    std::size_t max_event = 16 * 1024 * 1024;  // limit for the data of one event, and for each line
};

/// Views are valid during the call.
struct sse_event {
    std::string_view id;     // the last event id of the stream, from this event or an earlier one
    std::string_view event;  // "message" by default
    std::string_view data;   // may be empty: MCP servers begin streams with such an event, only for its id
};

/// Does not check that the data is UTF-8.
class sse_reader {
public:
    using sink = std::function<void(const sse_event&)>;
    /// Gets the beginning of the data of an event that is too large.
    using large_sink = std::function<void(std::string_view beginning)>;

    explicit sse_reader(const sse_limits& = {});

    /// An event that is too large is skipped, in constant memory; its id and retry time still count. The sinks must not call the
    /// reader.
    void feed(std::string_view bytes, const sink&, const large_sink&);
    /// Prepares for the next stream: discards an incomplete event, and keeps the last event id and the retry time for
    /// reconnecting.
    void restart();

    /// Like restart, and forgets the last event id.
    void forget_position();

    /// Also empty if the last event id is too long to be sent in a header.
    std::string_view last_event_id() const noexcept { return last_id_; }
    /// The retry time, if the stream has sent one.
    std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

private:
    void take_part(std::string_view part, bool whole, const sink&, const large_sink&);
    void take_line(std::string_view line, const sink&, const large_sink&);
    void take_field(std::string_view name, std::string_view value, const large_sink&);
    void take_data(std::string_view value, const large_sink&);
    void dispatch(const sink&);

    sse_limits limits_;
    std::string line_;  // the beginning of an incomplete line
    std::string data_;
    std::string event_;
    std::string id_;  // becomes last_id_ at the end of its event
    std::string last_id_;
    std::optional<std::chrono::milliseconds> retry_;
    bool first_line_ = true;  // the next line may begin with a byte order mark
    bool skip_lf_ = false;    // the last line ended with CR
    bool skip_line_ = false;  // skip the rest of the line
    bool has_data_ = false;
    bool too_large_ = false;  // the current event
    bool new_id_ = false;
};

}  // namespace keel::http
