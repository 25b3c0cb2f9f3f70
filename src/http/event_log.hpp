#pragma once

// The events of one session's streams, for clients that reconnect and resume.

#include "http/memory_budget.hpp"
#include "rpc/message_sink.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace keel::inline KEEL_ABI::http {

/// Limited by count, bytes and the budget of the server: the oldest events are evicted, and a client that asks for one of these gets an error (H16, J5). Ids are
/// unique in the session and contain their stream (H9): "12-345" is event 345 of the session, on stream 12.
class event_log {
public:
    event_log(std::size_t max_events, std::size_t max_bytes, memory_budget& budget) noexcept
        : max_events_(max_events), max_bytes_(max_bytes), budget_(budget) {}
    ~event_log() { budget_.change(bytes_, 0); }
    event_log(const event_log&) = delete;
    event_log& operator=(const event_log&) = delete;

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
    /// Calls f(number, data) for each event of the stream after `from`, in order, until f returns false. Returns true if there are no
    /// more events.
    template <class F>
    bool replay(const position& from, F f) const {
        auto at = std::upper_bound(events_.begin(), events_.end(), from.number,
                                   [](std::uint64_t number, const entry& e) { return number < e.number; });
        for (; at != events_.end(); ++at) {
            if (at->stream == from.stream && !f(at->number, std::string_view(at->data))) return false;
        }
        return true;
    }
    /// Deletes the events of a stream that can no longer be resumed.
    void forget(rpc::stream_id stream);
    /// Evicts the oldest event, if there is one.
    void evict_oldest();

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

    void set_bytes(std::size_t now) noexcept {
        budget_.change(bytes_, now);
        bytes_ = now;
    }

    const std::size_t max_events_;
    const std::size_t max_bytes_;
    memory_budget& budget_;
    std::deque<entry> events_;
    std::unordered_map<rpc::stream_id, span> streams_;
    std::size_t bytes_ = 0;
    std::uint64_t next_ = 1;
};

}  // namespace keel::http
