#pragma once

// One end of a JSON-RPC connection as a state machine: events go in, actions come out. It has no threads, no
// clock and no sockets, so a test can feed it every ordering of a set of events. docs/lifecycle.md is its contract; rule
// numbers in comments refer to it.

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

/// Why a handler's token fired.
enum class stop_cause : unsigned char {
    none,
    peer,      // the peer cancelled the request
    closed,    // the connection is gone
    shutdown,  // we are closing; the peer is still there
    asking,    // the handler ends here and runs again when the client has answered its questions
};

/// What became of a request of ours.
struct call_outcome {
    std::optional<json::value> result;  // or:
    error_kind kind = error_kind::closed;
    failure error;  // kind rejected: as received; else only a message
    int http_status = 0;
};

/// The parameters of a request of ours as text, without the braces: what is the same in every request is written once.
struct call_params {
    std::string_view members;  // `"name":"x","arguments":{}`, without `_meta`
    std::string_view meta;     // the members of `_meta`
};

// What the driver has to do. Pointers and views are good until the next line is read.
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
struct report {
    std::string text;  // for the log: bounded and printable
};
struct connection_closed {
    std::string cause;          // "" for an orderly end
    std::size_t abandoned = 0;  // handlers that did not end in time
};
using action =
    std::variant<start_handler, fire_token, deliver, deliver_progress, deliver_notification, report, connection_closed>;

/// Handlers running across connections, so that all of them together stay within a bound. Shared between threads.
struct flight_budget {
    std::atomic<std::size_t> used{0};
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// So many per second, and no more at once.
class rate_limiter {
public:
    explicit rate_limiter(double per_second) noexcept : rate_(per_second), left_(per_second) {}
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
    duration idle{};  // zero takes the connection's default
    duration total{};
    bool want_progress = true;
    bool cancellable = true;    // false: the peer is not told when nobody waits any more
    bool peer_may_end = false;  // by a cancel, as a listen of 2026-07-28 (I10, B21)
    /// The result is not copied: it is good until whoever waits for it waits again.
    bool borrow_result = false;
    std::string_view name = {};  // see outgoing_message
    const std::vector<std::pair<std::string, std::string>>* headers = nullptr;
};

/// What happened, for the health view and for tests.
struct counters {
    std::uint64_t received = 0;  // messages of any kind
    std::uint64_t requests = 0;  // that were handed to a handler
    std::uint64_t answers = 0;
    std::uint64_t dropped_late = 0;  // answers, progress, logs after their request was settled or the connection gone
    std::uint64_t rejected_input = 0;
    std::uint64_t withdrawn = 0;  // messages withdrawn by a cancel
    std::uint64_t merged_progress = 0;
    std::uint64_t dropped_logs = 0;  // because the peer reads too slowly
    std::uint64_t overloaded = 0;
    std::uint64_t unmatched_responses = 0;
    std::uint64_t suppressed_errors = 0;  // anonymous errors above the rate
};

/// Measures requests: asked when one is read, told when it is settled, which happens to each of them exactly once.
class request_watch {
public:
    /// What to count it as.
    virtual std::uint16_t kind_of(std::string_view method) = 0;
    /// Answered, with an error or not, or given up. `since` is the beginning of the turn in which it was read.
    virtual void on_settled(std::uint16_t kind, time_point since, bool with_error) noexcept = 0;

protected:
    ~request_watch() = default;
};

/// Not for several threads: one strand feeds it. After every event, carry out take_actions() and write pending output.
class peer_core {
public:
    /// Every message goes to `sink`, which must outlive the core.
    peer_core(role r, const limits& bounds, message_sink& sink, std::shared_ptr<flight_budget> budget = {});
    ~peer_core();
    peer_core(const peer_core&) = delete;
    peer_core& operator=(const peer_core&) = delete;

    /// Before the first event. It outlives the last request.
    void watch(request_watch& w) noexcept { watch_ = &w; }

    // Time. Set it before any event; ask for the next moment at which on_time has something to do.
    void set_now(time_point now) noexcept { now_ = now; }
    time_point now() const noexcept { return now_; }
    std::optional<time_point> next_deadline() const noexcept;
    void on_time();

    // The input.
    void on_line(std::string_view line);
    /// The same for a message that was read by somebody else. What is said in reply goes to this stream.
    void on_read(const message& m, stream_id from);
    /// A line longer than the limit was skipped; `beginning` is as much of it as was kept.
    void on_too_large(std::string_view beginning);
    /// What stood after the last newline when the input ended: served if it is a whole message (C10).
    void on_remainder(std::string_view text);
    void on_input_end();
    /// Reading or writing failed: the connection is lost in both directions.
    void on_failure(std::string_view cause);
    /// False once nothing more is to be read.
    bool wants_input() const noexcept { return phase_ == phase::open || (phase_ == phase::draining && input_open_); }

    /// The sink has written some of the queued bytes.
    void on_drained();

    // Handlers. Each request named by start_handler is begun once and, if begin said so, finished once.
    /// True: run the handler. False: it was cancelled before it could start, and is forgotten.
    bool begin(serial request);
    void finish(serial request, text_pieces result);
    void finish(serial request, std::string_view result) { finish(request, text_pieces(&result, 1)); }
    void finish(serial request, const failure& why);
    /// The handler ended without anything to say (it was cancelled); nothing is written.
    void finish_silently(serial request);
    /// The id it came with, as JSON; null when it is over.
    json::value wire_id(serial request) const;
    /// May this request still say something?
    bool is_open(serial request) const noexcept;

    // What a handler says on behalf of its request: dropped without complaint once the request is settled.
    void send_progress(serial request, double progress, std::optional<double> total, std::string_view message);
    /// A notification that belongs to the request; droppable ones (log messages) are dropped under pressure.
    void send_scoped(serial request, std::string_view method, std::string_view params, bool droppable);
    bool wants_progress(serial request) const noexcept;
    /// See outlet::release.
    void release_stream(serial request, duration retry);

    // Requests and notifications of our own.
    /// The identity of the call; its outcome comes as a `deliver`. 0: refused, and `why` says so. `parent` is the
    /// request on whose behalf we ask, or 0.
    serial call(serial parent, std::string_view method, json::value params, const call_options&, call_outcome& why);
    serial call(serial parent, std::string_view method, const call_params&, const call_options&, call_outcome& why);
    /// The call ends in a way that no message tells of: its stream is lost. An unknown or finished one is fine.
    void settle_call(serial call, call_outcome outcome);
    /// The caller is gone: no `deliver` follows; the peer is told if it knows of the request.
    void abandon(serial call, std::string_view reason);
    /// Whoever has sent the requests that are being handled will not hear their answers, and may use their ids anew; the
    /// connection goes on (a session over HTTP that was forgotten). They are cancelled.
    void forget_requests(std::string_view why);
    /// False when it was dropped because the peer reads too slowly, which happens only to droppable ones.
    bool notify(std::string_view method, std::string_view params, bool droppable = true);

    /// Begins an orderly end. Running handlers get `drain`, then their requests are answered with an error. `from` is the
    /// request whose handler asks for it, or 0: it is not answered (F6). Calling again can only shorten the drain.
    void close(duration drain = {}, serial from = 0);

    void allow_batches(bool yes) noexcept { batches_ = yes; }
    /// For whoever reads messages for us (on_read).
    bool takes_batch_of(std::size_t n) const noexcept { return batches_ && n > 0 && n <= limits_.max_batch; }
    /// Off: requests from the peer are ignored (a client of the modern era).
    void accept_requests(bool yes) noexcept { requests_accepted_ = yes; }
    /// It does not count among those that all connections together may have in flight: it waits, and costs little (listens).
    void exempt(serial request) noexcept;
    /// The request can not be cancelled by the peer (initialize: B10).
    void shield(serial request) noexcept;

    /// A request with this id is being handled.
    bool in_flight(const request_id& id) const { return open_ids_.contains(id); }
    /// So many more requests would be handled now.
    std::size_t room() const noexcept;

    bool closed() const noexcept { return phase_ == phase::closed; }
    bool closing() const noexcept { return phase_ != phase::open; }

    std::vector<action> take_actions() noexcept { return std::exchange(actions_, {}); }
    bool has_actions() const noexcept { return !actions_.empty(); }
    /// Swaps in an empty vector whose memory is reused.
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
        std::size_t unsettled = 0;
        std::uint64_t number = 0;  // of its message, once it is queued; see unsent_messages
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
        std::uint16_t kind = 0;  // for the watch
        stream_id stream = 0;
        time_point since{};
        std::string progress_token;  // JSON text; empty: none wanted
        double last_progress = -std::numeric_limits<double>::infinity();
        std::string deferred_progress;  // newest progress that waits for room (J1)
        std::vector<serial> nested;
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
    void reject(const request_id& id, int code, const char* message, const std::shared_ptr<batch>& group = {});
    void reject_anonymously(int code, const char* message);
    void write_response(serial request, const incoming_request& r, text_pieces result, const failure* why);
    void write_batch(std::shared_ptr<batch> group);
    void member_settled(const std::shared_ptr<batch>& group);
    bool withdraw_response(const request_id& id);
    bool withdraw_member(batch& group, const request_id& id);
    std::size_t withdraw(serial owner);
    void on_output_shrunk();
    void log(std::string text);
    void send_for(serial request, const incoming_request& r, std::string_view method, std::string_view params);
    void send_deferred(serial request, incoming_request& r);
    void send_all_deferred();

    void settle(incoming_request& r, request_state to, bool with_error = false);
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
    // What the sink can do besides; null: it cannot.
    unsent_messages* const unsent_;
    stream_control* const streams_;
    write_queue* const queue_;
    stream_id current_stream_ = 0;  // the stream of the message that is being read
    std::vector<action> actions_;
    serial next_serial_ = 1;

    std::size_t exempt_ = 0;                                       // of incoming_, those that are not counted
    incoming_table incoming_;                                      // handlers that have not ended
    recycling_map<request_id, serial, request_id_hash> open_ids_;  // of records that are open
    call_table calls_;                                             // our id is the serial
    // No call is due before this. Calls that are answered leave it as it is: to look at all of them once in a while costs less
    // than to keep them in order.
    time_point calls_due_ = time_point::max();
    std::set<serial> deferred_;                                // records with parked progress, in order
    std::map<serial, std::shared_ptr<batch>> queued_batches_;  // by the owner of their message

    std::optional<time_point> drain_deadline_;
    std::optional<time_point> grace_deadline_;
    std::optional<time_point> final_deadline_;
    rate_limiter errors_;   // anonymous ones we send
    rate_limiter reports_;  // for the log
    std::uint64_t suppressed_reports_ = 0;
    counters counters_;
};

}  // namespace keel::rpc
