#pragma once

// Carries out the actions of a peer_core, on one loop. connection_io.hpp makes a peer over a byte stream; over HTTP the sink is the
// session or the link.

#include "rpc/peer_core.hpp"
#include "rpc/request.hpp"

#include <keel/error.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace keel::inline KEEL_ABI::rpc {

/// A call got no answer in time.
class call_timeout final : public keel::error {
public:
    call_timeout(const std::string& message, time_limit which) : error(error_kind::timed_out, message), limit(which) {}
    time_limit limit;
};

/// The session of a server or of a client, which uses the peer.
class peer_user {
public:
    /// Call peer::finish, or finish of a request object, exactly once, now or later.
    virtual void on_request(peer& p, serial request, std::string_view method, const json::value* params) = 0;
    virtual void on_notification(peer& p, std::string_view method, const json::value* params) = 0;
    /// No more messages will come: requests that wait for a cancel from the peer (subscriptions) must end.
    virtual void on_input_end() {}
    /// A turn is over; see peer::run_turn. Not called after the connection has closed.
    virtual void on_turn_end() noexcept {}
    /// For the log: a problem that the peer caused, or a failed callback.
    virtual void on_report(std::string_view text) = 0;
    /// For the log: the peer cancelled something, which it may do at any time. The request is 0 if its handler has ended.
    virtual void on_cancelled(serial, std::string_view /*reason*/) {}
    /// For the log: the handler of a request failed with an unexpected exception.
    virtual void on_handler_failed(serial, std::string_view /*what*/) {}
    /// The last call. `cause` is empty after a graceful shutdown.
    virtual void on_closed(std::string_view cause, std::size_t abandoned) = 0;

protected:
    ~peer_user() = default;
};

/// Who holds the text of the message that a peer is receiving.
class input_holder {
public:
    /// Nobody needs the text any more: if it is large, its memory can be used for the answer.
    virtual void release_input() = 0;

protected:
    ~input_holder() = default;
};

/// Owned by std::shared_ptr: requests on other threads hold a weak one. Use it on its loop only.
class peer : public std::enable_shared_from_this<peer> {
public:
    /// Messages go to `sink`, which must outlive the peer.
    peer(std::shared_ptr<keel::loop> loop, message_sink& sink, role r, const limits& bounds,
         std::shared_ptr<flight_budget> budget, peer_user& user);
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;
    ~peer();

    /// Runs `f`, then carries out the actions that the core asks for and flushes the sink once. Every call that changes the core is a
    /// turn; turns inside `f` are part of this one. An exception that leaves `f`, the sink or an action means that the peer cannot go
    /// on: it ends like a broken connection.
    template <class F>
    void run_turn(F f);

    void start();

    // Input.
    /// A message that the caller has parsed. Replies go to the stream `from`. `holder` is null if its text is small or
    /// cannot be released.
    void receive(const message& m, stream_id from, input_holder* holder = nullptr);
    /// One line. Returns false once no more input is handled. With a `holder` the text of the line may be overwritten.
    bool receive_line(std::string_view line, input_holder* holder = nullptr);
    /// Inside peer_user::on_request: the message, its method and its parameters are not used any more.
    void release_input();
    /// False if the text is small, or shared by the requests of a batch.
    bool holds_large_input() const noexcept { return input_ != nullptr; }
    static constexpr std::size_t large_input = 64 * 1024;
    /// See peer_core::on_too_large.
    void receive_too_large(std::string_view beginning);
    /// The input ended; `remainder` is what came after the last newline.
    void receive_end(std::string_view remainder);
    /// The connection is lost in both directions.
    void fail(std::string_view cause);
    /// See peer_core::forget_requests.
    void forget_requests(std::string_view why);
    /// See peer_core::on_drained.
    void drained();
    /// See peer_core::settle_call.
    void settle(serial call, call_outcome outcome);
    /// See peer_core::close.
    void close(duration drain = {}, serial from = 0);
    bool closed() const noexcept { return core_.closed(); }

    // Responses.
    /// `body`, if not null, has the content of `result[1]` of three pieces. It may be swapped with another buffer.
    void finish(serial request, text_pieces result, request_outcome how = request_outcome::ok,
                std::string* body = nullptr);
    void finish(serial request, std::string_view result) { finish(request, text_pieces(&result, 1)); }
    void finish(serial request, const failure& why);
    void finish(serial request, const handler_outcome& outcome);
    /// Logs that the handler failed, for a caller that finishes the request in another way.
    void handler_failed(serial request, std::string_view what) { user_.on_handler_failed(request, what); }
    /// The object that a handler uses after this turn, or on another thread. Call it inside on_request.
    std::shared_ptr<request> open_request(serial id);

    void send_progress(serial request, double progress, std::optional<double> total, std::string_view message);
    void send_scoped(serial request, std::string_view method, std::string_view params, bool droppable);
    bool notify(std::string_view method, std::string_view params, bool droppable = true);
    void release_stream(serial request, duration retry);

    struct call_options_with_progress : call_options {
        std::function<void(const json::value&)> on_progress;
        std::function<void(serial)> on_sent;  // called with the identity of the call before any event of it
    };
    /// Sends a request and waits for its response. `asker` is the request on whose behalf it is sent, or null. Throws keel::error.
    /// Cancellation: the call ends at once and the peer is notified; a late response is dropped.
    static task<json::value> ask(std::shared_ptr<peer> p, std::shared_ptr<request> asker, std::string method,
                                 json::value params, call_options_with_progress options);
    /// The same with parameters as text; see call_params. References and views must outlive the task.
    static task<json::value> ask_text(std::shared_ptr<peer> p, std::string_view method, call_params params,
                                      const call_options_with_progress& options);

    /// For settings and state of the core.
    peer_core& core() noexcept { return core_; }
    keel::loop& loop() const noexcept { return *loop_; }
    const std::shared_ptr<keel::loop>& shared_loop() const noexcept { return loop_; }
    std::size_t open_requests() const noexcept { return requests_.size(); }

private:
    class answer_wait;

    class scoped_flag {
    public:
        explicit scoped_flag(bool& flag) noexcept : flag_(flag) { flag_ = true; }
        scoped_flag(const scoped_flag&) = delete;
        scoped_flag& operator=(const scoped_flag&) = delete;
        ~scoped_flag() { flag_ = false; }

    private:
        bool& flag_;
    };

    class scoped_input {
    public:
        scoped_input(input_holder*& at, input_holder* holder) noexcept : at_(at) { at_ = holder; }
        scoped_input(const scoped_input&) = delete;
        scoped_input& operator=(const scoped_input&) = delete;
        ~scoped_input() { at_ = nullptr; }

    private:
        input_holder*& at_;
    };

    void end_turn();
    void end_broken_turn(const char* cause);
    void carry_out();
    void carry_out(action& a);
    void begin_handler(const start_handler& start);
    template <class F>
    bool contain(const char* what, F f);
    void arm_timer();
    void on_timer();

    const std::shared_ptr<keel::loop> loop_;
    message_sink& sink_;
    peer_user& user_;
    peer_core core_;

    bool in_turn_ = false;
    bool carrying_out_ = false;
    keel::loop::timer timer_ = 0;
    time_point timer_at_{};
    std::vector<action> actions_;  // being carried out; empty otherwise
    std::size_t next_action_ = 0;
    input_holder* input_ = nullptr;  // of the request that is being started

    std::unordered_map<serial, std::shared_ptr<request>> requests_;
    struct serial_hash {
        std::size_t operator()(serial n) const noexcept { return static_cast<std::size_t>(n); }
    };
    recycling_map<serial, answer_wait*, serial_hash> waits_;
};

template <class F>
void peer::run_turn(F f) {
    if (in_turn_) return f();
    const std::shared_ptr<peer> self = shared_from_this();  // whatever happens in the turn may release the last owner
    const scoped_flag mark(in_turn_);
    core_.set_now(loop_->now());
    try {
        f();
        end_turn();
    } catch (const std::exception& e) {
        end_broken_turn(e.what());
    }
    if (!core_.closed()) user_.on_turn_end();
}

}  // namespace keel::rpc
