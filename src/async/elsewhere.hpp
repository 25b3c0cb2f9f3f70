#pragma once

// A task that runs on another loop than the one it is awaited on.

#include "async/loop_end.hpp"

#include <keel/async.hpp>
#include <keel/error.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI {

namespace detail {

/// Either loop may end under it. The wait ends with either: with keel::error (closed) when the task's loop has ended, with
/// keel::cancelled when its own has.
template <class T>
class elsewhere final : public wait {
public:
    elsewhere(std::shared_ptr<loop> there, task<T> work)
        : state_(std::make_shared<state>(std::move(there), std::move(work))) {}
    ~elsewhere() { state_->waiting = nullptr; }

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
            auto begin_there = [mine = std::make_shared<errand>(s)] { errand::run(mine); };
            if (!home_ended_ && s->there->post(std::move(begin_there))) return true;
        } catch (...) {  // no memory: thrown by the wait
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
            throw keel::error(error_kind::closed, "the loop that this was to be done on has ended");
        }
        if (state_->result->index() == 0) std::rethrow_exception(std::get<0>(std::move(*state_->result)));
        // Cancelled while the result was on its way: that is not lost, and the next wait throws.
        if (interrupted()) current().nudge();
        if constexpr (!std::is_void_v<T>) return std::get<1>(std::move(*state_->result));
    }

private:
    // Whoever waits and the task are on two threads; what is here is handed from one to the other by posting.
    struct state {
        state(std::shared_ptr<loop> l, task<T> w) : there(std::move(l)), work(std::move(w)), line(*there) {}
        std::shared_ptr<loop> there;
        loop_handle home;
        task<T> work;
        activity line;
        std::optional<outcome<T>> result;
        bool over = false;             // on the other loop: it has come home
        loop::timer over_there = 0;    // of the errand
        elsewhere* waiting = nullptr;  // on the loop at home
        loop::timer at_home = 0;
    };

    /// In the hands of the other loop from the beginning to the end of the task: in its queue first, then until it ends. A loop
    /// that drops it has ended, and then nothing else will come of the task.
    struct errand {
        explicit errand(std::shared_ptr<state> s) noexcept : held(std::move(s)) {}
        errand(const errand&) = delete;
        errand& operator=(const errand&) = delete;
        ~errand() {
            if (!std::exchange(held->over, true)) come_home(std::move(held));
        }
        static void run(const std::shared_ptr<errand>& self) {
            auto s = self->held;
            s->over_there = keep_until_end(*s->there, self);
            detail::start(s->line, std::move(s->work), [s](outcome<T> o) {
                // Abandoned by its loop, and gone on all the same: those who waited have been told.
                if (std::exchange(s->over, true)) return;
                s->result.emplace(std::move(o));
                s->there->stop_timer(s->over_there);
                come_home(s);
            });
        }
        std::shared_ptr<state> held;
    };
    /// The same at home.
    struct watch_at_home {
        explicit watch_at_home(std::shared_ptr<state> s) noexcept : held(std::move(s)) {}
        watch_at_home(const watch_at_home&) = delete;
        watch_at_home& operator=(const watch_at_home&) = delete;
        ~watch_at_home() {
            if (held->waiting) held->waiting->end_with_home();
        }
        std::shared_ptr<state> held;
    };

    static void come_home(std::shared_ptr<state> s) {
        loop_handle home = s->home;
        // Refused, or dropped unrun: that loop has ended, and whoever waited there has gone with it.
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
        state_->at_home = 0;  // being dropped
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

}  // namespace detail

/// Runs a task on `there` and goes on here. Where both are the same it is a plain await.
/// Cancellation: the task is cancelled; this ends when it has.
template <class T>
task<T> run_on(std::shared_ptr<loop> there, task<T> work) {
    detail::activity& here = co_await detail::this_activity{};
    if (&here.loop() == there.get()) co_return co_await std::move(work);
    detail::elsewhere<T> other(std::move(there), std::move(work));
    co_return co_await other;
}

}  // namespace keel
