#include "client/engine.hpp"

#include "async/epoll_loop.hpp"
#include "async/timeout.hpp"
#include "async/worker_pool.hpp"
#include "client/client_session.hpp"
#include "protocol/meta_keys.hpp"

#include <keel/version.hpp>

#include <algorithm>

namespace keel::inline KEEL_ABI::detail {

namespace {

void check_roots(const std::vector<keel::root>& roots) {
    for (const keel::root& each : roots) {
        if (!each.uri.starts_with("file://")) {
            throw std::invalid_argument("keel: invalid root (the URI must begin with file://): " +
                                        rpc::printable(each.uri));
        }
    }
}

client_options validated(client_options o) {
    if (o.roots) check_roots(*o.roots);
    if (o.about.name.empty()) o.about.name = "keel-client";
    if (o.about.version.empty()) o.about.version = KEEL_VERSION;
    for (const auto& [id, settings] : o.extensions) {
        if (!protocol::is_valid_extension_id(id)) {
            throw std::invalid_argument("keel: client extension \"" + rpc::printable(id) +
                                        "\": an identifier has a prefix, as in com.example/name");
        }
        if (!settings.is_object()) {
            throw std::invalid_argument("keel: client extension \"" + id + "\": settings must be a JSON object");
        }
    }
    if (o.version.empty()) return o;
    auto revision = protocol::find_revision(o.version);
    if (!revision) throw std::invalid_argument("keel: unknown protocol version: " + o.version);
    bool modern = protocol::is_modern(*revision);
    if (o.mode == protocol_mode::automatic) o.mode = modern ? protocol_mode::modern : protocol_mode::legacy;
    if (modern != (o.mode == protocol_mode::modern)) {
        throw std::invalid_argument("keel: protocol version " + o.version +
                                    " does not belong to the selected protocol mode");
    }
    return o;
}

// All clients of this process share what is known about an HTTP origin. Other servers are probed each time, which is cheap.
std::shared_ptr<era_memory> memory_for(const client_options& o, const client_side::connector& where) {
    if (o.eras) return o.eras;
    if (!where.is_http()) return std::make_shared<era_memory>();
    static const std::shared_ptr<era_memory> of_all = std::make_shared<era_memory>();
    return of_all;
}

}  // namespace

/// A connect in progress. Concurrent callers wait for its outcome.
struct client_engine::attempt {
    explicit attempt(std::uint64_t c) noexcept : closings(c) {}
    const std::uint64_t closings;  // value of closings_ when it began
    event pause_over;              // ends the delay before a restart early
    event done;
    std::exception_ptr failure;  // null and not connected: the caller was cancelled, so the next waiter tries

    static task<void> pause(std::shared_ptr<attempt> self) { co_await self->pause_over; }
};

client_engine::client_engine(std::shared_ptr<loop> l, std::shared_ptr<client_side::connector> c, client_options o)
    : on(std::move(l)), where(std::move(c)), options(validated(std::move(o))), cache(options.cache),
      eras_(memory_for(options, *where)), roots_(options.roots), level_(options.level) {}

client_engine::~client_engine() {
    if (workers_) workers_->shut_down(options.limits.cleanup_grace);
}

// ---- any thread ----

server_facts client_engine::facts() const {
    std::lock_guard lock(mutex_);
    return facts_;
}

void client_engine::set_facts(server_facts facts) {
    std::lock_guard lock(mutex_);
    facts_ = std::move(facts);
}

std::vector<keel::root> client_engine::roots() const {
    std::lock_guard lock(mutex_);
    return roots_.value_or(std::vector<keel::root>());
}

bool client_engine::offers_roots() const {
    std::lock_guard lock(mutex_);
    return roots_.has_value();
}

std::optional<log_level> client_engine::wanted_level() const {
    std::lock_guard lock(mutex_);
    return level_;
}

void client_engine::log(log_level level, std::string_view text) const {
    if (!options.log) return;
    try {
        options.log(level, text);
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // a log callback that throws cannot be reported anywhere
        return;
    }
}

void client_engine::set_roots(std::vector<keel::root> now) {
    check_roots(now);
    {
        std::lock_guard lock(mutex_);
        roots_ = std::move(now);
    }
    on->post([self = shared_from_this()] {
        if (!self->current_ || !self->current_->open()) return;
        if (self->current_->modern()) return self->current_->refresh_meta();
        if (self->current_->declared_roots) self->notify("notifications/roots/list_changed", {});  // ROOT-02
    });
}

// ---- the connection ----

task<void> client_engine::connect() {
    auto self = shared_from_this();
    if (ended_) throw_not_connected();
    if (closed_) {
        closed_ = false;
        connect_stop_ = std::stop_source();
    }
    co_await connect_once();
    reset_restarts();
}

task<void> client_engine::connect_once() {
    auto self = shared_from_this();
    const std::uint64_t since = closings_;
    for (;;) {
        if (in_use()) co_return;
        if (closings_ != since) throw keel::error(error_kind::closed, "closed while connecting");
        if (closed_) throw_not_connected();
        if (auto other = attempt_) {
            co_await other->done;
            // An attempt that a close() had already stopped does not count for this caller.
            if (other->failure && other->closings == since) std::rethrow_exception(other->failure);
            continue;
        }
        auto mine = std::make_shared<attempt>(since);
        attempt_ = mine;
        async::timed_run<session_ptr> run(open(), options.connect_timeout, connect_stop_.get_token());
        session_ptr made;
        bool cancelled_by_caller = false;
        try {
            made = co_await run;
        } catch (const cancelled&) {
            if (run.reason() == async::abandon_reason::timeout) {
                keel::error late(error_kind::timed_out,
                                 where->describe() + " did not complete the handshake within the connect timeout");
                mine->failure = std::make_exception_ptr(late);
            } else if (run.reason() == async::abandon_reason::stop_token) {
                mine->failure = std::make_exception_ptr(keel::error(error_kind::closed, "closed while connecting"));
            } else {
                cancelled_by_caller = true;
            }
        } catch (const std::exception&) {
            mine->failure = std::current_exception();
        }
        attempt_ = nullptr;
        if (made && closings_ != since) {
            made->close();
            mine->failure = std::make_exception_ptr(keel::error(error_kind::closed, "closed while connecting"));
        } else if (made && made->open()) {
            adopt(made);
        } else if (made) {
            std::string why = made->cause().empty() ? "connection closed" : made->cause();
            mine->failure = std::make_exception_ptr(keel::error(error_kind::closed, why));
        }
        mine->done.set();
        if (cancelled_by_caller) throw cancelled();
        if (mine->failure) std::rethrow_exception(mine->failure);
        co_return;
    }
}

void client_engine::adopt(const session_ptr& s) {
    // Here as well as in session_ended: the previous session may end after this.
    cache.clear();
    tools.clear();
    current_ = s;
    s->adopted = true;
    was_connected_ = true;
    connected_.store(true, std::memory_order_release);
    if (auto waiting = restart_) waiting->pause_over.set();
}

void client_engine::session_begun(const session_ptr& s) {
    std::erase_if(sessions_, [](const std::weak_ptr<client_session>& each) { return each.expired(); });
    sessions_.push_back(s);
    s->closings = attempt_ ? attempt_->closings : closings_;
}

void client_engine::abandon() noexcept {
    for (const auto& each : std::exchange(sessions_, {})) {
        if (auto s = each.lock()) s->abandon();
    }
    current_.reset();
}

void client_engine::connection_lost(const client_session& which) noexcept {
    if (current_.get() == &which) connected_.store(false, std::memory_order_release);
}

void client_engine::session_ended(client_session& which, const std::string& cause) {
    if (!which.adopted) return;
    if (current_.get() == &which) {
        last_cause_ = cause;
        // The server may change its lists while there is no connection to report it.
        cache.clear();
        tools.clear();
    }
    if (!options.on_disconnected) return;
    disconnection how;
    how.cause = cause;
    how.will_restart = !closed_ && !which.closing() && options.restart.attempts > failed_restarts_;
    catch_and_log("the on_disconnected callback", [&] { options.on_disconnected(how); });
}

task<void> client_engine::close() {
    auto self = shared_from_this();
    closed_ = true;
    const std::uint64_t mine = ++closings_;
    connect_stop_.request_stop();
    if (auto waiting = restart_) waiting->pause_over.set();
    if (auto running = attempt_) co_await running->done;
    // Also sessions that were never adopted: their child processes may still be running.
    std::vector<session_ptr> all;
    for (const auto& each : sessions_) {
        // Not sessions of a connect() that started after this close().
        if (auto s = each.lock(); s && s->closings < mine) all.push_back(std::move(s));
    }
    for (const session_ptr& s : all) s->close();
    for (const session_ptr& s : all) co_await s->end_reported;
    if (current_ && current_->over.is_set()) current_ = nullptr;
}

void client_engine::throw_not_connected() const {
    if (!was_connected_) throw keel::error(error_kind::closed, "not connected: call connect() first");
    std::string why = "no longer connected";
    if (!last_cause_.empty()) why += ": " + last_cause_;
    throw keel::error(error_kind::closed, why);
}

client_engine::session_ptr client_engine::in_use() const noexcept {
    return current_ && current_->open() ? current_ : nullptr;
}

task<client_engine::session_ptr> client_engine::ready(time_point due) {
    if (session_ptr s = in_use()) co_return s;
    auto self = shared_from_this();
    duration left = due == time_point::max() ? duration::max() : due - on->now();
    async::timed_run<session_ptr> run(connected_again(), left, {});
    try {
        co_return co_await run;
    } catch (const cancelled&) {
        if (run.reason() != async::abandon_reason::timeout) throw;
    }
    throw keel::error(error_kind::timed_out, "timed out while connecting to " + where->describe());
}

/// Waits for a connect or restart in progress. If there is none and the restart policy allows it, restarts.
task<client_engine::session_ptr> client_engine::connected_again() {
    auto self = shared_from_this();
    const std::uint64_t since = closings_;
    std::exception_ptr failure;
    for (;;) {
        if (session_ptr s = in_use()) co_return s;
        bool closed = closed_ || closings_ != since;
        if (auto other = restart_ ? restart_ : attempt_; other && !closed) {
            co_await other->done;
            failure = other->closings == since ? other->failure : nullptr;
            continue;
        }
        if (closed || !was_connected_ || failed_restarts_ >= options.restart.attempts) {
            if (failure) std::rethrow_exception(failure);
            throw_not_connected();
        }
        failure = co_await restart_once();
    }
}

task<std::exception_ptr> client_engine::restart_once() {
    auto self = shared_from_this();
    auto mine = std::make_shared<attempt>(closings_);
    restart_ = mine;
    bool counted = false;
    bool cancelled_by_caller = false;
    try {
        if (duration left = restart_at_ - on->now(); left > duration::zero()) {
            co_await async::completes_within(left, attempt::pause(mine));
        }
        if (closings_ == mine->closings && !in_use()) {
            ++failed_restarts_;
            counted = true;
            co_await connect_once();
        }
    } catch (const cancelled&) {
        cancelled_by_caller = true;
    } catch (const std::exception&) {
        mine->failure = std::current_exception();
    }
    restart_ = nullptr;
    if (counted && cancelled_by_caller) {
        if (failed_restarts_ > 0) --failed_restarts_;  // the outcome is unknown, so it does not count
    } else if (counted && failed_restarts_ > 0) {
        constexpr duration longest = std::chrono::seconds(30);
        duration wait = options.restart.first_wait;
        for (unsigned i = 1; i < failed_restarts_ && wait < longest; ++i) wait *= 2;
        restart_at_ = after(on->now(), std::min(wait, longest));
    }
    mine->done.set();
    if (cancelled_by_caller) throw cancelled();
    co_return mine->failure;
}

// Called when the server has answered or connect() has succeeded: earlier failures no longer count.
void client_engine::reset_restarts() noexcept {
    failed_restarts_ = 0;
    restart_at_ = {};
}

async::worker_pool& client_engine::workers() {
    if (!workers_) workers_ = std::make_unique<async::worker_pool>(options.worker_threads);
    return *workers_;
}

}  // namespace keel::detail
