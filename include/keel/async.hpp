#pragma once

// What a task can await: a timer, a turn of the loop, an event, and several tasks that run concurrently.

#include <keel/task.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

namespace keel::inline KEEL_ABI {

/// Suspends the task for a duration: `co_await keel::sleep_for(100ms);`
/// Cancellation: throws keel::cancelled at once.
class [[nodiscard]] KEEL_API sleep_for final : public detail::wait {
public:
    explicit sleep_for(duration d) noexcept : duration_(d) {}
    ~sleep_for() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        arm();
        return true;
    }
    void await_resume() const { check(); }

private:
    void arm();
    void interrupt() noexcept override;

    duration duration_;
    loop::timer timer_ = 0;
};

/// Lets other work that is ready run first: `co_await keel::yield();`. Long computations should do this from time to time.
/// Cancellation: throws keel::cancelled.
class [[nodiscard]] KEEL_API yield final : public detail::wait {
public:
    yield() = default;
    ~yield() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        arm();
        return true;
    }
    void await_resume() const { check(); }

private:
    void arm();
    void interrupt() noexcept override;
};

/// A one-shot event that any number of tasks of one loop can await. Not thread-safe: use it on that loop only.
/// Cancellation: a cancelled waiter is removed and throws keel::cancelled.
class KEEL_API event {
public:
    event() = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    /// No task may be waiting. A task that set() resumed may destroy the event.
    ~event() {
        if (destroyed_) *destroyed_ = true;
    }

    bool is_set() const noexcept { return set_; }
    /// Resumes all waiting tasks, in the order in which they began to wait, before it returns.
    void set();

    class [[nodiscard]] waiter final : public detail::wait {
    public:
        explicit waiter(event& e) noexcept : event_(&e) {}
        ~waiter() = default;
        bool await_ready() const noexcept { return event_->set_; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> h) {
            if (!begin(h)) return false;
            event_->add(*this);
            return true;
        }
        void await_resume() const { check(); }

    private:
        friend class event;
        void interrupt() noexcept override;
        event* event_;
        waiter* next_ = nullptr;
        waiter* previous_ = nullptr;
    };

    waiter operator co_await() noexcept { return waiter(*this); }

private:
    void add(waiter&) noexcept;
    void remove(waiter&) noexcept;

    waiter* first_ = nullptr;
    waiter* last_ = nullptr;
    bool set_ = false;
    bool* destroyed_ = nullptr;  // while set is on the stack
};

/// A group of tasks that run concurrently on one loop and end before the scope does. Created by with_scope.
class KEEL_API scope {
public:
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

    /// Starts a task immediately. If it fails, the other tasks are cancelled immediately, and the body of the scope in a later
    /// turn of the loop. A task that is spawned after a failure or after stop() starts cancelled.
    void spawn(task<void> work);
    /// Cancels all tasks of the scope.
    void stop() noexcept;
    std::size_t running() const noexcept { return running_; }

private:
    template <class Body>
    friend task<void> with_scope(Body body);

    struct child;
    class joiner;

    explicit scope(detail::activity& parent) noexcept;
    ~scope();

    void ended(child& c, std::exception_ptr failure);
    void nudge_body();
    void leave(std::exception_ptr failure) noexcept;  // the body has failed
    void throw_failure();
    void sweep();
    void wake_joiner();
    bool busy() const noexcept { return running_ != 0 || nudge_posted_; }
    task<void> join();

    detail::activity& parent_;
    std::vector<std::unique_ptr<child>> children_;
    std::size_t running_ = 0;
    std::exception_ptr failure_;
    joiner* joiner_ = nullptr;
    bool body_left_ = false;
    bool stopping_ = false;
    bool nudge_posted_ = false;  // the scope cannot end before that turn
    bool nudged_ = false;
    bool interrupted_ = false;  // cancelled while joining
};

namespace detail {
/// `detail::activity& a = co_await detail::this_activity{};`
struct this_activity {
    activity* found = nullptr;
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
        found = h.promise().current;
        return false;
    }
    activity& await_resume() const noexcept { return *found; }
};
}  // namespace detail

/// Runs the coroutine `body(scope&)` and all tasks that it spawns, and returns when all of them have ended. Throws the first
/// exception, after the other tasks were cancelled and have ended.
/// Cancellation: cancels the body and all tasks, and waits for them to end.
template <class Body>
task<void> with_scope(Body body) {
    detail::activity& here = co_await detail::this_activity{};
    scope s(here);
    try {
        co_await body(s);
    } catch (...) {  // thrown again below, after the children have ended
        s.leave(std::current_exception());
    }
    co_await s.join();
    s.throw_failure();
}

}  // namespace keel
