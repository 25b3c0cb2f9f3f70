#pragma once

// Reads text/event-stream by the WHATWG standard, however the bytes are cut.

#include <keel/version.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

struct sse_limits {
    std::size_t max_event = 16 * 1024 * 1024;  // of the data of one event, and of each line
};

/// Views are good during the call.
struct sse_event {
    std::string_view id;     // the last one the stream has named, in this event or before
    std::string_view event;  // "message" when the stream does not say
    std::string_view data;   // may be empty: MCP primes streams with such events, which mean nothing but their id
};

/// Bytes are handed on as they are: whether they are UTF-8 is asked by whoever reads the data.
class sse_reader {
public:
    using sink = std::function<void(const sse_event&)>;
    /// How the data begins of an event that turns out to be too large: enough to see what it was.
    using large_sink = std::function<void(std::string_view beginning)>;

    explicit sse_reader(const sse_limits& = {});

    /// An event that is too large is skipped, in constant memory, and counts for everything but its data. The sinks must not call
    /// the reader.
    void feed(std::string_view bytes, const sink&, const large_sink&);
    /// The stream has ended and another one follows: an event without its empty line is forgotten. The last event id and
    /// the waiting time stay, to connect again with.
    void restart();

    /// As restart, and the next stream does not go on where this one stopped.
    void forget_position();

    /// "" also when the stream has named one that is too long to be sent back.
    std::string_view last_event_id() const noexcept { return last_id_; }
    /// How long to wait before connecting again, if the stream has said so.
    std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

private:
    void take_part(std::string_view part, bool whole, const sink&, const large_sink&);
    void take_line(std::string_view line, const sink&, const large_sink&);
    void take_field(std::string_view name, std::string_view value, const large_sink&);
    void take_data(std::string_view value, const large_sink&);
    void dispatch(const sink&);

    sse_limits limits_;
    std::string line_;  // the beginning of one that was cut
    std::string data_;
    std::string event_;
    std::string id_;  // as the lines say it; it counts from the end of its event on
    std::string last_id_;
    std::optional<std::chrono::milliseconds> retry_;
    bool first_line_ = true;  // may begin with a byte order mark
    bool skip_lf_ = false;    // the line before ended with CR
    bool skip_line_ = false;  // to its end
    bool has_data_ = false;
    bool too_large_ = false;  // this event
    bool new_id_ = false;
};

}  // namespace keel::http
