#pragma once

// The events that can happen to one end of a connection, as small values that a search can put in any order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::explore {

enum class what : std::uint8_t {
    // The peer. `who` is the request; `life` counts the requests with the same id.
    arrive,
    arrive_together,  // the next requests of both ids, in one batch array
    cancel,           // by id: cancels the newest request with that id
    reply,
    reply_error,
    peer_progress,  // for one of our requests
    // Handlers.
    begin,
    finish,  // returns a result
    fail,    // throws
    quit,    // ends without a result or an error
    progress,
    log,
    ask,      // a nested request
    give_up,  // cancels its nested request
    // The connection.
    eof,
    read_error,
    write_error,
    stall,
    resume,
    dribble,     // a stalled writer accepts one more byte
    next_frame,  // a stalled writer accepts the rest of a frame, or one frame
    close,
    close_drain,  // with a drain time for the handlers
    close_own,    // a handler closes its own connection
    // The clock advances to the next deadline.
    tick,
};
inline constexpr std::uint8_t kinds_of_events = static_cast<std::uint8_t>(what::tick) + 1;

/// The request ids. `a` is 1 and `b` is "1", which are two different ids (A4); `probe` is 0. `self` stands for our own
/// requests that are sent outside handlers.
enum class who : std::uint8_t { a, b, probe, self };
inline constexpr std::size_t ids = 3;

struct event {
    what kind{};
    explore::who who = who::a;
    std::uint8_t life = 1;  // 1 is the first request with its id, 2 the next one with the same id

    friend bool operator==(const event&, const event&) = default;
};

/// "a2 returns", for failure messages.
std::string name_of(const event&);

/// Lists events; an event that is listed twice happens twice.
using events = std::vector<event>;

}  // namespace keel::explore
