#pragma once

// A task that runs on another loop than the one it is awaited on.

#include <keel/async.hpp>
#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace keel {

namespace detail {

template <class T>
class elsewhere final : public wait {
public:
    elsewhere(std::shared_ptr<loop> there, task<T> work)
        : state_(std::make_shared<state>(std::move(there), std::move(work))) {}
    ~elsewhere() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        state_->home = &current().loop();
        state_->waiting = this;
        state& s = *state_;
        // Dropped unrun, when the loop ends, it is over as well.
        if (s.there->post([start = std::make_shared<starter>(state_)] { start->run(); })) return true;
        state_->waiting = nullptr;
        leave();
        return false;
    }
    T await_resume() {
        state_->waiting = nullptr;
        if (!state_->result) throw cancelled();  // that loop has ended
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
        loop* home = nullptr;
        task<T> work;
        activity line;
        std::optional<outcome<T>> result;
        elsewhere* waiting = nullptr;  // on the loop at home
    };
    struct starter {
        explicit starter(std::shared_ptr<state> s) noexcept : held(std::move(s)) {}
        starter(const starter&) = delete;
        starter& operator=(const starter&) = delete;
        ~starter() {
            if (held) come_home(std::move(held));
        }
        void run() {
            auto s = std::exchange(held, nullptr);
            detail::start(s->line, std::move(s->work), [s](outcome<T> o) {
                s->result.emplace(std::move(o));
                come_home(s);
            });
        }
        std::shared_ptr<state> held;
    };
    static void come_home(std::shared_ptr<state> s) {
        loop* home = s->home;
        auto go_on = [s] {
            if (s->waiting) s->waiting->resume();
        };
        // The loop at home has ended: nobody else touches the coroutine any more, and nobody else would free it.
        if (!home->post(go_on)) go_on();
    }

    void interrupt() noexcept override {
        state_->there->post([s = state_] { s->line.stop(); });
    }

    std::shared_ptr<state> state_;
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
