#pragma once

// What was said on the streams of one session, for clients that lose their connection and come back.

#include "rpc/message_sink.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace keel::inline KEEL_ABI::http {

/// Bounded by count and by bytes: the oldest go first, and whoever needs one of those is told so (H16, J5). Ids are unique in
/// the session and name their stream (H9): "12-345" is the 345th event of the session, on stream 12.
class event_log {
public:
    event_log(std::size_t max_events, std::size_t max_bytes) noexcept
        : max_events_(max_events), max_bytes_(max_bytes) {}

    bool keeps_any() const noexcept { return max_events_ > 0; }
    /// A new event of this stream: its number. `data` is what follows the id on the wire; it is kept.
    std::uint64_t add(rpc::stream_id stream, std::string_view data);
    static std::string id_of(rpc::stream_id stream, std::uint64_t number);

    struct position {
        rpc::stream_id stream = 0;
        std::uint64_t number = 0;
    };
    /// Nothing when this is no id of ours.
    static std::optional<position> read_id(std::string_view id);
    /// Everything of that stream after this event is still here.
    bool can_resume(const position& from) const;
    /// Calls f(number, data) for each event of the stream after `from`, in order.
    template <class F>
    void replay(const position& from, F f) const {
        for (const entry& e : events_) {
            if (e.stream == from.stream && e.number > from.number) f(e.number, std::string_view(e.data));
        }
    }
    /// The stream is over and done with: nobody can come back for it.
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
        std::uint64_t first = 0;  // numbers it has used
        std::uint64_t last = 0;
        std::uint64_t evicted = 0;  // the newest of them that is no longer here
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
