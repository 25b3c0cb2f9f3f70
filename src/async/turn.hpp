#pragma once

// What the two loops share: work posted from any thread, and who is running it.

#include <keel/version.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::detail {

/// Says "this thread runs the loop now" for as long as it lives. Turns nest: the outer one goes on after the inner.
class turn {
public:
    explicit turn(std::atomic<std::thread::id>& runner) noexcept
        : runner_(runner), before_(runner.exchange(std::this_thread::get_id(), std::memory_order_relaxed)) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() { runner_.store(before_, std::memory_order_relaxed); }

private:
    std::atomic<std::thread::id>& runner_;
    std::thread::id before_;
};

/// Posted work that is being run. What a piece that throws leaves behind is run by the next call.
class batch {
public:
    bool empty() const noexcept { return next_ == work_.size(); }
    /// Takes over `posted` and leaves an empty vector with room in its place. Only when empty.
    void take(std::vector<std::function<void()>>& posted) noexcept {
        work_.clear();
        next_ = 0;
        work_.swap(posted);
    }
    void run() {
        while (next_ < work_.size()) {
            std::function<void()> piece = std::move(work_[next_++]);
            piece();
            if (work_.empty()) return;  // the loop was ended by what it ran
        }
    }
    void clear() noexcept {
        next_ = 0;
        std::vector<std::function<void()>> dropped = std::exchange(work_, {});
    }

private:
    std::vector<std::function<void()>> work_;
    std::size_t next_ = 0;
};

}  // namespace keel::detail
