#pragma once

// A task that is given up after a while, or when a token says so.

#include "async/loop_end.hpp"

#include <keel/async.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace keel::inline KEEL_ABI {

enum class given_up : unsigned char { no, late, stopped };

namespace detail {

/// Runs a task as a child of the one that awaits it.
template <class T>
class bounded_run final : public wait {
public:
    bounded_run(task<T> work, duration bound, std::stop_token stop)
        : work_(std::move(work)), bound_(bound), stop_(std::move(stop)) {}
    ~bounded_run() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        loop& on = current().loop();
        state_ = std::make_shared<state>(on, current());
        auto s = state_;
        s->waiting = this;
        s->timer = start_timer_after(on, bound_, [s] { s->give_up(given_up::late); });
        start(*s->line, std::move(work_), [s](outcome<T> o) {
            s->result.emplace(std::move(o));
            s->line->finish();
            s->stop_watching();
            loop& home = s->line->loop();
            bool being_stopped = s->line->stopped();
            // Out of the tree before anybody goes on: our parent may end, on another thread, while we are still on the stack.
            s->line.reset();
            if (s->inside) return;
            auto go_on = [s] {
                if (s->waiting) s->waiting->resume();
            };
            // Whoever is stopping us at this moment goes on with our parent: let that come to its end first.
            if (being_stopped) home.post(go_on);
            else go_on();
        });
        s->inside = false;
        if (s->result) {
            leave();
            return false;
        }
        if (stop_.stop_possible()) {
            s->watch.emplace(stop_, [weak = std::weak_ptr(s), l = loop_handle(on)] {
                l.post([weak] {
                    if (auto held = weak.lock()) held->give_up(given_up::stopped);
                });
            });
        }
        return true;
    }
    /// `how` tells whether we gave it up; what it threw then is thrown all the same.
    T await_resume() {
        if (!state_) check();  // cancelled before it could begin
        state_->waiting = nullptr;
        if (state_->result->index() == 0) std::rethrow_exception(std::get<0>(std::move(*state_->result)));
        // Cancelled, and the task came to its end all the same: the next wait throws.
        if (interrupted()) current().nudge();
        if constexpr (!std::is_void_v<T>) return std::get<1>(std::move(*state_->result));
    }
    given_up how() const noexcept { return state_ ? state_->how : given_up::no; }

private:
    struct state {
        state(loop& on, activity& parent) : line(std::in_place, on, &parent) {}
        std::optional<activity> line;  // until the task has ended
        std::optional<outcome<T>> result;
        bounded_run* waiting = nullptr;
        loop::timer timer = 0;
        std::optional<std::stop_callback<std::function<void()>>> watch;
        given_up how = given_up::no;
        bool inside = true;

        void give_up(given_up why) {
            if (result || how != given_up::no) return;
            how = why;
            line->stop();
        }
        void stop_watching() {
            line->loop().stop_timer(timer);
            watch.reset();
        }
    };

    // Cancellation has reached the child already, by the tree of activities: it ends, then this does.
    void interrupt() noexcept override {}

    task<T> work_;
    duration bound_;
    std::stop_token stop_;
    std::shared_ptr<state> state_;
};

}  // namespace detail

/// True: the task has ended. False: it was given up after `bound`.
inline task<bool> ended_within(duration bound, task<void> work) {
    detail::bounded_run<void> run(std::move(work), bound, {});
    try {
        co_await run;
        co_return true;
    } catch (const cancelled&) {
        if (run.how() != given_up::late) throw;
    }
    co_return false;
}

}  // namespace keel
