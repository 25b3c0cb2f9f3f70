#pragma once

// One end of a JSON-RPC connection as a state machine: events go in, actions come out, messages go to a sink. It has no threads, no
// clock and no sockets, so a test can feed it every ordering of a set of events. docs/lifecycle.md is its contract; rule ids in comments
// (B4, D6) refer to it.

#include "rpc/message.hpp"
#include "rpc/message_sink.hpp"
#include "rpc/recycling_map.hpp"

#include <keel/error.hpp>
#include <keel/json.hpp>
#include <keel/limits.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI::rpc {

/// Why the stop token of a handler fired.
enum class stop_cause : unsigned char {
    none,
    peer,      // the peer cancelled the request
    closed,    // the connection is lost
    shutdown,  // we are closing; the peer is still connected
    owner,     // the code that started the handler stops it early; the request stays open, and that code answers it
};

/// The limit that ended a call.
enum class time_limit : unsigned char { none, idle, total };

/// How a request that we sent ended.
struct call_outcome {
    std::optional<json::value> result;  // or an error:
    error_kind kind = error_kind::closed;
    failure error;                        // rejected: as received; any other kind: only a message
    int transport_status = 0;             // the status code with which the transport refused the request; 0: none
    time_limit limit = time_limit::none;  // timed_out: which
};

/// The parameters of a request that we send, as JSON text without the braces. Text that every request repeats is written only once.
struct call_params {
    std::string_view members;  // `"name":"x","arguments":{}`, without `_meta`
    std::string_view meta;     // the members of `_meta`
};

// What the driver has to do. Pointers and views are valid until the next message is read.
struct start_handler {
    serial request;
    std::string_view method;
    const json::value* params;  // nullptr when absent
};
struct fire_token {
    serial request;
    stop_cause cause;
    std::string reason;
};
struct deliver {
    serial call;
    call_outcome outcome;
};
struct deliver_progress {
    serial call;
    const json::value* params;
};
struct deliver_notification {
    std::string_view method;
    const json::value* params;
};
/// For the log.
struct report {
    std::string text;       // bounded and printable
    bool ordinary = false;  // not a problem: a peer may do this at any time
};
struct connection_closed {
    std::string cause;          // "" after a graceful shutdown
    std::size_t abandoned = 0;  // handlers that did not return within limits::cleanup_grace
};
using action =
    std::variant<start_handler, fire_token, deliver, deliver_progress, deliver_notification, report, connection_closed>;

/// Counts the handlers that run on all connections, to limit them. Shared between threads.
struct flight_budget {
    std::atomic<std::size_t> used{0};
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// A token bucket: allows `per_second` events per second, and as many at once.
class rate_limiter {
public:
    explicit rate_limiter(double per_second) noexcept : rate_(per_second), left_(per_second) {}
    /// False if the limit is reached.
    bool take(time_point now) noexcept {
        std::chrono::duration<double> passed = now - at_;
        left_ = std::min(rate_, left_ + passed.count() * rate_);
        at_ = now;
        if (left_ < 1) return false;
        left_ -= 1;
        return true;
    }

private:
    double rate_;
    double left_;
    time_point at_{};
};

struct call_options {
    // Timeouts; zero takes the default of the connection. Progress restarts `idle`.
    duration idle{};
    duration total{};
    bool want_progress = true;
    bool cancellable = true;    // false: no notifications/cancelled when the caller gives up
    bool peer_may_end = false;  // the peer may cancel it, as subscriptions/listen of 2026-07-28 (I10, B21)
    /// The result is not copied: it is valid until the caller waits again.
    bool borrow_result = false;
    // See outgoing_message.
    std::string_view name = {};
    const message_attributes* attributes = nullptr;
};

/// Event counts, for the health view and for tests.
struct counters {
    std::uint64_t received = 0;  // messages of any kind
    std::uint64_t requests = 0;  // passed to a handler
    std::uint64_t answers = 0;
    std::uint64_t dropped_late = 0;  // messages for a request that was settled, or after the connection was lost
    std::uint64_t rejected_input = 0;
    std::uint64_t withdrawn = 0;  // messages withdrawn by a cancel
    std::uint64_t merged_progress = 0;
    std::uint64_t dropped_logs = 0;  // because the peer reads too slowly
    std::uint64_t overloaded = 0;
    std::uint64_t unmatched_responses = 0;
    std::uint64_t suppressed_errors = 0;  // errors without an id above the rate limit
};

/// How a request ended. A tool error is a result that reports a failure (`isError`); `error` is an error response.
enum class request_outcome : unsigned char { ok, tool_error, error, cancelled };

/// What the core knows of a request, for logs and metrics. `id` is valid during the call only.
struct request_facts {
    const request_id& id;
    std::uint16_t kind;   // see request_watch::kind_of
    std::uint16_t label;  // see peer_core::set_label
    time_point since;     // the start of the turn in which it was read
};

/// Measures requests. on_settled is called exactly once for each request.
class request_watch {
public:
    /// Called when a request is read. Returns the category under which it is counted.
    virtual std::uint16_t kind_of(std::string_view method) = 0;
    /// The request was answered, or ended without a response.
    virtual void on_settled(const request_facts& request, request_outcome how) noexcept = 0;

protected:
    ~request_watch() = default;
};

/// Not thread-safe. After every event, carry out take_actions() and flush the sink. peer does both.
class peer_core {
public:
    /// Every message goes to `sink`, which must outlive the core.
    peer_core(role r, const limits& bounds, message_sink& sink, std::shared_ptr<flight_budget> budget = {});
    ~peer_core();
    peer_core(const peer_core&) = delete;
    peer_core& operator=(const peer_core&) = delete;

    /// Call before the first event. `w` must outlive the core.
    void watch(request_watch& w) noexcept { watch_ = &w; }

    // Time. Set it before each event; call on_time at next_deadline.
    void set_now(time_point now) noexcept { now_ = now; }
    time_point now() const noexcept { return now_; }
    std::optional<time_point> next_deadline() const noexcept;
    void on_time();

    // Input.
    /// `writable`: the text of the line may be overwritten.
    void on_line(std::string_view line, bool writable = false);
    /// The last line is not used any more: frees what was needed to read it, if that is large.
    void forget_line() noexcept { document_.clear(); }
    /// A message that the caller has parsed. Replies go to the stream `from`.
    void on_read(const message& m, stream_id from);
    /// A line longer than limits::max_message was skipped; `beginning` is the part of it that was kept.
    void on_too_large(std::string_view beginning);
    /// The text after the last newline when the input ended: handled if it is a complete message (C10).
    void on_remainder(std::string_view text);
    void on_input_end();
    /// Reading or writing failed: the connection is lost in both directions.
    void on_failure(std::string_view cause);
    /// False once no more input is handled.
    bool wants_input() const noexcept { return phase_ == phase::open || (phase_ == phase::draining && input_open_); }

    /// The sink has written some of the queued bytes.
    void on_drained();

    // Handlers. Call begin once for each start_handler and, if it returns true, finish or finish_silently once.
    /// True: run the handler. False: the request was cancelled before its handler could start.
    bool begin(serial request);
    /// See peer::finish. `how` is `ok` or `tool_error`.
    void finish(serial request, text_pieces result, request_outcome how = request_outcome::ok,
                std::string* body = nullptr);
    void finish(serial request, std::string_view result, request_outcome how = request_outcome::ok) {
        finish(request, text_pieces(&result, 1), how);
    }
    void finish(serial request, const failure& why);
    /// The handler ended because it was told to stop: nothing is sent.
    void finish_silently(serial request);
    /// The JSON-RPC id of the request; null when it has ended.
    json::value wire_id(serial request) const;
    /// Nullopt when the handler of the request has ended.
    std::optional<request_facts> facts(serial request) const noexcept;
    /// Stores a number of the user with the request, such as the tool that it calls.
    void set_label(serial request, std::uint16_t label) noexcept;
    /// True until the request is settled: messages on its behalf are still sent.
    bool is_open(serial request) const noexcept;

    // Messages on behalf of a request. They are dropped silently once the request is settled.
    void send_progress(serial request, double progress, std::optional<double> total, std::string_view message);
    /// A notification that belongs to the request. Droppable ones (log messages) are dropped while the peer reads slowly.
    void send_scoped(serial request, std::string_view method, std::string_view params, bool droppable);
    bool wants_progress(serial request) const noexcept;
    /// See stream_control::release.
    void release_stream(serial request, duration retry);

    // Requests and notifications that we send.
    /// Returns the identity of the call, whose outcome comes as a `deliver`; or 0, with the reason in `why`. `parent` is the request on
    /// whose behalf the call is made, or 0.
    serial call(serial parent, std::string_view method, json::value params, const call_options&, call_outcome& why);
    serial call(serial parent, std::string_view method, const call_params&, const call_options&, call_outcome& why);
    /// Ends a call without a message, because its stream was lost for example. Ignored if the call is unknown or has ended.
    void settle_call(serial call, call_outcome outcome);
    /// The caller gives up: no `deliver` follows. The peer is notified if the request was sent.
    void abandon(serial call, std::string_view reason);
    /// Cancels all requests that are being handled, without responses; their ids can be reused. The connection goes on. For an HTTP
    /// session that the server has lost.
    void forget_requests(std::string_view why);
    /// False if it was dropped because the peer reads too slowly; only droppable notifications are.
    bool notify(std::string_view method, std::string_view params, bool droppable = true);

    /// Starts a graceful shutdown. Running handlers get the time `drain`, then their requests are answered with an error. `from` is the
    /// request whose handler calls this, or 0: that request is not answered (F6). A second call can only shorten the drain.
    void close(duration drain = {}, serial from = 0);

    void allow_batches(bool yes) noexcept { batches_ = yes; }
    /// For callers of on_read, which split batches themselves.
    bool takes_batch_of(std::size_t n) const noexcept { return batches_ && n > 0 && n <= limits_.max_batch; }
    /// False: requests from the peer are ignored (clients, from 2026-07-28).
    void accept_requests(bool yes) noexcept { requests_accepted_ = yes; }
    /// The request does not count in the budget of all connections: it only waits (subscriptions/listen).
    void exempt(serial request) noexcept;
    /// The peer cannot cancel this request (initialize: B10).
    void shield(serial request) noexcept;
    bool in_batch(serial request) const noexcept;

    /// A request with this id is being handled.
    bool in_flight(const request_id& id) const { return open_ids_.contains(id); }
    /// How many more requests would be accepted now.
    std::size_t room() const noexcept;

    bool closed() const noexcept { return phase_ == phase::closed; }
    bool closing() const noexcept { return phase_ != phase::open; }

    std::vector<action> take_actions() noexcept { return std::exchange(actions_, {}); }
    bool has_actions() const noexcept { return !actions_.empty(); }
    /// The same, reusing the memory of `into`.
    void take_actions(std::vector<action>& into) noexcept {
        into.clear();
        into.swap(actions_);
    }

    const counters& count() const noexcept { return counters_; }
    std::size_t running() const noexcept { return incoming_.size(); }
    std::size_t waiting() const noexcept { return calls_.size(); }
    /// Bytes that wait on the stream of this request; 0: on the stream for messages that belong to no request.
    std::size_t queued_bytes(serial request = 0) const noexcept;

private:
    enum class phase : unsigned char { open, draining, closing, closed };
    using kind = outgoing_message::kind;
    enum class request_state : unsigned char { open, answered, silent, dropped };

    struct batch {
        std::size_t unsettled = 0;  // members; the batch is sent when it reaches 0
        std::uint64_t number = 0;   // of its message, once it is queued; see unsent_messages
        struct answer {
            request_id id;
            serial request;
            std::string text;
        };
        std::vector<answer> answers;
        bool holds(const request_id& id) const noexcept {
            return std::any_of(answers.begin(), answers.end(), [&](const answer& each) { return each.id == id; });
        }
    };

    struct incoming_request {
        request_id id;
        request_state state = request_state::open;
        bool begun = false;
        bool shielded = false;
        bool counted = true;  // in the budget
        bool fired = false;
        std::uint16_t kind = 0;  // see request_watch
        std::uint16_t label = 0;
        stream_id stream = 0;
        time_point since{};
        std::string progress_token;  // JSON text; empty: the peer wants no progress
        double last_progress = -std::numeric_limits<double>::infinity();
        std::string deferred_progress;  // the newest progress, while the peer reads slowly (J1)
        std::vector<serial> nested;     // calls on behalf of this request
        std::shared_ptr<batch> group;
    };

    struct serial_hash {
        std::size_t operator()(serial n) const noexcept { return static_cast<std::size_t>(n); }
    };
    using incoming_table = recycling_map<serial, incoming_request, serial_hash>;

    struct outgoing_call {
        serial parent = 0;
        stream_id stream = 0;  // of its parent
        bool cancellable = true;
        bool peer_may_end = false;
        bool borrow_result = false;
        time_point idle_deadline;
        time_point total_deadline;
        duration idle{};
        duration total{};
        time_point due() const noexcept { return std::min(idle_deadline, total_deadline); }
    };

    using call_table = recycling_map<serial, outgoing_call, serial_hash>;

    void serve(const json::value& v);
    void on_batch(const json::value& v);
    void on_message(const message& m, const std::shared_ptr<batch>& group);
    void on_request(const message& m, const std::shared_ptr<batch>& group);
    void on_notification(const message& m);
    void on_response(const message& m);
    void on_cancel(const json::value* params);
    void on_progress(const json::value* params);

    bool can_send() const noexcept { return !output_lost_ && phase_ != phase::closed; }
    void reject(const request_id& id, const failure& why, const std::shared_ptr<batch>& group = {});
    void reject_anonymously(int code, const char* message);
    void write_response(serial request, const incoming_request& r, text_pieces result, const failure* why,
                        std::string* body = nullptr);
    void write_batch(std::shared_ptr<batch> group);
    void member_settled(const std::shared_ptr<batch>& group);
    bool withdraw_response(const request_id& id);
    bool withdraw_member(batch& group, const request_id& id);
    std::size_t withdraw(serial owner);
    void on_output_shrunk();
    void log(std::string text, bool ordinary = false);
    void send_for(serial request, const incoming_request& r, std::string_view method, std::string_view params);
    void send_deferred(serial request, incoming_request& r);
    void send_all_deferred();

    void settle(incoming_request& r, request_state to, request_outcome how = request_outcome::cancelled);
    void fire(serial request, incoming_request& r, stop_cause cause, std::string_view reason);
    void cancel_nested(incoming_request& r);
    void drop_request(serial request, incoming_request& r, request_state to, stop_cause cause, std::string_view reason);
    void on_unanswered(const incoming_request& r);
    bool give_up(serial call);
    void remove_request(incoming_table::iterator at);
    bool may_call(serial parent, stream_id& on, call_outcome& why);
    void add_call(serial id, serial parent, stream_id on, std::string_view method, const call_options& options);
    static outgoing_message describe_request(serial id, stream_id on, std::string_view method,
                                             const call_options& options) noexcept;
    call_outcome timed_out(const outgoing_call& c) const;
    void time_out_calls();
    void erase_call(call_table::iterator at);
    void send_cancelled(serial call, stream_id on, std::string_view reason);

    std::vector<serial> requests_in_order() const;
    void fail_calls(std::string_view cause);
    void end_abruptly(std::string_view cause);
    void end_gracefully();
    void close_when_done();
    void abandon_handlers();
    void finish_closing();
    bool all_written() const noexcept { return !queue_ || sink_.queued_bytes(0) == 0; }

    role role_;
    limits limits_;
    std::shared_ptr<flight_budget> budget_;
    request_watch* watch_ = nullptr;
    time_point now_{};
    phase phase_ = phase::open;
    bool input_open_ = true;
    bool output_lost_ = false;
    bool batches_ = false;
    bool requests_accepted_ = true;
    std::string cause_;
    std::size_t abandoned_ = 0;

    json::document document_;
    message_sink& sink_;
    // The optional interfaces of the sink, or null.
    unsent_messages* const unsent_;
    stream_control* const streams_;
    write_queue* const queue_;
    stream_id current_stream_ = 0;  // the stream of the message that is being read
    std::vector<action> actions_;
    serial next_serial_ = 1;

    std::size_t exempt_ = 0;                                       // requests in incoming_ outside of the budget
    incoming_table incoming_;                                      // requests whose handler has not ended
    recycling_map<request_id, serial, request_id_hash> open_ids_;  // of open requests
    call_table calls_;                                             // the serial is the JSON-RPC id
    // No call times out before this. It is not updated when a call is answered: to scan all calls now and then costs less than to keep
    // them in order.
    time_point calls_due_ = time_point::max();
    std::set<serial> deferred_;                                // requests with deferred progress, in order
    std::map<serial, std::shared_ptr<batch>> queued_batches_;  // by the owner of their message

    std::optional<time_point> drain_deadline_;
    std::optional<time_point> grace_deadline_;
    std::optional<time_point> final_deadline_;
    rate_limiter errors_;   // errors without an id
    rate_limiter reports_;  // log messages
    std::uint64_t suppressed_reports_ = 0;
    counters counters_;
};

}  // namespace keel::rpc
