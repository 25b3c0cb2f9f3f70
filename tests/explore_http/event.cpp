#include "explore_http/event.hpp"

namespace keel::explore_http {

std::string_view name_of(event e) {
    switch (e) {
        case event::send_piece: return "the client sends a piece of a request";
        case event::send_request: return "the client sends up to the end of a request";
        case event::send_everything: return "the client sends the rest of its requests";
        case event::half_close: return "the client ends its output";
        case event::disconnect: return "the client disconnects";
        case event::block: return "the socket blocks";
        case event::take_a_byte: return "the blocked socket takes one byte";
        case event::wake: return "the blocked socket wakes and takes nothing";
        case event::unblock: return "the socket unblocks";
        case event::fail_writes: return "writes fail from now on";
        case event::respond: return "the application responds";
        case event::open_stream: return "the application opens a stream";
        case event::send_events: return "the application sends events";
        case event::end_stream: return "the application ends the stream";
        case event::drop_connection: return "the application drops the connection";
        case event::run_posted: return "the loop runs the posted turn";
        case event::retire: return "the server stops";
        case event::tick: return "time passes to the next deadline";
        case event::pass_time: return "time passes, but not to a deadline";
    }
    return "unknown";
}

}  // namespace keel::explore_http
