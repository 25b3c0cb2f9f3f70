#include "rpc/peer.hpp"

#include <cxxabi.h>

namespace keel::inline KEEL_ABI::rpc {

namespace {

keel::error error_of(call_outcome o) {
    bool rejected = o.kind == error_kind::rejected;
    keel::error why = rejected ? keel::error(o.error.code, o.error.message, std::move(o.error.data))
                               : keel::error(o.kind, o.error.message);
    why.set_http_status(o.transport_status);
    return why;
}

}  // namespace

/// A coroutine that waits for the response to a request.
class peer::answer_wait final : public detail::wait {
public:
    answer_wait(std::shared_ptr<peer> p, std::shared_ptr<request> asker,
                const call_options_with_progress& options) noexcept
        : peer_(std::move(p)), asker_(std::move(asker)), options_(options) {}
    ~answer_wait() = default;

    // Views and references must outlive the wait.
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
        bool waiting = false;
        // The end of the turn can resume the coroutine, and with that destroy this object.
        peer_->run_turn([this, &waiting] { waiting = send(); });
        return waiting;
    }

    json::value await_resume() {
        check();
        if (outcome_.result) return std::move(*outcome_.result);
        if (outcome_.kind == error_kind::cancelled && asker_ && asker_->stopped()) throw cancelled();
        if (outcome_.kind == error_kind::timed_out) throw call_timeout(outcome_.error.message, outcome_.limit);
        throw error_of(std::move(outcome_));
    }

    void deliver(call_outcome outcome) {
        outcome_ = std::move(outcome);
        resume();
    }

    void progress(const json::value& params) {
        // A copy: the callback may cancel its own call, which destroys this object.
        if (auto report = options_.on_progress) report(params);
    }

private:
    /// False, and the wait is over, if the request could not be sent.
    bool send() {
        leave_unless_sent guard{*this};
        serial on_behalf_of = asker_ ? asker_->id() : 0;
        peer_core& core = peer_->core_;
        call_ = text_ ? core.call(on_behalf_of, method_, *text_, options_, outcome_)
                      : core.call(on_behalf_of, method_, std::move(params_), options_, outcome_);
        if (call_ == 0) return false;
        if (options_.on_sent) options_.on_sent(call_);
        peer_->waits_.add(call_, this);
        guard.sent = true;
        return true;
    }
    struct leave_unless_sent {
        answer_wait& wait;
        bool sent = false;
        ~leave_unless_sent() {
            if (!sent) wait.leave();
        }
    };

    void interrupt() noexcept override {
        peer_->waits_.erase(call_);
        peer_->run_turn([this] { peer_->core_.abandon(call_, "cancelled"); });
        resume();
    }
    [[noreturn]] void rethrow() const override {
        // A handler learns that its connection was lost, not only that it should stop (C2).
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

peer::peer(std::shared_ptr<keel::loop> loop, message_sink& sink, role r, const limits& bounds,
           std::shared_ptr<flight_budget> budget, peer_user& user)
    : loop_(std::move(loop)), sink_(sink), user_(user), core_(r, bounds, sink, std::move(budget)) {}

peer::~peer() { loop_->stop_timer(timer_); }

// ---- turns ----

void peer::end_turn() {
    // Writing can fail, and the actions that follow from that can want to write.
    do {
        carry_out();
        sink_.flush(core_.now());
    } while (core_.has_actions());
    if (!core_.closed()) arm_timer();
}

// Out of memory or of descriptors, for example. It ends this peer and no other. Whoever waits is still told; the input that other
// actions point into may be gone.
void peer::end_broken_turn(const char* cause) {
    std::vector<action> left(std::make_move_iterator(actions_.begin() + static_cast<std::ptrdiff_t>(next_action_)),
                             std::make_move_iterator(actions_.end()));
    for (action& a : core_.take_actions()) left.push_back(std::move(a));
    std::erase_if(left, [](const action& a) {
        return std::holds_alternative<deliver_progress>(a) || std::holds_alternative<deliver_notification>(a);
    });
    for (action& a : left) {
        auto* answer = std::get_if<rpc::deliver>(&a);
        if (answer && answer->outcome.result) answer->outcome = {.result = {}, .error = {0, cause, {}}};
    }
    actions_ = std::move(left);
    next_action_ = 0;
    core_.on_failure(cause);  // a handler that has not begun never begins
    end_turn();
}

// ---- input ----

void peer::start() {
    run_turn([this] { sink_.start(); });
}

void peer::receive(const message& m, stream_id from, input_holder* holder) {
    run_turn([&] {
        core_.on_read(m, from);
        const scoped_input mark(input_, holder);
        carry_out();  // now: the actions point into the message
    });
}

bool peer::receive_line(std::string_view line, input_holder* holder) {
    const bool writable = holder != nullptr;
    const bool large = line.size() >= large_input;
    if (!large || line.starts_with('[')) holder = nullptr;
    bool more = false;
    run_turn([&] {
        core_.on_line(line, writable);
        const scoped_input mark(input_, holder);
        carry_out();  // now: the actions point into the line
        if (large) core_.forget_line();
        more = core_.wants_input();
    });
    return more;
}

void peer::release_input() {
    input_holder* holder = std::exchange(input_, nullptr);
    if (!holder) return;
    core_.forget_line();
    holder->release_input();
}

void peer::receive_too_large(std::string_view beginning) {
    run_turn([&] {
        core_.on_too_large(beginning);
        carry_out();
    });
}

void peer::receive_end(std::string_view remainder) {
    run_turn([&] {
        if (!remainder.empty()) {
            core_.on_remainder(remainder);
            carry_out();
        }
        if (!core_.closed()) user_.on_input_end();
        core_.on_input_end();
    });
}

void peer::fail(std::string_view cause) {
    run_turn([&] { core_.on_failure(cause); });
}

void peer::drained() {
    run_turn([this] { core_.on_drained(); });
}

void peer::forget_requests(std::string_view why) {
    run_turn([&] { core_.forget_requests(why); });
}

void peer::settle(serial call, call_outcome outcome) {
    run_turn([&] { core_.settle_call(call, std::move(outcome)); });
}

void peer::close(duration drain, serial from) {
    run_turn([&] { core_.close(drain, from); });
}

// ---- time ----

void peer::arm_timer() {
    auto next = core_.next_deadline();
    // A timer that fires too early finds nothing to do and is set again: cheaper than moving it each time.
    if (!next || *next == time_point::max() || (timer_ != 0 && timer_at_ <= *next)) return;
    loop_->stop_timer(timer_);
    timer_at_ = *next;
    timer_ = loop_->start_timer(*next, [weak = weak_from_this()] {
        if (auto self = weak.lock()) self->on_timer();
    });
}

void peer::on_timer() {
    timer_ = 0;
    run_turn([this] { core_.on_time(); });
}

// ---- actions ----

void peer::carry_out() {
    // Inside an action: the loop below goes on with the actions that are added. Not empty: an exception left some of them.
    if (carrying_out_ || (actions_.empty() && !core_.has_actions())) return;
    const scoped_flag mark(carrying_out_);
    while (true) {
        for (std::size_t count = actions_.size(); next_action_ < count;) carry_out(actions_[next_action_++]);
        next_action_ = 0;
        if (!core_.has_actions()) break;
        core_.take_actions(actions_);
    }
    actions_.clear();
}

void peer::carry_out(action& a) {
    if (auto* start = std::get_if<start_handler>(&a)) {
        if (core_.begin(start->request)) begin_handler(*start);
    } else if (auto* fire = std::get_if<fire_token>(&a)) {
        if (fire->cause == stop_cause::peer) user_.on_cancelled(fire->request, fire->reason);  // B17
        auto at = requests_.find(fire->request);
        if (at != requests_.end()) {
            auto keep = at->second;  // it may end, and leave the table, in this call
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
    } else if (auto* entry = std::get_if<report>(&a)) {
        if (entry->ordinary) user_.on_cancelled(0, entry->text);
        else user_.on_report(entry->text);
    } else if (auto* end = std::get_if<connection_closed>(&a)) {
        sink_.close();
        loop_->stop_timer(std::exchange(timer_, 0));
        // Abandoned handlers keep their request alive.
        requests_.clear();
        contain("end of the connection", [&] { user_.on_closed(end->cause, end->abandoned); });
    }
}

// Logs an exception of user code and goes on (D16, F9). Returns false if there was one.
template <class F>
bool peer::contain(const char* what, F f) {
    try {
        f();
        return true;
    } catch (const std::exception& e) {
        user_.on_report(std::string(what) + " failed: " + printable(e.what(), 500));
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // any type can be thrown; its text is unknown
        user_.on_report(std::string(what) + " failed");
    }
    return false;
}

void peer::begin_handler(const start_handler& start) {
    bool begun =
        contain("start of a handler", [&] { user_.on_request(*this, start.request, start.method, start.params); });
    // No thread could be started, for example: the peer gets an error instead of no response (F11).
    if (!begun) finish(start.request, failure{error_code::internal, "internal error", {}});
}

// ---- requests received ----

std::shared_ptr<request> peer::open_request(serial id) {
    std::shared_ptr<request>& r = requests_[id];
    if (!r) r = std::make_shared<request>(loop_, weak_from_this(), id);
    return r;
}

void peer::finish(serial request, text_pieces result, request_outcome how, std::string* body) {
    run_turn([&] {
        core_.finish(request, result, how, body);
        if (!requests_.empty()) requests_.erase(request);
    });
}

void peer::finish(serial request, const failure& why) {
    run_turn([&] {
        core_.finish(request, why);
        if (!requests_.empty()) requests_.erase(request);
    });
}

void peer::finish(serial request, const handler_outcome& outcome) {
    run_turn([&] {
        if (!outcome.log.empty()) user_.on_handler_failed(request, printable(outcome.log, 500));
        switch (outcome.what) {
            case handler_outcome::kind::result:
                core_.finish(request, outcome.result,
                             outcome.tool_error ? request_outcome::tool_error : request_outcome::ok);
                break;
            case handler_outcome::kind::failure: core_.finish(request, outcome.error); break;
            case handler_outcome::kind::silent: core_.finish_silently(request); break;
        }
        requests_.erase(request);
    });
}

void peer::send_progress(serial request, double progress, std::optional<double> total, std::string_view message) {
    run_turn([&] { core_.send_progress(request, progress, total, message); });
}

void peer::send_scoped(serial request, std::string_view method, std::string_view params, bool droppable) {
    run_turn([&] { core_.send_scoped(request, method, params, droppable); });
}

void peer::release_stream(serial request, duration retry) {
    run_turn([&] { core_.release_stream(request, retry); });
}

bool peer::notify(std::string_view method, std::string_view params, bool droppable) {
    bool accepted = true;
    run_turn([&] { accepted = core_.notify(method, params, droppable); });
    return accepted;
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
