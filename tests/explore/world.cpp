#include "explore/world.hpp"

#include <algorithm>

// Events: what they do to the core, and which results the rules require. world_checks.cpp compares the actions and the
// output of the core with these.

namespace keel::explore {

namespace {

using namespace std::chrono_literals;

constexpr duration drain = 7s;
constexpr duration write_stall = 30s;
constexpr duration cleanup_grace = 2s;
constexpr duration final_write = 1s;
constexpr std::array<const char*, ids> id_text = {"1", "\"1\"", "0"};

limits limits_for(const setting& s) {
    limits l;
    l.drain_on_eof = s.drain_on_eof;
    l.cleanup_grace = cleanup_grace;
    l.final_write = final_write;
    l.write_stall = write_stall;
    l.request_idle = s.request_idle;
    l.max_in_flight = s.max_in_flight;
    l.anonymous_errors_per_second = 1'000'000;
    if (s.tight) {
        l.out_queue_soft = 1;
        l.out_queue = 1;
    }
    return l;
}

}  // namespace

world::world(const setting& s)
    : setting_(s), budget_(std::make_shared<rpc::flight_budget>()), sink_(s.role, limits_for(s)),
      core_(s.role, limits_for(s), sink_, budget_), now_(time_point() + 1h) {
    core_.set_now(now_);
    core_.allow_batches(true);
    lives_.reserve(8);
    questions_.reserve(8);
}

std::string world::name(const life& l) {
    return (l.who == who::a ? "a" : l.who == who::b ? "b" : "p") + std::to_string(l.number);
}

void world::broken(std::string why) const { throw violation{std::move(why)}; }

// ---- state queries ----

world::life* world::find(explore::who w, std::uint8_t number) {
    for (life& l : lives_) {
        if (l.who == w && l.number == number) return &l;
    }
    return nullptr;
}

const world::life* world::find(explore::who w, std::uint8_t number) const {
    return const_cast<world*>(this)->find(w, number);
}

world::life* world::open_with(explore::who w) {
    for (life& l : lives_) {
        if (l.who == w && l.in_table && l.state == cell::open) return &l;
    }
    return nullptr;
}

bool world::input_possible() const noexcept {
    return phase_ == phase::open || (phase_ == phase::draining && !input_ended_);
}

std::size_t world::records() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(lives_.begin(), lives_.end(), [](const life& l) { return l.in_table; }));
}

std::size_t world::open_records() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(lives_.begin(), lives_.end(), [](const life& l) { return l.in_table && l.state == cell::open; }));
}

std::size_t world::waiting() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(questions_.begin(), questions_.end(), [](const question& q) { return q.waiting; }));
}

// On the wire: the first question that the peer has received and not answered, otherwise the last one it has received
// (for a second answer). Otherwise the first one that is waited for.
world::question* world::question_of(const event& e, bool on_wire) {
    int asker = -1;
    if (e.who != who::self) {
        life* l = find(e.who, e.life);
        if (!l) return nullptr;
        asker = static_cast<int>(l - lives_.data());
    }
    question* last = nullptr;
    for (question& q : questions_) {
        if (q.asker != asker) continue;
        if (on_wire) {
            if (!q.written) continue;
            if (q.replies == 0) return &q;
            last = &q;
        } else if (q.waiting) {
            return &q;
        }
    }
    return last;
}

const world::question* world::question_of(const event& e, bool on_wire) const {
    return const_cast<world*>(this)->question_of(e, on_wire);
}

bool world::enabled(const event& e) const {
    switch (e.kind) {
        case what::arrive: return input_possible() && arrivals_[static_cast<std::size_t>(e.who)] + 1 == e.life;
        case what::arrive_together: return input_possible();
        case what::cancel: return input_possible();
        case what::reply:
        case what::reply_error:
        case what::peer_progress: return input_possible() && question_of(e, true) != nullptr;
        case what::give_up: return question_of(e, false) != nullptr;
        case what::eof: return !input_ended_ && phase_ != phase::closed;
        case what::read_error:
        case what::write_error:
        case what::close:
        case what::close_drain: return true;
        case what::stall: return !stalled_;
        case what::resume: return stalled_;
        case what::dribble:
        case what::next_frame: return stalled_ && !sink_.pending().empty();
        case what::tick: return core_.next_deadline().has_value();
        case what::ask:
            if (e.who == who::self) return true;
            break;
        default: break;
    }
    const life* l = find(e.who, e.life);
    if (!l || l->request == 0) return false;
    switch (e.kind) {
        case what::begin: return !l->offered;
        case what::finish:
        case what::fail:
        case what::quit:
        case what::close_own: return l->running;
        default: return l->offered;  // a saved context may be used at any time (F7)
    }
}

void world::offer(std::uint32_t mask, events& out) const {
    out.clear();
    auto add = [&](event e) {
        if ((mask >> static_cast<unsigned>(e.kind) & 1) != 0 && enabled(e)) out.push_back(e);
    };
    for (explore::who w : {who::a, who::b}) {
        std::size_t seen = arrivals_[static_cast<std::size_t>(w)];
        if (seen < 9) add({what::arrive, w, static_cast<std::uint8_t>(seen + 1)});
        add({what::cancel, w, 1});
    }
    if (lives_.size() < 8) add({what::arrive_together});
    auto add_asking = [&](explore::who w, std::uint8_t number) {
        if (questions_.size() < 16) add({what::ask, w, number});
        for (what kind : {what::reply, what::reply_error, what::peer_progress, what::give_up}) add({kind, w, number});
    };
    for (const life& l : lives_) {
        for (what kind :
             {what::begin, what::finish, what::fail, what::quit, what::progress, what::log, what::close_own}) {
            add({kind, l.who, l.number});
        }
        add_asking(l.who, l.number);
    }
    add_asking(who::self, 1);
    for (auto kind = static_cast<std::uint8_t>(what::eof); kind < kinds_of_events; ++kind) {
        if (kind != static_cast<std::uint8_t>(what::close_own)) add({static_cast<what>(kind)});
    }
}

// ---- the expected state ----

void world::settle(life& l, cell to, answer due, rpc::stop_cause cause) {
    l.state = to;
    l.due = due;
    if (l.cause == rpc::stop_cause::none) l.cause = cause;
}

void world::settle_question(question& q, error_kind kind) {
    q.waiting = false;
    q.expected = kind;
}

// Nobody waits any more: a request that has not been written is never written (D6), otherwise the peer is notified once
// (D7).
void world::abandon(question& q) {
    if (q.started) {
        q.cancel_due = true;
    } else {
        q.withdrawn = true;
    }
}

void world::drop_questions(int asker) {
    for (question& q : questions_) {
        if (q.asker != asker || !q.waiting) continue;
        settle_question(q, error_kind::cancelled);
        abandon(q);
    }
}

void world::fail_questions() {
    for (question& q : questions_) {
        if (q.waiting) settle_question(q, error_kind::closed);
    }
}

void world::ended(life& l, answer due) {
    l.running = false;
    if (!l.in_table) return;  // abandoned
    if (l.state == cell::open) settle(l, cell::answered, due, rpc::stop_cause::none);
    drop_questions(static_cast<int>(&l - lives_.data()));
    l.in_table = false;
    look_for_end();
}

void world::was_cancelled(explore::who w) {
    if (life* l = open_with(w)) {
        if (l->shielded) return;
        settle(*l, cell::silent, answer::none, rpc::stop_cause::peer);
        l->taken_back = true;
        drop_questions(static_cast<int>(l - lives_.data()));
        return look_for_end();
    }
    // It applies to the newest request with that id, if any. Only a peer that violates the rules for ids can have more
    // than one answer pending; with batches either of them may be sent.
    std::vector<life*> pending;
    const life* newest = nullptr;
    bool batch = false;
    for (auto l = lives_.rbegin(); l != lives_.rend(); ++l) {
        if (l->who != w || l->duplicate) continue;
        if (!newest) newest = &*l;
        if (l->state != cell::answered || l->started > 0 || l->taken_back || l->shielded) continue;
        pending.push_back(&*l);
        batch |= l->in_batch;
    }
    for (life* l : pending) {
        bool sure = l == newest && !(batch && pending.size() > 1) && !l->may_vanish;
        (sure ? l->taken_back : l->may_vanish) = true;
    }
}

void world::end_orderly() {
    if (phase_ == phase::closing || phase_ == phase::closed) return;
    phase_ = phase::closing;
    drain_.reset();
    if (records() > 0) grace_ = now_ + cleanup_grace;
    for (life& l : lives_) {
        if (!l.in_table) continue;
        if (l.state == cell::open) settle(l, cell::answered, answer::shutdown, rpc::stop_cause::shutdown);
        if (l.cause == rpc::stop_cause::none) l.cause = rpc::stop_cause::shutdown;
    }
    fail_questions();
    look_for_end();
}

void world::end_abruptly() {
    if (phase_ == phase::closed) return;
    output_dead_ = true;
    input_ended_ = true;
    drain_.reset();
    final_.reset();
    stall_.reset();
    if (phase_ != phase::closing) {
        phase_ = phase::closing;
        if (records() > 0) grace_ = now_ + cleanup_grace;
        for (life& l : lives_) {
            if (!l.in_table) continue;
            if (l.state == cell::open) settle(l, cell::dropped, answer::none, rpc::stop_cause::closed);
            if (l.cause == rpc::stop_cause::none) l.cause = rpc::stop_cause::closed;
        }
        fail_questions();
    }
    look_for_end();
}

void world::look_for_end() {
    // A drain waits only for requests that can still be answered.
    if (phase_ == phase::draining && open_records() == 0) return end_orderly();
    if (phase_ != phase::closing || records() > 0) return;
    grace_.reset();
    if (!output_dead_ && !sink_.pending().empty()) {
        if (!final_) final_ = now_ + final_write;
        return;
    }
    phase_ = phase::closed;
    drain_.reset();
    final_.reset();
    stall_.reset();
}

// A peer that reads nothing is disconnected after a timeout, counted from the last byte that it read or from the moment
// when output was queued (C11).
void world::output_changed(bool bytes_taken) {
    if (sink_.pending().empty()) {
        stall_.reset();
    } else if (bytes_taken || !stall_) {
        stall_ = stall_from_ = now_ + write_stall;
    }
}

bool world::survived_in_queue() const {
    std::string_view now = sink_.pending();
    return !now.empty() && queued_before_.find(now.substr(0, now.find('\n') + 1)) != std::string::npos;
}

std::optional<time_point> world::next_deadline() const {
    std::optional<time_point> next;
    auto consider = [&](const std::optional<time_point>& t) {
        if (t && (!next || *t < *next)) next = t;
    };
    for (const question& q : questions_) {
        if (q.waiting) consider(q.deadline);
    }
    for (const auto* t : {&drain_, &grace_, &final_, &stall_}) consider(*t);
    return next;
}

void world::time_passed() {
    for (question& q : questions_) {
        if (!q.waiting || q.deadline > now_) continue;
        settle_question(q, error_kind::timed_out);
        abandon(q);
    }
    auto due = [this](std::optional<time_point>& t) {
        if (!t || *t > now_) return false;
        t.reset();
        return true;
    };
    bool given_up = stall_ && stall_from_ <= now_ && sink_.pending().empty();
    if (due(stall_) || given_up) end_abruptly();
    if (due(drain_)) end_orderly();
    if (due(grace_)) {
        abandoned_ += records();
        for (life& l : lives_) l.in_table = false;
        look_for_end();
    }
    if (due(final_)) end_abruptly();
}

// ---- events ----

void world::apply(const event& e) {
    if (stalled_) queued_before_ = sink_.pending();
    else queued_before_.clear();
    do_event(e);
    // The frames queued now are newer than before: whether the timeout restarted depends on how they were replaced.
    if (!queued_before_.empty() && stall_ && !survived_in_queue()) stall_ = now_ + write_stall;
    output_changed(e.kind == what::dribble || e.kind == what::next_frame);
    absorb();
    if (!stalled_) write_all();
    sink_.flush(now_);
    check_step();
}

world::life& world::arrived(explore::who w) {
    life& l = lives_.emplace_back();
    l.who = w;
    l.number = ++arrivals_[static_cast<std::size_t>(w)];
    std::size_t running = records();
    for (const life& other : lives_) {
        if (&other != &l && other.who == w && other.in_table && other.state == cell::open) l.duplicate = true;
    }
    if (l.duplicate) {
        l.state = cell::dropped;
        if (setting_.role == rpc::role::server) ++anonymous_due_;
    } else if (phase_ != phase::open) {
        settle(l, cell::answered, answer::refused, rpc::stop_cause::none);
    } else if (running >= setting_.max_in_flight) {
        settle(l, cell::answered, answer::overloaded, rpc::stop_cause::none);
    } else {
        l.in_table = true;
        to_start_.push_back(lives_.size() - 1);
    }
    line_ += R"({"jsonrpc":"2.0","id":)";
    line_ += id_text[static_cast<std::size_t>(w)];
    line_ += R"(,"method":"work","params":{"_meta":{"progressToken":")";
    line_ += name(l);
    line_ += R"("}}})";
    return l;
}

void world::ask(const event& e) {
    life* l = e.who == who::self ? nullptr : find(e.who, e.life);
    std::optional<error_kind> refusal;
    if (output_dead_ || !input_possible()) refusal = error_kind::closed;
    else if (l && !(l->in_table && l->state == cell::open)) refusal = error_kind::cancelled;
    else if (setting_.tight && !sink_.pending().empty()) refusal = error_kind::unavailable;

    rpc::call_outcome why;
    rpc::serial call = core_.call(l ? l->request : 0, "ask", json::value(), {}, why);
    if (refusal) {
        require(call == 0, "a request was sent that had to be refused");
        require(why.kind == *refusal, "a request was refused for another reason than it should");
        return;
    }
    require(call != 0, "a request was refused that had to be sent");
    question& q = questions_.emplace_back();
    q.call = call;
    q.asker = l ? static_cast<int>(l - lives_.data()) : -1;
    q.deadline = now_ + setting_.request_idle;
}

void world::do_event(const event& e) {
    auto subject = [&]() -> life& { return *find(e.who, e.life); };
    line_.clear();
    switch (e.kind) {
        case what::arrive: {
            arrived(e.who);
            core_.on_line(line_);
            break;
        }
        case what::arrive_together:
            line_ += '[';
            arrived(who::a).in_batch = true;
            line_ += ',';
            arrived(who::b).in_batch = true;
            line_ += ']';
            core_.on_line(line_);
            break;
        case what::cancel:
            line_ += R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)";
            line_ += id_text[static_cast<std::size_t>(e.who)];
            line_ += R"(,"reason":"enough"}})";
            core_.on_line(line_);
            was_cancelled(e.who);
            break;
        case what::reply:
        case what::reply_error: {
            question& q = *question_of(e, true);
            bool good = e.kind == what::reply;
            ++q.replies;
            if (q.waiting) {
                settle_question(q, error_kind::rejected);
                q.expect_result = good;
            }
            line_ += R"({"jsonrpc":"2.0","id":)";
            json::write_uint(line_, q.call);
            line_ += good ? R"(,"result":{}})" : R"(,"error":{"code":1,"message":"no"}})";
            core_.on_line(line_);
            break;
        }
        case what::peer_progress: {
            question& q = *question_of(e, true);
            if (q.waiting) q.deadline = now_ + setting_.request_idle;
            line_ += R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":)";
            json::write_uint(line_, q.call);
            line_ += "}}";
            core_.on_line(line_);
            break;
        }
        case what::begin: {
            life& l = subject();
            l.offered = true;
            l.running = l.in_table && l.state == cell::open;
            bool run = core_.begin(l.request);
            require(run == l.running, run ? "its handler began although it was cancelled" : "its handler may not begin",
                    l);
            if (!run) ended(l, answer::none);
            break;
        }
        case what::finish: {
            life& l = subject();
            line_ = R"({"life":")" + name(l) + R"("})";
            core_.finish(l.request, line_);
            ended(l, answer::result);
            break;
        }
        case what::fail: {
            life& l = subject();
            core_.finish(l.request, rpc::failure{-32000, name(l), {}});
            ended(l, answer::error);
            break;
        }
        case what::quit: {
            life& l = subject();
            core_.finish_silently(l.request);
            ended(l, answer::quiet);
            break;
        }
        case what::progress:
        case what::log: {
            life& l = subject();
            bool open = l.in_table && l.state == cell::open && !output_dead_;
            bool is_log = e.kind == what::log;
            ++l.said;
            if (open) {
                l.last_said = l.said;
                ++l.due_words;
                if (!is_log) l.last_progress = l.said;
            }
            if (is_log) {
                line_ = R"({"life":")" + name(l) + R"(","n":)" + std::to_string(l.said) + "}";
                core_.send_scoped(l.request, "notifications/message", line_, true);
            } else {
                core_.send_progress(l.request, l.said, {}, {});
            }
            break;
        }
        case what::ask: ask(e); break;
        case what::give_up: {
            question& q = *question_of(e, false);
            q.waiting = false;
            q.silent = true;
            abandon(q);
            core_.abandon(q.call, "not needed");
            break;
        }
        case what::eof:
            core_.on_input_end();
            input_ended_ = true;
            if (phase_ == phase::open && (setting_.drain_on_eof <= duration::zero() || open_records() == 0)) {
                end_orderly();
            } else if (phase_ == phase::open) {
                fail_questions();
                phase_ = phase::draining;
                drain_ = now_ + setting_.drain_on_eof;
            } else if (phase_ == phase::draining) {
                fail_questions();
            }
            break;
        case what::read_error:
            core_.on_failure("reading failed");
            end_abruptly();
            break;
        case what::write_error:
            core_.on_failure("writing failed");
            end_abruptly();
            break;
        case what::stall: stalled_ = true; break;
        case what::resume: stalled_ = false; break;
        case what::dribble: write(1); break;
        case what::next_frame: write(sink_.pending().find('\n') + 1); break;
        case what::close_own: {
            life& l = subject();
            core_.close({}, l.request);
            if (phase_ != phase::closed && l.in_table && l.state == cell::open) {
                settle(l, cell::dropped, answer::none, rpc::stop_cause::closed);
                l.taken_back = true;
            }
            end_orderly();
            break;
        }
        case what::close:
            core_.close();
            end_orderly();
            break;
        case what::close_drain:
            core_.close(drain);
            if (phase_ == phase::closing || phase_ == phase::closed) break;
            if (open_records() == 0) {
                end_orderly();
            } else {
                phase_ = phase::draining;
                if (!drain_ || now_ + drain < *drain_) drain_ = now_ + drain;
            }
            break;
        case what::tick:
            now_ = std::max(now_, *core_.next_deadline());
            core_.set_now(now_);
            core_.on_time();
            time_passed();
            break;
    }
}

}  // namespace keel::explore
