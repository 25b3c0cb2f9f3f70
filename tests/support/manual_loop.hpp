#pragma once

// A loop for tests: its clock stands still, and nothing runs unless the test says so.

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

/// Posted work runs in order, one piece per step, or in an order chosen by a seed. Time moves by advance only.
/// post from any thread; the rest on the thread of the test.
class manual_loop final : public loop {
public:
    manual_loop() = default;
    /// Shuffles: each step takes any of the pieces that are ready.
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

    /// Runs one piece of posted work. False when there is none.
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
    /// Runs until nothing is left that could run without time passing. How many pieces that were.
    std::size_t run() {
        std::size_t before = steps_;
        while (step()) {
        }
        return steps_ - before;
    }
    /// Waits until there is work, which another thread posts.
    void wait_for_work() {
        std::unique_lock lock(mutex_);
        posted_.wait(lock, [this] { return !ready_.empty(); });
    }
    /// Lets time pass: each timer that becomes due runs at its own moment, and then what it posted.
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
    /// As if the loop were gone: post says no, and what is queued is dropped.
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
    /// When the next timer is due. Not without one.
    time_point next_timer() const noexcept { return timers_.begin()->first.first; }

private:
    bool ended() const noexcept {
        std::lock_guard lock(mutex_);
        return ended_;
    }

    mutable std::mutex mutex_;  // posting threads meet the test's own
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
