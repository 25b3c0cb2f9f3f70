#include "rpc/peer.hpp"

#include <cxxabi.h>

namespace keel::inline KEEL_ABI::rpc {

/// Every way in opens a turn; the outermost one carries out what the core asked for and writes once.
class peer::turn {
public:
    explicit turn(peer& p) noexcept : peer_(p) {
        if (peer_.turns_++ == 0) peer_.core_.set_now(peer_.loop_->now());
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
        if (peer_.turns_ == 1) {
            peer_.end_turn();
            if (!peer_.core_.closed()) peer_.user_.on_turn_end();
        }
        --peer_.turns_;
    }

private:
    peer& peer_;
};

namespace {

keel::error error_of(call_outcome o) {
    bool said = o.kind == error_kind::rejected;
    keel::error why = said ? keel::error(o.error.code, o.error.message, std::move(o.error.data))
                           : keel::error(o.kind, o.error.message);
    why.set_http_status(o.http_status);
    return why;
}

}  // namespace

/// A coroutine waiting for the answer to a request of ours.
class peer::answer_wait final : public detail::wait {
public:
    answer_wait(std::shared_ptr<peer> p, std::shared_ptr<request> asker,
                const call_options_with_progress& options) noexcept
        : peer_(std::move(p)), asker_(std::move(asker)), options_(options) {}
    ~answer_wait() = default;

    // What is given lives as long as the wait.
    void prepare(std::string_view method, json::value params) {
        method_ = method;
        params_ = std::move(params);
    }
    void prepare(std::string_view method, const call_params& params) {
        method_ = method;
        text_ = &params;
    }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        turn t(*peer_);
        serial on_behalf_of = asker_ ? asker_->id() : 0;
        peer_core& core = peer_->core_;
        call_ = text_ ? core.call(on_behalf_of, method_, *text_, options_, outcome_)
                      : core.call(on_behalf_of, method_, std::move(params_), options_, outcome_);
        if (call_ != 0 && options_.on_sent) options_.on_sent(call_);
        if (call_ == 0) {
            leave();
            return false;
        }
        peer_->waits_.add(call_, this);
        return true;
    }

    json::value await_resume() {
        check();
        if (outcome_.result) return std::move(*outcome_.result);
        if (outcome_.kind == error_kind::cancelled && asker_ && asker_->stopped()) throw cancelled();
        throw error_of(std::move(outcome_));
    }

    void deliver(call_outcome outcome) {
        outcome_ = std::move(outcome);
        resume();
    }

    void progress(const json::value& params) {
        // A copy: it may cancel its own call, and with that end our frame.
        if (auto report = options_.on_progress) report(params);
    }

private:
    void interrupt() noexcept override {
        peer_->waits_.erase(call_);
        {
            turn t(*peer_);
            peer_->core_.abandon(call_, "cancelled");
        }
        resume();
    }
    [[noreturn]] void rethrow() const override {
        // A handler whose connection went away learns that, not merely that it should stop (C2).
        if (asker_ && (asker_->cause() == stop_cause::closed || asker_->cause() == stop_cause::shutdown)) {
            throw keel::error(error_kind::closed, "connection closed");
        }
        throw cancelled();
    }

    std::shared_ptr<peer> peer_;
    std::shared_ptr<request> asker_;
    const call_options_with_progress& options_;
    std::string_view method_;
    json::value params_;
    const call_params* text_ = nullptr;
    serial call_ = 0;
    call_outcome outcome_;
};

peer::peer(std::shared_ptr<keel::loop> loop, std::unique_ptr<connection> wire, role r, const limits& bounds,
           std::shared_ptr<flight_budget> budget, peer_user& user)
    : loop_(std::move(loop)), wire_(std::move(wire)), user_(user), core_(r, bounds, std::move(budget)),
      framer_(bounds.max_message) {}

peer::peer(std::shared_ptr<keel::loop> loop, outlet& out, role r, const limits& bounds,
           std::shared_ptr<flight_budget> budget, peer_user& user)
    : loop_(std::move(loop)), user_(user), core_(r, bounds, std::move(budget), &out), framer_(bounds.max_message) {}

peer::~peer() { loop_->stop_timer(timer_); }

void peer::start() {
    if (!wire_) return;
    auto self = shared_from_this();
    turn t(*this);
    on_wire([this] { wire_->start(*this); });
}

void peer::receive(const message& m, stream_id from) {
    auto self = shared_from_this();
    turn t(*this);
    core_.on_read(m, from);
    carry_out();  // before the message is gone: actions point into it
}

void peer::drained() {
    auto self = shared_from_this();
    turn t(*this);
    core_.on_drained();
}

void peer::receive_too_large(std::string_view beginning) {
    auto self = shared_from_this();
    turn t(*this);
    core_.on_too_large(beginning);
}

void peer::forget_requests(std::string_view why) {
    auto self = shared_from_this();
    turn t(*this);
    core_.forget_requests(why);
}

void peer::settle(serial call, call_outcome outcome) {
    auto self = shared_from_this();
    turn t(*this);
    core_.settle_call(call, std::move(outcome));
}

// A connection that throws, out of descriptors perhaps, is a broken one. What it breaks is its own peer.
template <class F>
void peer::on_wire(F f) {
    try {
        f();
    } catch (const std::exception& e) {
        core_.on_read_error(e.what());
    }
}

void peer::close(duration drain, serial from) {
    turn t(*this);
    core_.close(drain, from);
}

// ---- the wire ----

void peer::on_input(std::string_view bytes) {
    auto self = shared_from_this();
    turn t(*this);
    framer_.feed(
        bytes,
        [this](std::string_view line) {
            core_.on_line(line);
            carry_out();  // before the next line: actions point into this one
            return core_.wants_input();
        },
        [this](std::string_view beginning) {
            core_.on_too_large(beginning);
            carry_out();
        });
}

void peer::on_input_end() {
    auto self = shared_from_this();
    turn t(*this);
    if (std::string_view rest = framer_.remainder(); !rest.empty()) {
        core_.on_remainder(rest);
        carry_out();
    }
    if (!core_.closed()) user_.on_input_end();
    core_.on_input_end();
}

void peer::on_failure(std::string_view cause) {
    auto self = shared_from_this();
    turn t(*this);
    core_.on_read_error(cause);
}

void peer::on_writable() {
    auto self = shared_from_this();
    turn t(*this);
    write_blocked_ = false;
}

void peer::end_turn() {
    // Writing can fail, and what that sets off can want to write: go on until nothing is left to do.
    do {
        carry_out();
        flush();
    } while (core_.has_actions());
    if (wire_closed_) return;
    if (core_.wants_pause() != reading_paused_) {
        reading_paused_ = !reading_paused_;
        on_wire([this] {
            if (reading_paused_) {
                wire_->pause();
            } else {
                wire_->resume();
            }
        });
        if (core_.has_actions()) return end_turn();  // it broke
    }
    arm_timer();
}

void peer::flush() {
    if (!wire_) return core_.flush();
    while (!write_blocked_ && !wire_closed_) {
        std::string_view pending = core_.pending_output();
        if (pending.empty()) return;
        on_wire([&] {
            connection::written w = wire_->write(pending);
            if (!w.failure.empty()) return core_.on_write_error(w.failure);
            write_blocked_ = w.bytes < pending.size();
            core_.on_written(w.bytes);
        });
    }
}

// ---- time ----

void peer::arm_timer() {
    auto next = core_.next_deadline();
    // A timer that goes off too early finds nothing to do and arms itself anew: cheaper than moving it each time.
    if (!next || *next == time_point::max() || (timer_ != 0 && timer_at_ <= *next)) return;
    loop_->stop_timer(timer_);
    timer_at_ = *next;
    timer_ = loop_->start_timer(*next, [weak = weak_from_this()] {
        if (auto self = weak.lock()) self->on_timer();
    });
}

void peer::on_timer() {
    timer_ = 0;
    turn t(*this);
    core_.on_time();
}

// ---- actions ----

void peer::carry_out() {
    if (carrying_ || !core_.has_actions()) return;  // the loop below goes on with what was added
    carrying_ = true;
    do {
        core_.take_actions(spare_);
        for (action& a : spare_) carry_out(a);
    } while (core_.has_actions());
    carrying_ = false;
}

void peer::carry_out(action& a) {
    if (auto* start = std::get_if<start_handler>(&a)) {
        if (core_.begin(start->request)) begin_handler(*start);
    } else if (auto* fire = std::get_if<fire_token>(&a)) {
        if (fire->cause == stop_cause::peer && !fire->reason.empty()) {
            user_.on_report("request cancelled by the peer: " + fire->reason);  // B17
        }
        auto at = requests_.find(fire->request);
        if (at != requests_.end()) {
            auto keep = at->second;  // it may end, and be forgotten, while it is told
            keep->fire(fire->cause, fire->reason);
        }
    } else if (auto* answer = std::get_if<rpc::deliver>(&a)) {
        auto at = waits_.find(answer->call);
        if (at != waits_.end()) {
            answer_wait* w = at->second;
            waits_.erase(at);
            w->deliver(std::move(answer->outcome));
        }
    } else if (auto* progress = std::get_if<deliver_progress>(&a)) {
        auto at = waits_.find(progress->call);
        if (at != waits_.end()) {
            contain("progress callback", [&] { at->second->progress(*progress->params); });
        }
    } else if (auto* note = std::get_if<deliver_notification>(&a)) {
        contain("notification callback", [&] { user_.on_notification(*this, note->method, note->params); });
    } else if (auto* said = std::get_if<report>(&a)) {
        user_.on_report(said->text);
    } else if (auto* end = std::get_if<connection_closed>(&a)) {
        auto self = shared_from_this();
        wire_closed_ = true;
        if (wire_) wire_->close();
        loop_->stop_timer(std::exchange(timer_, 0));
        // Abandoned handlers keep their request alive themselves.
        requests_.clear();
        contain("end of the connection", [&] { user_.on_closed(end->cause, end->abandoned); });
    }
}

// What user code throws is its own affair: the receive path goes on (D16, F9). False when it threw.
template <class F>
bool peer::contain(const char* what, F f) {
    try {
        f();
        return true;
    } catch (const std::exception& e) {
        user_.on_report(std::string(what) + " failed: " + printable(e.what(), 500));
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // anything may be thrown; its text cannot be known
        user_.on_report(std::string(what) + " failed");
    }
    return false;
}

void peer::begin_handler(const start_handler& start) {
    bool begun =
        contain("start of a handler", [&] { user_.on_request(*this, start.request, start.method, start.params); });
    // Not even a thread for it could be had, say: the peer is told rather than left to wait (F11).
    if (!begun) finish(start.request, failure{error_code::internal, "internal error", {}});
}

// ---- requests received ----

std::shared_ptr<request> peer::open_request(serial id) {
    std::shared_ptr<request>& r = requests_[id];
    if (!r) r = std::make_shared<request>(loop_, weak_from_this(), id);
    return r;
}

void peer::finish(serial request, text_pieces result) {
    turn t(*this);
    core_.finish(request, result);
    if (!requests_.empty()) requests_.erase(request);
}

void peer::finish(serial request, const failure& why) {
    turn t(*this);
    core_.finish(request, why);
    if (!requests_.empty()) requests_.erase(request);
}

void peer::finish(serial request, const handler_outcome& outcome) {
    turn t(*this);
    if (!outcome.log.empty()) user_.on_report("handler failed: " + printable(outcome.log, 500));
    switch (outcome.what) {
        case handler_outcome::kind::result: core_.finish(request, outcome.result); break;
        case handler_outcome::kind::failure: core_.finish(request, outcome.error); break;
        case handler_outcome::kind::silent: core_.finish_silently(request); break;
    }
    requests_.erase(request);
}

void peer::send_progress(serial request, double progress, std::optional<double> total, std::string_view message) {
    turn t(*this);
    core_.send_progress(request, progress, total, message);
}

void peer::send_scoped(serial request, std::string_view method, std::string_view params, bool droppable) {
    turn t(*this);
    core_.send_scoped(request, method, params, droppable);
}

void peer::release_stream(serial request, duration retry) {
    turn t(*this);
    core_.release_stream(request, retry);
}

bool peer::notify(std::string_view method, std::string_view params, bool droppable) {
    turn t(*this);
    return core_.notify(method, params, droppable);
}

// ---- requests sent ----

task<json::value> peer::ask(std::shared_ptr<peer> p, std::shared_ptr<request> asker, std::string method,
                            json::value params, call_options_with_progress options) {
    answer_wait w(std::move(p), std::move(asker), options);
    w.prepare(method, std::move(params));
    co_return co_await w;
}

task<json::value> peer::ask_text(std::shared_ptr<peer> p, std::string_view method, call_params params,
                                 const call_options_with_progress& options) {
    answer_wait w(std::move(p), nullptr, options);
    w.prepare(method, params);
    co_return co_await w;
}

}  // namespace keel::rpc
