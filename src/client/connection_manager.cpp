#include "client/connection_manager.hpp"

#include "async/duration_text.hpp"
#include "async/start_task.hpp"
#include "async/timeout.hpp"
#include "client/client_environment.hpp"
#include "client/client_session.hpp"
#include "client/response_cache.hpp"
#include "client/shared_state.hpp"
#include "client/tool_catalog.hpp"

#include <algorithm>
#include <system_error>

namespace keel::inline KEEL_ABI::client_side {

/// A connect in progress. Concurrent callers wait for its outcome.
struct connection_manager::attempt {
    explicit attempt(std::uint64_t c) noexcept : closings(c) {}
    const std::uint64_t closings;  // value of closings_ when it began
    event pause_over;              // ends the delay before a restart early
    event done;
    std::exception_ptr failure;  // null and not connected: the caller was cancelled, so the next waiter tries

    static task<void> pause(std::shared_ptr<attempt> self) { co_await self->pause_over; }
};

connection_manager::connection_manager(const client_environment& environment, shared_state& shared,
                                       response_cache& cache, tool_catalog& tools, session_user& user)
    : environment_(environment), shared_(shared), cache_(cache), tools_(tools), user_(user),
      handshake_(environment, shared), backoff_(environment.options.restart) {}

connection_manager::~connection_manager() = default;

// ---- connecting ----

task<void> connection_manager::connect() {
    auto held = environment_.shared_from_this();
    if (phase_ == phase::ended) throw_not_connected();
    if (phase_ == phase::closed) {
        phase_ = phase::usable;
        connect_stop_ = std::stop_source();
    }
    co_await connect_once();
    backoff_.reset();
}

task<void> connection_manager::connect_once() {
    auto held = environment_.shared_from_this();
    const std::uint64_t since = closings_;
    for (;;) {
        if (in_use()) co_return;
        if (closings_ != since) throw keel::error(error_kind::closed, "closed while connecting");
        if (phase_ != phase::usable) throw_not_connected();
        if (auto other = attempt_) {
            co_await other->done;
            // An attempt that a close() had already stopped does not count for this caller.
            if (other->failure && other->closings == since) std::rethrow_exception(other->failure);
            continue;
        }
        auto mine = std::make_shared<attempt>(since);
        attempt_ = mine;
        async::timed_run<session_ptr> run(open(), environment_.options.connect_timeout, connect_stop_.get_token());
        session_ptr made;
        bool cancelled_by_caller = false;
        try {
            made = co_await run;
        } catch (const cancelled&) {
            if (run.reason() == async::abandon_reason::timeout) {
                keel::error late(error_kind::timed_out, environment_.where->describe() + ": no handshake within " +
                                                            async::duration_text(environment_.options.connect_timeout) +
                                                            " (client_options::connect_timeout)");
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

void connection_manager::adopt(const session_ptr& s) {
    // Here as well as in session_ended: the previous session may end after this.
    cache_.clear();
    tools_.clear();
    current_ = s;
    s->adopted = true;
    if (!last_cause_) last_cause_.emplace();
    shared_.set_connected(true);
    if (auto waiting = restart_) waiting->pause_over.set();
}

void connection_manager::throw_not_connected() const {
    if (!last_cause_) throw keel::error(error_kind::closed, "not connected: call connect() first");
    std::string why = "no longer connected";
    if (!last_cause_->empty()) why += ": " + *last_cause_;
    throw keel::error(error_kind::closed, why);
}

// ---- waiting for a connection ----

session_ptr connection_manager::in_use() const noexcept { return current_ && current_->open() ? current_ : nullptr; }

task<session_ptr> connection_manager::ready(time_point due) {
    if (session_ptr s = in_use()) co_return s;
    auto held = environment_.shared_from_this();
    duration left = due == time_point::max() ? duration::max() : due - environment_.on->now();
    async::timed_run<session_ptr> run(connected_again(), left, {});
    try {
        co_return co_await run;
    } catch (const cancelled&) {
        if (run.reason() != async::abandon_reason::timeout) throw;
    }
    co_return nullptr;
}

std::string connection_manager::server_name() const {
    const std::string name = shared_.facts().about.name;
    return name.empty() ? environment_.where->describe() : rpc::printable(name, 100);
}

/// Waits for a connect or restart in progress. If there is none and the restart policy allows it, restarts.
task<session_ptr> connection_manager::connected_again() {
    auto held = environment_.shared_from_this();
    const std::uint64_t since = closings_;
    std::exception_ptr failure;
    for (;;) {
        if (session_ptr s = in_use()) co_return s;
        bool closed = phase_ != phase::usable || closings_ != since;
        if (auto other = restart_ ? restart_ : attempt_; other && !closed) {
            co_await other->done;
            failure = other->closings == since ? other->failure : nullptr;
            continue;
        }
        if (closed || !last_cause_ || !backoff_.allows_restart()) {
            if (failure) std::rethrow_exception(failure);
            throw_not_connected();
        }
        failure = co_await restart_once();
    }
}

task<std::exception_ptr> connection_manager::restart_once() {
    auto held = environment_.shared_from_this();
    auto mine = std::make_shared<attempt>(closings_);
    restart_ = mine;
    bool counted = false;
    bool cancelled_by_caller = false;
    try {
        if (duration left = backoff_.next_at() - environment_.on->now(); left > duration::zero()) {
            co_await async::completes_within(left, attempt::pause(mine));
        }
        if (closings_ == mine->closings && !in_use()) {
            backoff_.restart_began();
            counted = true;
            co_await connect_once();
        }
    } catch (const cancelled&) {
        cancelled_by_caller = true;
    } catch (const std::exception&) {
        mine->failure = std::current_exception();
    }
    restart_ = nullptr;
    if (counted && cancelled_by_caller) backoff_.restart_cancelled();
    else if (counted) backoff_.restart_ended(environment_.on->now());
    mine->done.set();
    if (cancelled_by_caller) throw cancelled();
    co_return mine->failure;
}

// ---- sessions ----

task<session_ptr> connection_manager::open() {
    auto held = environment_.shared_from_this();
    session_ptr tried;
    std::optional<std::string> loss;
    const handshake::session_starter start = [this] { return start_session(); };
    try {
        co_return co_await handshake_.open(start, tried);
    } catch (const keel::error& e) {
        if (e.kind() != error_kind::closed || !tried) throw;
        loss = e.what();
    }
    std::string why = co_await describe_loss(tried, std::move(*loss), environment_.options.limits.child_exit);
    throw keel::error(error_kind::closed, why);
}

task<session_ptr> connection_manager::start_session() {
    link_settings how;
    how.limits = environment_.options.limits;
    how.client_name = environment_.options.about.name;
    how.client_version = environment_.options.about.version;
    how.on_stderr = [weak = environment_.weak_from_this()](std::string_view text) {
        auto self = weak.lock();
        if (!self || !self->options.on_stderr) return;
        self->catch_and_log("the on_stderr callback", [&] { self->options.on_stderr(text); });
    };
    how.report = [weak = environment_.weak_from_this()](std::string_view text) {
        if (auto self = weak.lock()) self->log(log_level::warning, text);
    };
    std::unique_ptr<link> via;
    try {
        via = co_await environment_.where->connect(environment_.on, std::move(how));
    } catch (const std::system_error& e) {
        throw keel::error(error_kind::unavailable, e.what());
    }
    // Its user is a part of the client, so the session owns the whole client.
    std::shared_ptr<session_user> user(environment_.shared_from_this(), &user_);
    auto s = std::make_shared<client_session>(std::move(user), environment_, shared_, std::move(via));
    std::erase_if(sessions_, [](const std::weak_ptr<client_session>& each) { return each.expired(); });
    sessions_.push_back(s);
    s->closings = attempt_ ? attempt_->closings : closings_;
    s->start();
    co_return s;
}

void connection_manager::connection_lost(const client_session& which) noexcept {
    if (current_.get() == &which) shared_.set_connected(false);
}

void connection_manager::session_ended(client_session& which, const std::string& cause) {
    if (!which.adopted) return;
    if (current_.get() == &which) {
        last_cause_ = cause;
        // The server may change its lists while there is no connection to report it.
        cache_.clear();
        tools_.clear();
    }
    if (!environment_.options.on_disconnected) return;
    disconnection how;
    how.cause = cause;
    how.will_restart = phase_ == phase::usable && !which.closing() && backoff_.allows_restart();
    environment_.catch_and_log("the on_disconnected callback", [&] { environment_.options.on_disconnected(how); });
}

// HTTP, revisions before 2026-07-28: the HTTP session has expired (D18).
void connection_manager::renew_session(session_ptr which) {
    auto ended = [this, held = environment_.shared_from_this(), which](detail::outcome<void> o) {
        bool worked = o.index() == 1;
        if (!worked) {
            try {
                std::rethrow_exception(std::get<0>(o));
            } catch (const std::exception& e) {
                held->log(log_level::error, std::string("could not open a new session: ") + e.what());
            }
        }
        cache_.clear();
        if (worked) tools_.clear();
        which->via().session_renewed(worked);
        if (worked) handshake_.restore_level(which);
        if (worked && held->options.on_session_renewed) {
            held->catch_and_log("the on_session_renewed callback", [&] { held->options.on_session_renewed(); });
        }
    };
    async::start_task(*environment_.on, handshake_.initialize(which), std::move(ended));
}

// ---- the end ----

task<void> connection_manager::close() {
    auto held = environment_.shared_from_this();
    if (phase_ == phase::usable) phase_ = phase::closed;
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

void connection_manager::abandon() noexcept {
    for (const auto& each : std::exchange(sessions_, {})) {
        if (auto s = each.lock()) s->abandon();
    }
    current_.reset();
}

}  // namespace keel::client_side
