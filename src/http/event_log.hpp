#pragma once

// The events of one session's streams, for clients that reconnect and resume.

#include "rpc/message_sink.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace keel::inline KEEL_ABI::http {

/// Limited by count and bytes: the oldest events are evicted, and a client that asks for one of these gets an error (H16, J5). Ids are
/// unique in the session and contain their stream (H9): "12-345" is event 345 of the session, on stream 12.
class event_log {
public:
    event_log(std::size_t max_events, std::size_t max_bytes) noexcept
        : max_events_(max_events), max_bytes_(max_bytes) {}

    bool keeps_any() const noexcept { return max_events_ > 0; }
    /// Adds an event and returns its number.
    std::uint64_t add(rpc::stream_id stream, std::string_view data);
    static std::string id_of(rpc::stream_id stream, std::uint64_t number);

    struct position {
        rpc::stream_id stream = 0;
        std::uint64_t number = 0;
    };
    /// Returns nullopt if the text is not a valid event id.
    static std::optional<position> read_id(std::string_view id);
    /// True if all later events of the stream are still stored.
    bool can_resume(const position& from) const;
    /// Calls f(number, data) for each event of the stream after `from`, in order.
    template <class F>
    void replay(const position& from, F f) const {
        for (const entry& e : events_) {
            if (e.stream == from.stream && e.number > from.number) f(e.number, std::string_view(e.data));
        }
    }
    /// Deletes the events of a stream that can no longer be resumed.
    void forget(rpc::stream_id stream);

    std::size_t size() const noexcept { return events_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    struct entry {
        rpc::stream_id stream;
        std::uint64_t number;
        std::string data;
    };
    struct span {
        std::uint64_t first = 0;  // numbers of its events
        std::uint64_t last = 0;
        std::uint64_t evicted = 0;  // the newest one that was evicted
    };

    void evict_oldest();

    const std::size_t max_events_;
    const std::size_t max_bytes_;
    std::deque<entry> events_;
    std::unordered_map<rpc::stream_id, span> streams_;
    std::size_t bytes_ = 0;
    std::uint64_t next_ = 1;
};

}  // namespace keel::http
