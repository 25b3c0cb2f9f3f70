#pragma once

// A coroutine type and arguments of every kind, to test what g++ 12 does with temporaries in a co_await expression.
// Compile trap_bad.cpp with g++ 12 and -fsanitize=address to reproduce the bug.

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

template <class T>
class task {
public:
    struct promise_type {
        T value{};
        std::coroutine_handle<> waiting;

        struct give_back {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
                return self.promise().waiting ? self.promise().waiting : std::noop_coroutine();
            }
            void await_resume() noexcept {}
        };

        task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        give_back final_suspend() noexcept { return {}; }
        void return_value(T result) { value = std::move(result); }
        void unhandled_exception() { std::terminate(); }
    };

    task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    ~task() {
        if (handle_) handle_.destroy();
    }

    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
        handle_.promise().waiting = waiting;
        return handle_;
    }
    T await_resume() { return std::move(handle_.promise().value); }

    T run() {
        handle_.resume();
        return std::move(handle_.promise().value);
    }

private:
    explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

struct aggregate {
    std::string text;
    int number = 0;

    aggregate with(int n) && {
        number = n;
        return std::move(*this);
    }
};

struct constructed {
    constructed(std::string t = {}, int n = 0) : text(std::move(t)), number(n) {}
    std::string text;
    int number;
};

struct trivial {
    int a = 0;
    int b = 0;
};

inline task<int> take(aggregate in) { co_return in.number; }
inline task<int> read_truncated(const aggregate& in) { co_return in.number; }
inline task<int> take_or_default(int n, aggregate in = {}) { co_return in.number + n; }
inline task<int> take_optional(std::optional<aggregate> in) { co_return in->number; }
inline task<int> take_constructed(constructed in) { co_return in.number; }
inline task<int> take_trivial(trivial in = {}) { co_return in.a; }
inline task<int> number() { co_return 1; }
inline aggregate make() { return {}; }
inline int add(aggregate in, int n) { return in.number + n; }

template <class F>
task<int> call(F f) {
    co_return f();
}
