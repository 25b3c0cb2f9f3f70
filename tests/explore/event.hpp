#pragma once

// What can happen to one end of a connection, as small values that a search can put in any order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::explore {

enum class what : std::uint8_t {
    // The peer. `who` says which request, `life` the how-manieth request with that id.
    arrive,
    arrive_together,  // the next requests of both ids, in one batch array
    cancel,           // names an id, so it means whatever request has it now
    reply,
    reply_error,
    peer_progress,  // about a request of ours
    // Handlers.
    begin,
    finish,  // returns a result
    fail,    // throws
    quit,    // ends without anything to say
    progress,
    log,
    ask,      // a nested request
    give_up,  // on its nested request
    // The connection.
    eof,
    read_error,
    write_error,
    stall,
    resume,
    dribble,     // a stalled writer takes a single byte more
    next_frame,  // a stalled writer takes the rest of a frame, or one frame
    close,
    close_drain,  // with some time for the handlers
    close_own,    // a handler closes its own connection
    // The clock moves to the next moment at which something is due.
    tick,
};
inline constexpr std::uint8_t kinds_of_events = static_cast<std::uint8_t>(what::tick) + 1;

/// Who: the ids that requests come with. `a` is 1 and `b` is "1", which are two different ids (A4); `probe` is 0. `self`
/// stands for requests of our own that no handler makes.
enum class who : std::uint8_t { a, b, probe, self };
inline constexpr std::size_t ids = 3;

struct event {
    what kind{};
    explore::who who = who::a;
    std::uint8_t life = 1;  // 1 is the first request with its id, 2 the next one with the same id

    friend bool operator==(const event&, const event&) = default;
};

/// "a2 returns": for a person who has to understand a failure.
std::string name_of(const event&);

/// Each event once for each time it is listed.
using events = std::vector<event>;

}  // namespace keel::explore
