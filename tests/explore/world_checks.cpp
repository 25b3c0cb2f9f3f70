#include "explore/world.hpp"

#include <algorithm>

// Compares the actions and the output of the core with the model, and checks the end of every ordering.

namespace keel::explore {

// ---- actions ----

void world::absorb() {
    if (!core_.has_actions()) return;
    core_.take_actions(actions_);
    for (const rpc::action& each : actions_) {
        if (std::holds_alternative<rpc::report>(each)) continue;
        require(times_closed_ == 0, "something happened after the connection was closed");
        if (const auto* start = std::get_if<rpc::start_handler>(&each)) {
            require(!to_start_.empty(), "a handler was started for a request that may not have one");
            life& l = lives_[to_start_.front()];
            to_start_.erase(to_start_.begin());
            l.request = start->request;
            if (setting_.shield_first && lives_.data() == &l) {
                core_.shield(l.request);
                l.shielded = true;
            }
        } else if (const auto* fire = std::get_if<rpc::fire_token>(&each)) {
            auto l =
                std::find_if(lives_.begin(), lives_.end(), [&](const life& x) { return x.request == fire->request; });
            require(l != lives_.end(), "a token of nobody fired");
            require(++l->fired == 1, "its token fired twice", *l);
            require(l->cause != rpc::stop_cause::none, "its token fired without a cause", *l);
            require(l->cause == fire->cause, "its token fired for the wrong cause", *l);
        } else if (const auto* told = std::get_if<rpc::deliver>(&each)) {
            auto q = std::find_if(questions_.begin(), questions_.end(),
                                  [&](const question& x) { return x.call == told->call; });
            require(q != questions_.end(), "an outcome for a request that was never made");
            require(++q->delivered == 1, "a waiter was told twice");
            require(!q->silent, "a caller that gave up was told an outcome");
            require(!q->waiting, "a waiter was told an outcome that nothing caused");
            require(told->outcome.result.has_value() == q->expect_result, "a waiter got a result or lost one");
            require(q->expect_result || told->outcome.kind == q->expected,
                    "a waiter was told the wrong kind of outcome");
        } else if (const auto* progress = std::get_if<rpc::deliver_progress>(&each)) {
            auto q = std::find_if(questions_.begin(), questions_.end(),
                                  [&](const question& x) { return x.call == progress->call; });
            require(q != questions_.end() && q->waiting, "progress for a caller that does not wait");
        } else if (const auto* closed = std::get_if<rpc::connection_closed>(&each)) {
            ++times_closed_;
            require(phase_ == phase::closed, "the connection reported its end too early");
            require(closed->abandoned == abandoned_, "the number of abandoned handlers is wrong");
        } else {
            broken("an action that nothing asked for");
        }
    }
}

// ---- output ----

void world::write_all() {
    // Accepting bytes can make room for more.
    while (!sink_.pending().empty()) write(sink_.pending().size());
}

void world::write(std::size_t bytes) {
    std::string_view pending = sink_.pending();
    require(!output_dead_, "something is to be written on a dead connection");
    std::size_t at = 0;
    while (at < bytes) {
        if (started_.empty()) {
            std::size_t end = pending.find('\n', at);
            require(end != std::string_view::npos, "a frame without its end is offered to the writer");
            started_ = pending.substr(at, end + 1 - at);
            started_taken_ = 0;
            frame_starts(std::string_view(started_).substr(0, started_.size() - 1));
        }
        std::size_t n = std::min(bytes - at, started_.size() - started_taken_);
        require(pending.substr(at, n) == std::string_view(started_).substr(started_taken_, n),
                "a frame changed while it was being written");
        at += n;
        started_taken_ += n;
        if (started_taken_ == started_.size()) {
            frame_done(std::string_view(started_).substr(0, started_.size() - 1));
            started_.clear();
        }
    }
    sink_.on_written(bytes, now_);
    core_.on_drained();
    output_changed(true);
    look_for_end();
    absorb();
}

void world::frame_starts(std::string_view text) {
    const json::value* v = document_.read(text);
    if (!v) broken("a frame is not JSON: " + std::string(text));
    if (v->is_array()) {
        require(!v->empty(), "an empty batch was written");
        for (const json::value& each : v->items()) message(each, false);
    } else {
        message(*v, false);
    }
}

void world::frame_done(std::string_view text) {
    const json::value* v = document_.read(text);
    if (v->is_array()) {
        for (const json::value& each : v->items()) message(each, true);
    } else {
        message(*v, true);
    }
}

world::life& world::life_called(std::string_view token) {
    for (life& l : lives_) {
        if (name(l) == token) return l;
    }
    broken("a message names a request that never was: " + std::string(token));
}

// Called when the first byte is written, and again (`done`) when the last one is written.
void world::message(const json::value& m, bool done) {
    const json::value* method_member = m.find("method");
    if (!method_member) return answer_on_wire(m, done);
    std::string_view method = method_member->as_string();
    const json::value& params = m["params"];

    if (method == "notifications/progress" || method == "notifications/message") {
        if (done) return;
        bool is_log = method == "notifications/message";
        life& l = life_called(params[is_log ? "life" : "progressToken"].as_string());
        auto n = static_cast<std::uint16_t>(params[is_log ? "n" : "progress"].as_int());
        require(n > l.newest_started, "its messages are out of order, or one was written twice", l);
        require(n <= l.last_said, "a message said after it was settled was written", l);
        require(l.state != cell::silent && !l.taken_back, "a message was written after its cancel", l);
        require(l.state != cell::dropped, "a message was written after it was dropped", l);
        require(l.started == 0, "a message was written after its answer", l);
        l.newest_started = n;
        ++l.started_words;
        return;
    }

    bool is_cancel = method == "notifications/cancelled";
    if (!is_cancel && method != "ask") broken("nobody said this: " + std::string(method));
    std::uint64_t call = (is_cancel ? params["requestId"] : m["id"]).as_uint();
    auto q = std::find_if(questions_.begin(), questions_.end(), [&](const question& x) { return x.call == call; });
    require(q != questions_.end(), "a request or a cancel for a request that was never made");
    if (is_cancel) {
        if (done) {
            ++q->cancels_written;
            return;
        }
        require(q->started, "a cancel was written for a request that the peer never saw");
        require(q->cancel_due, "a cancel was written for a request that nobody abandoned");
        require(++q->cancels == 1, "two cancels were written for one request");
    } else if (done) {
        q->written = true;
    } else {
        require(!q->started, "a request was written twice");
        require(!q->withdrawn, "a request was written after it was withdrawn");
        q->started = true;
    }
}

void world::answer_on_wire(const json::value& m, bool done) {
    const json::value* id = m.find("id");
    const json::value* result = m.find("result");
    const json::value& error = m["error"];
    if (!id) {
        require(!result, "a result without an id");
        if (done) ++anonymous_written_;
        else require(++anonymous_started_ <= anonymous_due_, "an error without an id that nothing caused");
        return;
    }
    explore::who w{};
    if (id->if_string() == std::string_view("1")) w = who::b;
    else if (id->if_int() == 1) w = who::a;
    else if (id->if_int() == 0) w = who::probe;
    else broken("an answer with an id that never came");

    answer kind = answer::result;
    std::string_view token;
    if (result) {
        token = (*result)["life"].as_string();
    } else {
        std::string_view text = error["message"].as_string();
        std::int64_t code = error["code"].as_int();
        if (code == -32000) {
            kind = answer::error;
            token = text;
        } else {
            require(code == -32603, "an error with a code that nobody chose");
            kind = text == "internal error"                ? answer::quiet
                   : text == "shutting down"               ? answer::refused
                   : text == "too many requests in flight" ? answer::overloaded
                                                           : answer::shutdown;
        }
    }

    // Our error does not say which request with that id it answers: take the first possible one.
    life* meant = nullptr;
    int best = -1;
    for (life& l : lives_) {
        if (l.who != w || l.duplicate) continue;
        if (token.empty() ? l.due != kind : name(l) != token) continue;
        bool fits = done ? l.started == 1 && l.written == 0 : l.started == 0 && !l.taken_back;
        int quality = !fits ? 0 : l.may_vanish ? 1 : 2;
        if (quality <= best) continue;
        best = quality;
        meant = &l;
    }
    if (!meant) broken("an answer that no request was due: " + json::to_string(m));
    if (done) {
        ++meant->written;
        return;
    }
    require(meant->state != cell::silent, "an answer was written after its cancel", *meant);
    require(!meant->taken_back, "its answer was written although it was cancelled before", *meant);
    require(meant->state != cell::dropped, "an answer was written although it was dropped", *meant);
    require(meant->state == cell::answered && meant->due == kind, "it was answered with something else than was due",
            *meant);
    require(++meant->started == 1, "a second answer was written", *meant);
}

// ---- after every step ----

void world::check_step() {
    require(to_start_.empty(), "a request was not handed to a handler");
    bool idle_writer = sink_.pending().empty();
    for (const life& l : lives_) {
        require(l.fired == (l.cause == rpc::stop_cause::none ? 0u : 1u), "its token did not fire", l);
        if (l.request == 0) continue;
        bool open = l.in_table && l.state == cell::open;
        require(core_.is_open(l.request) == open, open ? "it is not open any more" : "it is still open", l);
        require(!(open && idle_writer) || l.newest_started >= l.last_progress, "its progress is never written", l);
    }
    for (const question& q : questions_) {
        require(q.delivered == (q.waiting || q.silent ? 0u : 1u), "a waiter was not told");
    }
    std::size_t running = records();
    require(core_.running() == running, "census: requests are kept too long or lost");
    require(budget_->used == running, "census: the budget of handlers is off");
    require(core_.waiting() == waiting(), "census: waiters are kept too long or lost");
    require(core_.closing() == (phase_ != phase::open),
            phase_ == phase::open ? "the connection ends without a cause" : "the connection does not end");
    require(core_.closed() == (phase_ == phase::closed), "the connection is closed too early or too late");
    require(times_closed_ == (phase_ == phase::closed ? 1u : 0u), "the end was not reported");
    require(core_.wants_input() == input_possible(), "reading goes on too long or stops too early");
    require(!sink_.wants_pause() || !idle_writer, "reading pauses for ever: nothing is queued");
    require(idle_writer || !output_dead_, "something is queued on a dead connection");
    if (auto due = next_deadline()) {
        auto core_due = core_.next_deadline();
        require(core_due && *core_due <= *due, "a deadline was forgotten");
    }
    if (phase_ == phase::closed) {
        require(running == 0 && waiting() == 0 && idle_writer, "census: something is left after the end");
        require(!core_.next_deadline(), "a clock runs after the end");
    }
}

// ---- the end ----

std::string name_of_finale(unsigned finale) {
    static constexpr const char* how[] = {"input ends", "close", "reading fails", "writing fails",
                                          "the peer stops reading, then close"};
    return std::string("at last: ") + how[finale % 5] +
           (finale / 5 % 2 ? "; handlers hang and are abandoned" : "; handlers end");
}

void world::run_to_end(unsigned finale) {
    bool hang = finale / 5 % 2 == 1;
    bool deaf = finale % 5 == 4;
    auto apply_if = [this](event e) {
        if (enabled(e)) apply(e);
    };
    if (phase_ == phase::open) {
        // In every case the connection still serves requests.
        apply_if({what::resume});
        apply({what::arrive, who::probe, 1});
        apply_if({what::begin, who::probe, 1});
        apply_if({what::finish, who::probe, 1});
    }
    if (deaf) apply_if({what::stall});
    static constexpr what ways[] = {what::eof, what::close, what::read_error, what::write_error, what::close};
    apply_if({ways[finale % 5]});
    if (!hang) {
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            life& l = lives_[i];
            apply_if({what::begin, l.who, l.number});
            apply_if({what::quit, l.who, l.number});
        }
    }
    if (!deaf) apply_if({what::resume});
    for (int i = 0; phase_ != phase::closed; ++i) {
        require(i < 64 && core_.next_deadline().has_value(), "the connection never closes");
        apply({what::tick});
    }
    use_leftovers();
    check_balance();
}

// Handlers and callers that still hold objects of a closed connection may use them without any effect (C9, F4, F7, G1).
void world::use_leftovers() {
    for (std::size_t i = 0; i < lives_.size(); ++i) {
        for (what kind : {what::begin, what::progress, what::log, what::ask, what::finish}) {
            event e{kind, lives_[i].who, lives_[i].number};
            if (enabled(e)) apply(e);
        }
    }
    for (what kind : {what::eof, what::close, what::close_drain, what::write_error, what::read_error}) {
        event e{kind};
        if (kind == what::eof || enabled(e)) apply(e);
    }
    apply({what::ask, who::self});
    core_.on_line(R"({"jsonrpc":"2.0","id":1,"method":"work"})");
    require(!core_.has_actions() && sink_.pending().empty(), "a line after the end was served");
}

void world::check_balance() {
    for (const life& l : lives_) {
        require(l.started <= 1 && l.written <= l.started, "it was answered more than once", l);
        require(l.duplicate || l.state != cell::open, "it was never settled", l);
        if (output_dead_ || l.may_vanish || l.taken_back) continue;
        if (l.state != cell::answered) continue;
        require(l.written == 1, "it was never answered", l);
        require(setting_.tight || l.started_words == l.due_words, "something it said was not written", l);
        require(l.newest_started >= l.last_progress, "its newest progress was not written", l);
    }
    if (output_dead_) return;
    for (const question& q : questions_) {
        require(q.cancels_written == (q.cancel_due ? 1u : 0u), "the peer did not hear that nobody waits any more");
    }
    require(anonymous_written_ == anonymous_due_, "an error without an id was not written");
    require(started_.empty(), "a frame was left half written");
}

}  // namespace keel::explore
