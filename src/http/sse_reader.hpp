#pragma once

// Reads text/event-stream by the WHATWG standard, however the bytes are cut.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace keel::http {

struct sse_limits {
    std::size_t max_line = 16 * 1024 * 1024;
    std::size_t max_event = 16 * 1024 * 1024;  // of the data of one event
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

    explicit sse_reader(const sse_limits& = {});

    /// False once a line or an event is larger than allowed: nothing more is read until restart(). The sink must not
    /// call the reader.
    bool feed(std::string_view bytes, const sink&);
    /// The stream has ended and another one follows: an event without its empty line is forgotten. The last event id and
    /// the waiting time stay, to connect again with.
    void restart();

    std::string_view last_event_id() const noexcept { return last_id_; }
    /// How long to wait before connecting again, if the stream has said so.
    std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }

private:
    bool take_line(std::string_view line, const sink&);
    bool take_field(std::string_view name, std::string_view value);
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
    bool has_data_ = false;
    bool failed_ = false;
};

}  // namespace keel::http
