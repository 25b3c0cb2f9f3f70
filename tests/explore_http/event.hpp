#pragma once

// The events that can happen to an HTTP/1 connection, as small values that a search can put in any order.

#include <cstdint>
#include <string_view>
#include <vector>

namespace keel::explore_http {

enum class event : std::uint8_t {
    // The client.
    send_piece,  // sends up to the next split point: inside the head, its end, inside the body, the end of the request
    send_request,     // sends up to the end of the request it has begun
    send_everything,  // sends all of its requests that are left
    half_close,       // ends its output
    disconnect,
    // The socket.
    block,        // accepts no more output
    take_a_byte,  // accepts one byte, then blocks again
    wake,         // reports that it can write, but accepts nothing
    unblock,
    fail_writes,
    // The application, for the request that was dispatched last.
    respond,
    open_stream,
    send_events,
    end_stream,
    drop_connection,
    // The server.
    run_posted,  // the loop runs the turn that continue_later asked for
    retire,
    tick,       // the clock moves to the next deadline, or far ahead if there is none
    pass_time,  // the clock moves, but not to a deadline
};
inline constexpr unsigned kinds_of_events = static_cast<unsigned>(event::pass_time) + 1;

std::string_view name_of(event);

using events = std::vector<event>;

}  // namespace keel::explore_http
