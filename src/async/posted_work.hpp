#pragma once

// What both loops need to run posted work: the work itself, and the thread that runs it.

#include <keel/version.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::async {

/// Marks the current thread as the one that runs the loop (loop::here) while this object exists. Marks can be nested: the
/// destructor restores the thread that was marked before.
class loop_thread_mark {
public:
    explicit loop_thread_mark(std::atomic<std::thread::id>& runner) noexcept
        : runner_(runner), before_(runner.exchange(std::this_thread::get_id(), std::memory_order_relaxed)) {}
    loop_thread_mark(const loop_thread_mark&) = delete;
    loop_thread_mark& operator=(const loop_thread_mark&) = delete;
    ~loop_thread_mark() { runner_.store(before_, std::memory_order_relaxed); }

private:
    std::atomic<std::thread::id>& runner_;
    std::thread::id before_;
};

/// The posted functions that a loop has taken from its queue and is running. If one throws, the next call of `run` continues with
/// the function after it.
class posted_work {
public:
    bool empty() const noexcept { return next_ == functions_.size(); }
    /// Takes the functions from `queue` and leaves an empty vector with capacity there. Must be empty before.
    void take(std::vector<std::function<void()>>& queue) noexcept {
        functions_.clear();
        next_ = 0;
        functions_.swap(queue);
    }
    void run() {
        while (next_ < functions_.size()) {
            std::function<void()> function = std::move(functions_[next_++]);
            function();
            if (functions_.empty()) return;  // the function has ended the loop, which called clear
        }
    }
    void clear() noexcept {
        next_ = 0;
        std::vector<std::function<void()>> dropped = std::exchange(functions_, {});
    }

private:
    std::vector<std::function<void()>> functions_;
    std::size_t next_ = 0;
};

}  // namespace keel::async
