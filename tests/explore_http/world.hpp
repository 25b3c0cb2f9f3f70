#pragma once

// An http1_core together with everything around it (client, socket, application, loop, clock) and a model that
// predicts, independently of the core, the result of each event.

#include "explore_http/event.hpp"
#include "http/http1_core.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::explore_http {

/// The model and the core disagree.
struct violation {
    std::string what;
};

/// What the application does with a request.
enum class reply : unsigned char {
    at_once,            // responds before the dispatch returns
    json_at_once,       // the same with begin_json
    later,              // responds or streams later; a half-close is ignored
    later_cancellable,  // the same; a half-close cancels the request
    fails,              // announces a response, then throws
    forgets,            // neither responds nor announces a response
    invalid,            // the core must refuse the request itself
    refused_by_head,    // the application refuses it, if possible before its body has arrived
};

struct request_plan {
    explore_http::reply reply = reply::at_once;
    bool http10 = false;
    bool close = false;  // "Connection: close"
    bool head = false;   // method HEAD
    bool expect = false;
    std::string_view body = {};
};

/// What the client sends, and the limits of the server.
struct setting {
    std::string_view name;
    std::vector<request_plan> requests;
    bool tight_output = false;  // one unwritten byte stops further requests
    bool tight_input = false;   // two buffered requests pause the input
    bool lazy_flush = false;  // output of the application is written with the next event that is not the application's

    // Set by prepared(): the bytes, and the positions where a piece may end.
    std::string bytes = {};
    std::vector<std::size_t> head_ends = {};
    std::vector<std::size_t> ends = {};
    std::vector<std::size_t> cuts = {};
};
setting prepared(setting);

/// The minimum rate of transfers in every setting.
inline constexpr std::size_t bytes_per_second = 1;

/// How an ordering ends after its last event.
inline constexpr unsigned finales = 5;
std::string_view name_of_finale(unsigned);

class world {
public:
    explicit world(const setting&);

    /// Whether the event is possible now.
    bool enabled(event) const;
    /// All events that are possible now.
    void offer(events& out) const;
    /// Applies the event and checks everything. Throws violation.
    void apply(event);
    void run_to_end(unsigned finale);

private:
    using core_type = http::http1_core;
    using action = core_type::action;
    using phase = core_type::phase;

    [[noreturn]] void broken(std::string why) const;
    void require(bool good, const char* why) const {
        if (!good) [[unlikely]]
            broken(why);
    }

    // Events.
    void do_event(event);
    void send_to(std::size_t offset);
    void tick();
    void run();
    void carry_out(action);
    void check_head();
    void dispatch();
    void write();
    void settle();

    // The model.
    const request_plan& current() const { return setting_.requests[dispatched_ - 1]; }
    bool last(bool http10_stream = false);
    std::size_t complete_requests() const noexcept;
    std::size_t buffer_limit() const noexcept { return limits_.reader.max_head + limits_.reader.max_body; }
    std::size_t start_of_next() const noexcept { return dispatched_ == 0 ? 0 : setting_.ends[dispatched_ - 1]; }
    bool partial_request() const noexcept;
    bool all_written() const noexcept { return written_ == expected_.size(); }
    void expect_head(int status, bool keep_alive, unsigned minor);
    void expect_response(int status, std::string_view body);
    void expect_chunk(std::string_view text);
    void response_complete();
    void note_continue();
    void note_processed();
    bool must_be_closed() const noexcept;
    void transfer_progress(time_point& due, std::size_t bytes, duration limit) const noexcept;
    std::optional<time_point> stall_due() const noexcept;
    std::optional<time_point> read_due() const noexcept;
    std::optional<time_point> quiet_due() const noexcept;
    std::optional<time_point> next_due() const noexcept;
    void check();

    const setting& setting_;
    const http::http1_limits limits_;
    time_point now_;
    core_type core_;

    // The client and the socket.
    std::size_t sent_ = 0;
    std::string incoming_;  // freed after each event: the core must not read it later
    bool half_closed_ = false;
    bool paused_ = false;
    bool output_ended_ = false;
    std::size_t room_ = SIZE_MAX;  // bytes that the socket accepts before it blocks
    bool writes_fail_ = false;
    unsigned posted_ = 0;

    // The application.
    std::size_t dispatched_ = 0;
    bool outstanding_ = false;  // the last dispatched request has no complete response
    bool streaming_ = false;
    bool announced_ = false;
    bool in_dispatch_ = false;
    unsigned told_gone_ = 0;
    unsigned told_quiet_ = 0;
    unsigned numbered_ = 0;

    // The expected results.
    std::string expected_;     // everything that must be written, in this order
    std::size_t written_ = 0;  // bytes of it that the socket has accepted
    bool no_more_ = false;     // the last response has begun: no further request is dispatched
    bool refused_ = false;
    bool broken_off_ = false;  // the client or the application has ended the connection
    bool timed_out_ = false;
    bool retired_ = false;
    bool closed_ = false;
    bool refusal_due_ = false;  // by a timeout
    std::vector<bool> continued_;
    std::vector<bool> checked_;  // by its head

    std::size_t processed_ = 0;
    bool progress_ = false;  // the socket has accepted bytes during this event
    time_point head_since_{}, body_due_{}, idle_since_{}, stall_due_{}, quiet_since_{}, linger_since_{};
    bool stalled_ = false;
};

}  // namespace keel::explore_http
