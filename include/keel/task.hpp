#pragma once

// Coroutines: task<T>, and how cancellation works.
//
// A task is lazy: it starts when it is awaited. A root task and all tasks that it awaits form an activity, which belongs to one
// loop. Cancelling an activity makes its pending await throw keel::cancelled, once. Cleanup code that runs during the unwinding
// may await again; those awaits are not interrupted.
//
// Not thread-safe: use an activity on its loop only.

#include <keel/loop.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

namespace keel::inline KEEL_ABI {

/// Thrown by the pending await when a task is cancelled. Do not swallow it: let it propagate.
class KEEL_API cancelled : public std::exception {
public:
    const char* what() const noexcept override;
};

namespace detail {

KEEL_API void* allocate_frame(std::size_t bytes);
KEEL_API void free_frame(void* frame, std::size_t bytes) noexcept;

/// g++ 12 destroys temporaries of aggregates and lambdas with non-trivial members twice if a co_await is in the same expression.
/// Functions that are used there take `T&&` and refuse such a temporary; T is an lvalue reference if the argument has a name.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
template <class T>
inline constexpr bool may_be_awaited = std::is_lvalue_reference_v<T> || std::is_trivially_destructible_v<T> ||
                                       !(std::is_aggregate_v<T> || requires { &T::operator(); });
#else
template <class T>
inline constexpr bool may_be_awaited = true;
#endif

class activity;

/// What a coroutine waits for, as seen by the watcher of its activity.
enum class waits_for : unsigned char {
    something,
    children,  // the tasks of a scope
    watcher,   // something that only the activity's watcher provides
};

/// Is notified of every wait that begins in an activity and of every child that ends. Extension point for code that must know
/// when a handler cannot continue without it.
class KEEL_API activity_watcher {
public:
    virtual void on_wait() noexcept = 0;

protected:
    ~activity_watcher() = default;
};

/// Is told when an activity stops running on its loop and when it continues. For code that measures how long it runs.
class KEEL_API activity_monitor {
public:
    /// A wait begins. May be called without on_resume in between.
    virtual void on_suspend() noexcept = 0;
    virtual void on_resume() noexcept = 0;

protected:
    ~activity_monitor() = default;
};

/// The threads for on_worker.
class KEEL_API work_executor {
public:
    /// Runs `work` on another thread, or destroys it without running it. Throws keel::error if it cannot accept work.
    virtual void run_on_worker(std::function<void()> work) = 0;

protected:
    ~work_executor() = default;
};

/// Base of the awaitables that suspend an activity: the leaf of a chain of awaits.
class KEEL_API wait {
public:
    explicit wait(waits_for what = waits_for::something) noexcept : what_(what) {}
    wait(const wait&) = delete;
    wait& operator=(const wait&) = delete;

    bool await_ready() const noexcept { return false; }

protected:
    ~wait() = default;

    /// Call first in await_suspend. Returns false if the activity is to be cancelled here: await_suspend must then return false.
    template <class Promise>
    bool begin(std::coroutine_handle<Promise> waiting) noexcept;
    /// Undoes begin, if await_suspend is going to return false after all.
    void leave() noexcept;
    /// Ends the wait and resumes the coroutine, which may destroy *this.
    void resume();
    /// Throws if the wait was interrupted. Call first in await_resume.
    void check() const {
        if (interrupted_) rethrow();
    }
    bool interrupted() const noexcept { return interrupted_; }
    activity& current() const noexcept { return *activity_; }
    /// The wait is over, but the coroutine is not resumed yet.
    void settle() noexcept { what_ = waits_for::something; }

    /// Called when the activity is cancelled. Must call resume, either immediately or when the operation has ended.
    virtual void interrupt() noexcept = 0;
    /// Throws the exception of an interrupted wait.
    [[noreturn]] virtual void rethrow() const;

private:
    friend class activity;
    activity* activity_ = nullptr;
    std::coroutine_handle<> waiting_;
    bool interrupted_ = false;
    waits_for what_;
};

/// A root task and all tasks that it awaits, on one loop. Its owner must keep it until `done` was called (see start below).
class KEEL_API activity {
public:
    explicit activity(keel::loop& loop, activity* parent = nullptr) noexcept;
    activity(const activity&) = delete;
    activity& operator=(const activity&) = delete;
    ~activity();

    keel::loop& loop() const noexcept { return *loop_; }
    bool stopped() const noexcept { return stopped_; }

    /// Cancels the activity and its children: the pending wait throws, or the next one if none is pending. Idempotent.
    void stop() noexcept;
    /// Makes the pending or next wait throw without cancelling the activity.
    void nudge() noexcept;
    /// Undoes a nudge that has not interrupted a wait yet.
    void forget_nudge() noexcept {
        if (!stopped_) interruption_due_ = false;
    }

    /// Sets the watcher of this activity and of all its present and future children.
    void watch(activity_watcher* w) noexcept;
    /// Sets the monitor of this activity and of its future children. It must outlive them or be removed with nullptr.
    void monitor(activity_monitor* m) noexcept { monitor_ = m; }
    /// The threads for on_worker in this activity and its future children; null: the threads of the loop.
    work_executor* executor() const noexcept { return executor_; }
    void set_executor(work_executor* e) noexcept { executor_ = e; }
    /// Between these two calls the activity counts as running, whatever it waits for.
    void expect_nudge() noexcept { ++nudges_expected_; }
    void nudge_came() noexcept { --nudges_expected_; }
    /// The root of the tree of activities.
    const activity& root() const noexcept { return parent_ ? parent_->root() : *this; }
    /// Called when the task has ended.
    void finish() noexcept {
        finished_ = true;
        if (watcher_) watcher_->on_wait();
    }
    /// True if nothing in the tree can continue before the watcher provides what it waits for.
    bool only_awaits_watcher() const noexcept;

private:
    friend class wait;

    keel::loop* loop_;
    wait* waiting_ = nullptr;
    activity_watcher* watcher_ = nullptr;
    activity_monitor* monitor_ = nullptr;
    work_executor* executor_ = nullptr;
    unsigned nudges_expected_ = 0;
    bool stopped_ = false;
    bool interruption_due_ = false;
    bool finished_ = false;

    // The tree of activities: cancelling one cancels its children.
    activity* parent_;
    activity* first_child_ = nullptr;
    activity* next_ = nullptr;
    activity* previous_ = nullptr;
};

struct KEEL_API promise_base {
    activity* current = nullptr;
    std::coroutine_handle<> continuation;

    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }

    std::suspend_always initial_suspend() noexcept { return {}; }

    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
            return finished.promise().continuation;
        }
        void await_resume() const noexcept {}
    };
    final_awaiter final_suspend() noexcept { return {}; }
};

template <class Promise>
bool wait::begin(std::coroutine_handle<Promise> waiting) noexcept {
    static_assert(std::is_base_of_v<promise_base, Promise>,
                  "keel: this can be awaited only in a coroutine that returns keel::task; "
                  "from an Asio coroutine use keel::spawn of keel/asio.hpp");
    activity_ = waiting.promise().current;
    waiting_ = waiting;
    if (activity_->interruption_due_) {
        activity_->interruption_due_ = false;
        interrupted_ = true;
        return false;
    }
    activity_->waiting_ = this;
    if (activity_->watcher_) activity_->watcher_->on_wait();
    if (activity_->monitor_) activity_->monitor_->on_suspend();
    return true;
}

template <class T>
struct task_promise;

template <class T>
struct task_awaiter {
    std::coroutine_handle<task_promise<T>> child;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) const noexcept {
        static_assert(std::is_base_of_v<promise_base, Promise>,
                      "keel: a keel::task can be awaited only in a coroutine that returns keel::task; "
                      "from an Asio coroutine use keel::spawn of keel/asio.hpp");
        child.promise().continuation = parent;
        child.promise().current = parent.promise().current;
        return child;
    }
    T await_resume() const { return child.promise().take(); }
};

}  // namespace detail

/// A lazy coroutine that returns T. Await it once, or pass it to a function that runs tasks (keel::run, scope::spawn).
/// Parameters of the coroutine that are references must stay valid until it ends.
template <class T = void>
class [[nodiscard("keel: a task does nothing until it is awaited")]] task {
public:
    using promise_type = detail::task_promise<T>;
    using value_type = T;

    task() noexcept = default;
    task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    task& operator=(task&& other) noexcept {
        if (this != &other) {
            if (frame_) frame_.destroy();
            frame_ = std::exchange(other.frame_, nullptr);
        }
        return *this;
    }
    ~task() {
        if (frame_) frame_.destroy();
    }

    explicit operator bool() const noexcept { return static_cast<bool>(frame_); }

    detail::task_awaiter<T> operator co_await() && noexcept { return {frame_}; }

private:
    friend detail::task_promise<T>;
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
inline constexpr bool is_task_of = false;
template <class T>
inline constexpr bool is_task_of<task<T>> = true;

template <class T>
struct task_promise : promise_base {
    std::variant<std::monostate, T, std::exception_ptr> outcome;

    task<T> get_return_object() noexcept { return task<T>(std::coroutine_handle<task_promise>::from_promise(*this)); }
    void unhandled_exception() noexcept { outcome.template emplace<2>(std::current_exception()); }
    template <class U>
        requires std::is_convertible_v<U&&, T>
    void return_value(U&& value) {
        outcome.template emplace<1>(std::forward<U>(value));
    }
    T take() {
        if (outcome.index() == 2) std::rethrow_exception(std::get<2>(outcome));
        return std::move(std::get<1>(outcome));
    }
};

template <>
struct task_promise<void> : promise_base {
    std::exception_ptr failure;

    task<void> get_return_object() noexcept {
        return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
    }
    void unhandled_exception() noexcept { failure = std::current_exception(); }
    void return_void() noexcept {}
    void take() {
        if (failure) std::rethrow_exception(failure);
    }
};

/// The coroutine that runs the root task of an activity. Its frame destroys itself at the end.
struct KEEL_API root {
    struct promise_type : promise_base {
        root get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        // `done` must not throw: no caller could handle it.
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
};

template <class T>
using outcome = std::variant<std::exception_ptr, std::conditional_t<std::is_void_v<T>, std::monostate, T>>;

template <class T>
T value_of(outcome<T> r) {
    if (r.index() == 0) std::rethrow_exception(std::get<0>(std::move(r)));
    if constexpr (!std::is_void_v<T>) return std::get<1>(std::move(r));
}

template <class T, class Done>
root run_root(task<T> work, Done done) {
    outcome<T> result;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            result.template emplace<1>();
        } else {
            result.template emplace<1>(co_await std::move(work));
        }
    } catch (...) {  // passed to `done`
        result.template emplace<0>(std::current_exception());
    }
    work = {};  // the frame of the task is destroyed before `done` is called
    done(std::move(result));
}

/// Starts a task as the root of `line`; it runs on this thread until its first wait. `done(outcome<T>)` is called exactly once, on
/// the loop, possibly before start returns. It may destroy the activity and must not throw.
template <class T, class Done>
void start(activity& line, task<T> work, Done done) {
    root r = run_root<T, Done>(std::move(work), std::move(done));
    r.frame.promise().current = &line;
    r.frame.resume();
}

}  // namespace detail

}  // namespace keel
