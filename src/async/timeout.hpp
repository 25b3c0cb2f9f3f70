#pragma once

// Running a task with a timeout and a stop token.

#include "async/loop_handle.hpp"

#include <keel/async.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace keel::inline KEEL_ABI::async {

/// Why a timed_run cancelled its task.
enum class abandon_reason : unsigned char { none, timeout, stop_token };

/// Runs a task as a child of the task that awaits it, and cancels it after `timeout` or when the stop token is triggered.
template <class T>
class timed_run final : public detail::wait {
public:
    timed_run(task<T> work, duration timeout, std::stop_token stop)
        : work_(std::move(work)), timeout_(timeout), stop_(std::move(stop)) {}
    ~timed_run() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        loop& on = current().loop();
        state_ = std::make_shared<state>(on, current());
        auto s = state_;
        s->waiting = this;
        s->timer = start_timer_after(on, timeout_, [s] { s->abandon(abandon_reason::timeout); });
        detail::start(*s->line, std::move(work_), [s](detail::outcome<T> o) {
            s->result.emplace(std::move(o));
            s->line->finish();
            s->stop_watching();
            loop& home = s->line->loop();
            bool being_stopped = s->line->stopped();
            // Leave the tree of activities before the parent resumes: it may end, on another thread, while this is on the stack.
            s->line.reset();
            if (s->inside) return;
            auto resume_parent = [s] {
                if (s->waiting) s->waiting->resume();
            };
            // activity::stop is on the stack and continues with the parent: let it return first.
            if (being_stopped) home.post(resume_parent);
            else resume_parent();
        });
        s->inside = false;
        if (s->result) {
            leave();
            return false;
        }
        if (stop_.stop_possible()) {
            s->watch.emplace(stop_, [weak = std::weak_ptr(s), l = loop_handle(on)] {
                l.post([weak] {
                    if (auto held = weak.lock()) held->abandon(abandon_reason::stop_token);
                });
            });
        }
        return true;
    }
    /// Returns the result of the task or throws its exception, also after a timeout; `reason` tells whether it was cancelled.
    T await_resume() {
        if (!state_) check();  // cancelled before the task started
        state_->waiting = nullptr;
        if (state_->result->index() == 0) std::rethrow_exception(std::get<0>(std::move(*state_->result)));
        // Cancelled, but the task has a result: return it, and let the next wait throw.
        if (interrupted()) current().nudge();
        if constexpr (!std::is_void_v<T>) return std::get<1>(std::move(*state_->result));
    }
    abandon_reason reason() const noexcept { return state_ ? state_->reason : abandon_reason::none; }

private:
    struct state {
        state(loop& on, detail::activity& parent) : line(std::in_place, on, &parent) {}
        std::optional<detail::activity> line;  // empty after the task has ended
        std::optional<detail::outcome<T>> result;
        timed_run* waiting = nullptr;
        loop::timer timer = 0;
        std::optional<std::stop_callback<std::function<void()>>> watch;
        abandon_reason reason = abandon_reason::none;
        bool inside = true;

        void abandon(abandon_reason why) {
            if (result || reason != abandon_reason::none) return;
            reason = why;
            line->stop();
        }
        void stop_watching() {
            line->loop().stop_timer(timer);
            watch.reset();
        }
    };

    // The tree of activities has cancelled the child already. When the child ends, so does this wait.
    void interrupt() noexcept override {}

    task<T> work_;
    duration timeout_;
    std::stop_token stop_;
    std::shared_ptr<state> state_;
};

/// Returns true if the task has ended within `timeout`, false if it was cancelled then.
inline task<bool> completes_within(duration timeout, task<void> work) {
    timed_run<void> run(std::move(work), timeout, {});
    try {
        co_await run;
        co_return true;
    } catch (const cancelled&) {
        if (run.reason() != abandon_reason::timeout) throw;
    }
    co_return false;
}

}  // namespace keel::async
