#pragma once

// The server side of one HTTP/1 connection as a state machine: events go in, actions come out. It has no socket, no loop
// and no clock, so a test can feed it every ordering of a set of events (tests/explore_http).

#include "http/request_reader.hpp"

#include <keel/loop.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

struct http1_limits {
    reader_limits reader = {};
    /// No further request is dispatched while this many bytes of responses are unwritten.
    std::size_t out_queue = 8 * 1024 * 1024;
    /// From the first byte of a request to the end of its head, and from there to the end of its body (see min_body_rate).
    duration head_time = std::chrono::seconds(10);
    duration body_time = std::chrono::seconds(30);
    /// Between two requests.
    duration idle_time = std::chrono::seconds(75);
    /// For the client to accept at least one byte of a blocked write.
    duration write_stall = std::chrono::seconds(30);
    /// Bytes per second. body_time and write_stall are the initial credit of a transfer; it gains time at this rate for each byte.
    std::size_t min_body_rate = 1024;
    std::size_t min_read_rate = 1024;
    /// Interval of keep-alive comments on a quiet stream, and of tell_quiet before a stream is open.
    duration keep_alive = std::chrono::seconds(15);
};

/// Reads requests, dispatches one at a time, frames the responses, and decides when to write, pause, and close. Pipelined
/// requests are buffered and answered in order.
///
/// After each event the driver calls next() and carries out the action it returns, until it returns action::none:
///
///     core.on_input(bytes);
///     for (auto a = core.next(now); a != action::none; a = core.next(now)) { ... }
///
/// While next() has returned dispatch, the application may call the functions of the response section at once, or
/// announce with expect_response() that it calls them later. Not thread-safe.
class http1_core {
public:
    enum class phase : unsigned char {
        reading,     // waits for a request, or is in the middle of one
        responding,  // a request was dispatched; its response has not begun
        streaming,   // the response is an event stream that has not ended
        finishing,   // no further request is read; the connection closes when its output is written
        refusing,    // the same after an invalid request: input is discarded, and `lingering` follows
        lingering,  // the refusal is written and the output has ended; input is discarded so that the client can read it
        closed,
    };

    enum class action : unsigned char {
        none,            // nothing to do until the next event
        check_head,      // the application may refuse current(), whose body is not received yet, by a response
        dispatch,        // hand current() to the application
        refuse,          // respond to an invalid request with refusal()
        write,           // write unwritten() and report it with on_written(), or call close() if writing failed
        pause_input,     // stop reading from the socket
        resume_input,    // read from the socket again
        continue_later,  // call on_continue() in a later turn of the loop: the application may be on the stack now
        tell_drained,    // tell the responder that the client has taken output
        tell_quiet,      // tell the responder that the client has received nothing for `keep_alive`
        end_output,      // end the output direction of the socket
        tell_gone,       // tell the responder that the client is gone; `close` follows
        close,           // close the socket. The last action
    };

    /// Who completes the response after the dispatch has returned.
    enum class responder : unsigned char {
        none,
        ignores_half_close,       // goes on when the client ends its output
        cancelled_by_half_close,  // the client cancels its request by that
    };

    struct refused_request {
        int status = 0;
        const char* reason = "";
    };

    http1_core(const http1_limits& limits, time_point now, async::spare_buffers* spares = nullptr);

    // ---- events ----

    /// Where to read the next bytes, if they belong to a large body; otherwise empty.
    std::span<char> input_room() {
        return phase_ == phase::reading && turn_ == turn::none && buffered() == 0 && !full() ? reader_.room()
                                                                                             : std::span<char>();
    }
    /// Bytes from the client. `bytes` must stay valid until next() returns none.
    void on_input(std::string_view bytes);
    /// The client has ended its output (half-close).
    void on_input_end();
    void on_written(std::size_t bytes, time_point now);
    /// A write that was cut short can go on.
    void on_writable();
    /// The answer to continue_later.
    void on_continue();
    /// Call about once a second: closes or refuses what has taken too long, keeps quiet streams alive.
    void on_time(time_point now);
    /// The server stops. A request that has been received in part is still answered; its response is the last.
    void retire() noexcept { retired_ = true; }
    /// The connection is broken, or the application does not want it any more. Idempotent.
    void close() noexcept;

    action next(time_point now);

    // ---- the response to the dispatched request ----

    /// The response follows after the dispatch has returned.
    void expect_response(responder from) noexcept { responder_ = from; }
    /// The application failed to respond: nobody is told any more, and the response that follows is the last.
    void replace_responder() noexcept;

    /// See request_reader::kept_body.
    std::span<char> kept_body() noexcept { return reader_.kept_body(); }
    /// The body of the dispatched request is not needed any more.
    void release_body() { reader_.release_body(); }

    /// A complete response. `header_lines` are whole lines. Ignored unless the phase is `responding`.
    void respond(int status, std::string_view content_type, std::string_view body,
                 std::initializer_list<std::string_view> header_lines, time_point now);
    /// A complete response with a JSON body, which the caller appends to the returned string before it calls end_json().
    /// `size` is the size of a large body, if known.
    std::string& begin_json(int status, std::string_view header_lines, std::size_t size = 0);
    void end_json(time_point now);

    void open_stream(std::initializer_list<std::string_view> header_lines);
    /// The caller appends whole events to the returned string before it calls end_events().
    std::string& begin_events();
    void end_events(time_point now);
    void end_stream(time_point now);

    // ---- state ----

    phase at() const noexcept { return phase_; }
    bool closed() const noexcept { return phase_ == phase::closed; }
    /// A request was dispatched and its response is not complete.
    bool answering() const noexcept { return phase_ == phase::responding || phase_ == phase::streaming; }
    bool streaming() const noexcept { return phase_ == phase::streaming; }
    /// The dispatched request. Its views are valid until the dispatch returns.
    const request& current() const noexcept { return reader_.get(); }
    const refused_request& refusal() const noexcept { return refusal_; }
    std::string_view unwritten() const noexcept { return std::string_view(out_).substr(written_); }
    std::size_t waiting() const noexcept { return out_.size() - written_; }
    /// Memory of large buffers. Small ones are not counted: they are kept from request to request (see http_connection::base_memory).
    std::size_t large_buffers() const noexcept {
        const auto large = [](std::size_t capacity) { return capacity > small_buffer ? capacity : 0; };
        return large(reader_.body_memory()) + large(buffer_.capacity()) + large(out_.capacity());
    }
    static constexpr std::size_t small_buffer = 4 * 1024;
    /// Bytes received behind the request that is being answered.
    std::size_t buffered() const noexcept { return buffer_.size() - buffer_at_; }

private:
    enum class input : unsigned char { open, paused, ended };
    /// Processing of received bytes.
    enum class turn : unsigned char {
        none,
        scheduled,  // continue_later was returned
        running,    // next() takes requests out of input_text_
    };

    action read_requests(time_point now);
    void end_turn();
    action refuse(int status, const char* reason) noexcept;
    action next_output(time_point now);
    action take_decided() noexcept;
    bool keeps_alive() noexcept;
    void end_head_check();
    void complete_response(time_point now);
    void drop_buffer();
    void limit_buffer();
    bool chunked() const noexcept { return minor_ >= 1; }
    bool full() const noexcept;

    const http1_limits limits_;
    async::spare_buffers* const spares_;
    request_reader reader_;
    refused_request refusal_;

    std::string out_;
    std::size_t written_ = 0;
    std::size_t slot_ = 0;         // where the length of the body or chunk that is being written belongs
    std::string_view input_text_;  // not processed yet; in the driver's memory or in buffer_
    std::string buffer_;           // received behind the request that is being answered
    std::size_t buffer_at_ = 0;    // bytes of it that have been processed

    time_point deadline_;  // of what `reading` and `lingering` wait for
    time_point stall_deadline_ = time_point::max();
    time_point quiet_since_{};

    phase phase_ = phase::reading;
    phase after_ = phase::reading;  // the phase that follows the response: reading, finishing or refusing
    action decided_ = action::none;
    turn turn_ = turn::none;
    input input_ = input::open;
    responder responder_ = responder::none;
    bool checking_ = false;  // check_head was returned: the application is looking at the head
    bool blocked_ = false;   // the last write was cut short
    bool retired_ = false;
    bool head_only_ = false;  // of the dispatched request: method HEAD
    unsigned minor_ = 1;      // of the dispatched request: HTTP/1.minor
};

}  // namespace keel::http
