#pragma once

// A loop for tests: the test runs it step by step and advances its clock.

#include <keel/loop.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace keel::test {

/// Posted work runs in order, one piece per step, or in an order chosen by a seed. Only advance() moves the clock.
/// post() is safe to call from any thread; everything else must be called on the thread of the test.
class manual_loop final : public loop {
public:
    manual_loop() = default;
    /// Shuffles: each step runs any of the pieces that are ready.
    explicit manual_loop(std::uint64_t seed) : shuffled_(true), random_(seed) {}
    ~manual_loop() override { end(); }

    time_point now() const noexcept override { return now_; }
    bool post(std::function<void()> work) override {
        std::lock_guard lock(mutex_);
        if (ended_) return false;
        ready_.push_back(std::move(work));
        posted_.notify_all();
        return true;
    }
    bool here() const noexcept override { return std::this_thread::get_id() == thread_; }

    timer start_timer(time_point when, std::function<void()> work) override {
        if (ended()) return 0;
        timer id = ++last_timer_;
        timers_.emplace(std::pair(when, id), std::move(work));
        return id;
    }
    void stop_timer(timer id) noexcept override {
        auto found = std::find_if(timers_.begin(), timers_.end(), [&](auto& t) { return t.first.second == id; });
        if (found == timers_.end()) return;
        auto dropped = std::move(found->second);
        timers_.erase(found);
    }

    /// Runs one piece of posted work. Returns false if there is none.
    bool step() {
        std::function<void()> work;
        {
            std::lock_guard lock(mutex_);
            if (ready_.empty()) return false;
            std::size_t index = shuffled_ ? random_() % ready_.size() : 0;
            work = std::move(ready_[index]);
            ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
        }
        ++steps_;
        work();
        return true;
    }
    /// Runs until no posted work is left. Returns the number of pieces.
    std::size_t run() {
        std::size_t before = steps_;
        while (step()) {
        }
        return steps_ - before;
    }
    /// Waits until another thread has posted work.
    void wait_for_work() {
        std::unique_lock lock(mutex_);
        posted_.wait(lock, [this] { return !ready_.empty(); });
    }
    /// Advances the clock: each timer runs at its due time, followed by the work that it posts.
    void advance(duration d) {
        time_point until = now_ + d;
        run();
        while (!timers_.empty() && timers_.begin()->first.first <= until) {
            auto first = timers_.begin();
            now_ = std::max(now_, first->first.first);
            auto work = std::move(first->second);
            timers_.erase(first);
            work();
            run();
        }
        now_ = until;
    }
    /// Moves the clock within a step of the loop, as if the step took this long. Runs nothing.
    void take_time(duration d) noexcept { now_ += d; }
    /// Ends the loop: post() fails, and queued work is dropped.
    void end() noexcept {
        std::deque<std::function<void()>> dropped;
        {
            std::lock_guard lock(mutex_);
            ended_ = true;
            dropped.swap(ready_);
        }
        auto timers = std::exchange(timers_, {});
    }

    std::size_t timers() const noexcept { return timers_.size(); }
    std::size_t ready() const noexcept {
        std::lock_guard lock(mutex_);
        return ready_.size();
    }
    std::size_t steps() const noexcept { return steps_; }
    /// The due time of the next timer. There must be one.
    time_point next_timer() const noexcept { return timers_.begin()->first.first; }

private:
    bool ended() const noexcept {
        std::lock_guard lock(mutex_);
        return ended_;
    }

    mutable std::mutex mutex_;  // posting threads and the test's thread share this
    std::condition_variable posted_;
    std::deque<std::function<void()>> ready_;
    bool ended_ = false;

    time_point now_{std::chrono::hours(1)};
    std::map<std::pair<time_point, timer>, std::function<void()>> timers_;
    timer last_timer_ = 0;
    std::size_t steps_ = 0;
    bool shuffled_ = false;
    std::mt19937_64 random_;
    std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace keel::test
