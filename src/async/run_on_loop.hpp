#pragma once

// Awaiting a task that runs on another loop.

#include "async/loop_handle.hpp"

#include <keel/async.hpp>
#include <keel/error.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI::async {

/// The wait of run_on_loop. If the task's loop ends first, it throws keel::error (closed); if the loop of the waiting task ends
/// first, it throws keel::cancelled.
template <class T>
class remote_run final : public detail::wait {
public:
    remote_run(std::shared_ptr<loop> there, task<T> work)
        : state_(std::make_shared<state>(std::move(there), std::move(work))) {}
    ~remote_run() { state_->waiting = nullptr; }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        auto s = state_;
        loop& here = current().loop();
        try {
            s->home = loop_handle(here);
            s->at_home = keep_until_end(here, std::make_shared<watch_at_home>(s));
            home_ended_ = s->at_home == 0;
            s->waiting = this;
            auto begin_there = [mine = std::make_shared<remote_job>(s)] { remote_job::run(mine); };
            if (!home_ended_ && s->there->post(std::move(begin_there))) return true;
        } catch (...) {  // out of memory: the await expression throws it
            let_go();
            leave();
            throw;
        }
        let_go();
        leave();
        return false;
    }
    T await_resume() {
        let_go();
        if (!arrived_ || !state_->result) {
            if (interrupted() || home_ended_) throw cancelled();
            throw keel::error(error_kind::closed, "the loop of the awaited task has ended");
        }
        if (state_->result->index() == 0) std::rethrow_exception(std::get<0>(std::move(*state_->result)));
        // Cancelled, but the result has arrived: return it, and let the next wait throw.
        if (interrupted()) current().nudge();
        if constexpr (!std::is_void_v<T>) return std::get<1>(std::move(*state_->result));
    }

private:
    // The waiting task and the remote task are on two threads. They hand this state to each other by posting, so it needs no lock.
    struct state {
        state(std::shared_ptr<loop> l, task<T> w) : there(std::move(l)), work(std::move(w)), line(*there) {}
        std::shared_ptr<loop> there;
        loop_handle home;
        task<T> work;
        detail::activity line;
        std::optional<detail::outcome<T>> result;
        bool over = false;              // remote loop: the end was reported to the home loop
        loop::timer over_there = 0;     // remote loop: owns the remote_job
        remote_run* waiting = nullptr;  // home loop
        loop::timer at_home = 0;        // home loop: owns the watch_at_home
    };

    /// Owned by the remote loop until the task ends: first by its queue, then by a timer (keep_until_end). If the loop destroys it
    /// earlier, the loop has ended and the task will never finish.
    struct remote_job {
        explicit remote_job(std::shared_ptr<state> s) noexcept : held(std::move(s)) {}
        remote_job(const remote_job&) = delete;
        remote_job& operator=(const remote_job&) = delete;
        ~remote_job() {
            if (!std::exchange(held->over, true)) report_end(std::move(held));
        }
        static void run(const std::shared_ptr<remote_job>& self) {
            auto s = self->held;
            s->over_there = keep_until_end(*s->there, self);
            detail::start(s->line, std::move(s->work), [s](detail::outcome<T> o) {
                // The task went on after its loop had ended: the end was already reported.
                if (std::exchange(s->over, true)) return;
                s->result.emplace(std::move(o));
                s->there->stop_timer(s->over_there);
                report_end(s);
            });
        }
        std::shared_ptr<state> held;
    };
    /// The same for the home loop.
    struct watch_at_home {
        explicit watch_at_home(std::shared_ptr<state> s) noexcept : held(std::move(s)) {}
        watch_at_home(const watch_at_home&) = delete;
        watch_at_home& operator=(const watch_at_home&) = delete;
        ~watch_at_home() {
            if (held->waiting) held->waiting->end_with_home();
        }
        std::shared_ptr<state> held;
    };

    static void report_end(std::shared_ptr<state> s) {
        loop_handle home = s->home;
        // If the home loop has ended, it drops this; the waiting task has ended with it.
        home.post([s] {
            if (s->waiting) s->waiting->arrive();
        });
    }

    void arrive() {
        arrived_ = true;
        resume();
    }
    void end_with_home() {
        home_ended_ = true;
        state_->at_home = 0;  // its timer is being destroyed
        if (!interrupted()) interrupt();
        let_go();
        resume();
    }
    void let_go() noexcept {
        state_->waiting = nullptr;
        if (loop::timer t = std::exchange(state_->at_home, 0)) current().loop().stop_timer(t);
    }
    void interrupt() noexcept override {
        state_->there->post([weak = std::weak_ptr(state_)] {
            if (auto s = weak.lock()) s->line.stop();
        });
    }

    std::shared_ptr<state> state_;
    bool arrived_ = false;
    bool home_ended_ = false;
};

/// Runs a task on the loop `there` and resumes the caller on its own loop. If both loops are the same, this is a plain await.
/// Cancellation: the task is cancelled, and this returns when the task has ended.
template <class T>
task<T> run_on_loop(std::shared_ptr<loop> there, task<T> work) {
    detail::activity& here = co_await detail::this_activity{};
    if (&here.loop() == there.get()) co_return co_await std::move(work);
    remote_run<T> other(std::move(there), std::move(work));
    co_return co_await other;
}

}  // namespace keel::async
