#pragma once

// What a task can await: a timer, a turn of the loop, an event, a function on a worker thread, and several tasks that run
// concurrently.

#include <keel/task.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
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

namespace detail {
template <class Body>
task<void> run_scope(Body body);
}

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
    friend task<void> detail::run_scope(Body body);

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

template <class Body>
task<void> detail::run_scope(Body body) {
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

/// Runs the coroutine `body(scope&)` and all tasks that it spawns, and returns when all of them have ended. Throws the first
/// exception, after the other tasks were cancelled and have ended.
/// Cancellation: cancels the body and all tasks, and waits for them to end.
template <class Body>
task<void> with_scope(Body&& body) {
    static_assert(
        detail::may_be_awaited<Body>,
        "keel: g++ 12 destroys a temporary lambda with captures by copy twice in a co_await: give it a name first");
    return detail::run_scope<std::decay_t<Body>>(std::forward<Body>(body));
}

namespace detail {

/// A function that on_worker runs. Shared by the waiting task and the worker thread.
class KEEL_API worker_job {
public:
    worker_job();
    worker_job(const worker_job&) = delete;
    worker_job& operator=(const worker_job&) = delete;
    virtual ~worker_job();

private:
    friend class worker_wait;
    enum class state : unsigned char { queued, taken, cancelled };  // leaves `queued` once

    /// Calls the function and stores its result.
    virtual void call(const std::stop_token& stop) = 0;
    bool leave_queue(state to) noexcept;

    std::atomic<state> state_{state::queued};
    std::stop_source stop_;
    bool returned_ = false;
    std::exception_ptr failure_;
};

template <class F>
constexpr auto result_on_worker() {
    if constexpr (std::is_invocable_v<F&, const std::stop_token&>) {
        return std::type_identity<std::invoke_result_t<F&, const std::stop_token&>>{};
    } else {
        static_assert(std::is_invocable_v<F&>,
                      "keel: the function passed to on_worker must take no parameters, or a std::stop_token");
        return std::type_identity<std::invoke_result_t<F&>>{};
    }
}
template <class F>
using worker_result = std::remove_cvref_t<typename decltype(result_on_worker<F>())::type>;

template <class T>
using non_void = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class F>
class worker_function final : public worker_job {
public:
    explicit worker_function(F f) : function_(std::move(f)) {}
    std::optional<non_void<worker_result<F>>> result;

private:
    void call(const std::stop_token& stop) override {
        // Destroyed here, on the worker thread, before the task continues.
        F function = std::move(*function_);
        function_.reset();
        if constexpr (!std::is_void_v<worker_result<F>>) {
            result.emplace(run(function, stop));
        } else {
            run(function, stop);
        }
    }
    static decltype(auto) run(F& function, const std::stop_token& stop) {
        if constexpr (std::is_invocable_v<F&, const std::stop_token&>) return function(stop);
        else return function();
    }
    std::optional<F> function_;
};

/// Waits for a worker_job.
class KEEL_API worker_wait final : public wait {
public:
    explicit worker_wait(std::shared_ptr<worker_job> job) noexcept : job_(std::move(job)) {}
    ~worker_wait() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        submit();
        return true;
    }
    void await_resume();

private:
    class arrival;
    void submit();
    void interrupt() noexcept override;

    std::shared_ptr<worker_job> job_;
};

template <class F>
task<worker_result<F>> run_on_worker(F f) {
    using result = worker_result<F>;
    static_assert(!is_task_of<result>,
                  "keel: the function passed to on_worker must not be a coroutine: it would continue on the loop");
    auto job = std::make_shared<worker_function<F>>(std::move(f));
    worker_wait done(job);
    co_await done;
    if constexpr (!std::is_void_v<result>) co_return std::move(*job->result);
}

}  // namespace detail

/// Runs a function that may block on a worker thread and returns its result:
///
///     auto read = [path] { return read_file(path); };
///     std::string text = co_await keel::on_worker(read);
///
/// `f` takes no parameters or a `std::stop_token`. Its result may be move-only; its exception is rethrown here. In a handler of a
/// server the threads are those of the server (server_options::worker_threads), elsewhere those of the loop. Throws keel::error if
/// too many functions wait for a thread.
///
/// Cancellation: if `f` has not started, it never runs, and the await throws keel::cancelled at once. A running function cannot be
/// interrupted: its stop token is set, the await ends when the function returns, and throws keel::cancelled; the result is
/// discarded. If the loop ends meanwhile, the task is resumed on the worker thread with keel::cancelled.
template <class F>
task<detail::worker_result<std::decay_t<F>>> on_worker(F&& f) {
    static_assert(
        detail::may_be_awaited<F>,
        "keel: g++ 12 destroys a temporary lambda with captures by copy twice in a co_await: give it a name first");
    return detail::run_on_worker<std::decay_t<F>>(std::forward<F>(f));
}

/// The result of one task of when_all_settled: a value or an exception.
template <class T>
class settled {
public:
    /// True if the task returned a value.
    explicit operator bool() const noexcept { return outcome_.index() == 1; }
    /// The value. Rethrows the exception of the task if it failed. For tasks without a value it only does the latter.
    std::add_lvalue_reference_t<T> value() {
        if (outcome_.index() != 1) std::rethrow_exception(std::get<0>(outcome_));
        if constexpr (!std::is_void_v<T>) return std::get<1>(outcome_);
    }
    /// The exception of the task; null if it returned a value.
    std::exception_ptr failure() const noexcept {
        return outcome_.index() == 0 ? std::get<0>(outcome_) : std::exception_ptr();
    }

    explicit settled(detail::outcome<T> o) noexcept : outcome_(std::move(o)) {}

private:
    detail::outcome<T> outcome_;
};

namespace detail {

// The results are optional, because T need not have a default constructor.

template <class T>
task<void> keep_value(task<T> work, std::optional<non_void<T>>& result) {
    if constexpr (std::is_void_v<T>) {
        co_await std::move(work);
        result.emplace();
    } else {
        result.emplace(co_await std::move(work));
    }
}

template <class T>
task<void> keep_outcome(task<T> work, std::optional<settled<T>>& result) {
    outcome<T> o;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            o.template emplace<1>();
        } else {
            o.template emplace<1>(co_await std::move(work));
        }
    } catch (...) {  // returned as a value
        o.template emplace<0>(std::current_exception());
    }
    result.emplace(std::move(o));
}

/// Spawns all tasks of a when_all.
template <class... T, class... Result, std::size_t... I>
void spawn_each(scope& s, std::tuple<task<T>...>& tasks, std::tuple<std::optional<Result>...>& results,
                std::index_sequence<I...>) {
    [[maybe_unused]] auto spawn = [&s]<class U, class R>(task<U>& work, std::optional<R>& result) {
        if constexpr (std::is_same_v<R, settled<U>>) s.spawn(keep_outcome(std::move(work), result));
        else s.spawn(keep_value(std::move(work), result));
    };
    (spawn(std::get<I>(tasks), std::get<I>(results)), ...);
}

template <class... T, class... Result>
task<void> run_each(std::tuple<task<T>...>& tasks, std::tuple<std::optional<Result>...>& results) {
    auto body = [&](scope& s) -> task<void> {
        spawn_each(s, tasks, results, std::index_sequence_for<T...>());
        co_return;
    };
    co_await with_scope(body);
}

template <class T, class Result>
task<void> run_each(std::vector<task<T>>& tasks, std::vector<std::optional<Result>>& results) {
    auto body = [&](scope& s) -> task<void> {
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            if constexpr (std::is_same_v<Result, settled<T>>) s.spawn(keep_outcome(std::move(tasks[i]), results[i]));
            else s.spawn(keep_value(std::move(tasks[i]), results[i]));
        }
        co_return;
    };
    co_await with_scope(body);
}

template <class... Result>
std::tuple<Result...> take_all(std::tuple<std::optional<Result>...>& results) {
    return std::apply([](auto&... each) { return std::tuple<Result...>(std::move(*each)...); }, results);
}

template <class Result>
std::vector<Result> take_all(std::vector<std::optional<Result>>& results) {
    std::vector<Result> all;
    all.reserve(results.size());
    for (auto& each : results) all.push_back(std::move(*each));
    return all;
}

}  // namespace detail

/// Runs several tasks concurrently and returns their values as a tuple (std::monostate for a task without a value):
///
///     auto [weather, news] = co_await keel::when_all(fetch_weather(), fetch_news());
///
/// If one task fails, the others are cancelled; its exception is rethrown when all have ended.
/// Cancellation: cancels all tasks and waits for them to end.
template <class... T>
task<std::tuple<detail::non_void<T>...>> when_all(task<T>... tasks) {
    std::tuple<task<T>...> all(std::move(tasks)...);
    std::tuple<std::optional<detail::non_void<T>>...> results;
    co_await detail::run_each(all, results);
    co_return detail::take_all(results);
}

/// Same for any number of tasks of one type.
template <class T>
    requires(!std::is_void_v<T>)
task<std::vector<T>> when_all(std::vector<task<T>> tasks) {
    std::vector<std::optional<T>> results(tasks.size());
    co_await detail::run_each(tasks, results);
    co_return detail::take_all(results);
}

inline task<void> when_all(std::vector<task<void>> tasks) {
    std::vector<std::optional<std::monostate>> results(tasks.size());
    co_await detail::run_each(tasks, results);
}

/// Like when_all, but a task that fails does not affect the others: returns the value or the exception of each task.
/// Cancellation: cancels all tasks, waits for them to end, and throws keel::cancelled.
template <class... T>
task<std::tuple<settled<T>...>> when_all_settled(task<T>... tasks) {
    std::tuple<task<T>...> all(std::move(tasks)...);
    std::tuple<std::optional<settled<T>>...> results;
    co_await detail::run_each(all, results);
    co_return detail::take_all(results);
}

/// Same for any number of tasks of one type.
template <class T>
task<std::vector<settled<T>>> when_all_settled(std::vector<task<T>> tasks) {
    std::vector<std::optional<settled<T>>> results(tasks.size());
    co_await detail::run_each(tasks, results);
    co_return detail::take_all(results);
}

}  // namespace keel
