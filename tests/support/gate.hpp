#pragma once

// Points at which handlers wait until the test releases them. Gates do not use time.

#include <keel/async.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace keel::test {

/// For coroutines: `co_await g.pass();`. Must be used on the loop of the test only.
class gate {
public:
    /// Cancellation: the wait throws; the arrival stays counted.
    task<void> pass() {
        ++arrived_;
        co_await event_;
        ++passed_;
    }
    /// Wakes all waiters at once; later arrivals pass. Must be called in a turn of the loop.
    void open() { event_.set(); }

    std::size_t arrived() const noexcept { return arrived_; }
    std::size_t passed() const noexcept { return passed_; }

private:
    event event_;
    std::size_t arrived_ = 0;
    std::size_t passed_ = 0;
};

/// For functions on worker threads.
class thread_gate {
public:
    void pass() {
        std::unique_lock lock(mutex_);
        ++arrived_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    void open() {
        std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    /// Waits until this many arrivals were counted in total.
    void wait_arrived(std::size_t n) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return arrived_ >= n; });
    }
    std::size_t arrived() const {
        std::lock_guard lock(mutex_);
        return arrived_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t arrived_ = 0;
    bool open_ = false;
};

/// Counts live objects: a handler that contains a `presence` is counted, on any thread.
class head_count {
public:
    class presence {
    public:
        explicit presence(head_count& c) : count_(c) {
            std::lock_guard lock(count_.mutex_);
            ++count_.here_;
            ++count_.came_;
        }
        presence(const presence&) = delete;
        presence& operator=(const presence&) = delete;
        ~presence() {
            std::lock_guard lock(count_.mutex_);
            --count_.here_;
            count_.changed_.notify_all();
        }

    private:
        head_count& count_;
    };

    std::size_t here() const {
        std::lock_guard lock(mutex_);
        return here_;
    }
    std::size_t came() const {
        std::lock_guard lock(mutex_);
        return came_;
    }
    /// Waits until the count is zero.
    void wait_empty() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return here_ == 0; });
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t here_ = 0;
    std::size_t came_ = 0;
};

}  // namespace keel::test
