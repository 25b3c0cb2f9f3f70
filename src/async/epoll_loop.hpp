#pragma once

// The loop of a thread of our own, straight on epoll.
//
// Asio re-arms a wait with one more system call per message (see docs/design/loops.md); with one call in flight that is
// a quarter of all our system calls.

#include "async/reactor.hpp"
#include "async/timer_heap.hpp"
#include "async/turn.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace keel::inline KEEL_ABI {

/// Whoever calls run is the loop's thread until run returns. post, here and stop from any thread.
class epoll_loop final : public reactor {
public:
    static std::shared_ptr<epoll_loop> create() { return std::make_shared<epoll_loop>(); }
    epoll_loop();
    ~epoll_loop() override;

    /// Runs until stop. What was posted before stop still runs. May be called again.
    void run();
    /// Makes run return. If nobody runs the loop, the next run returns at once.
    void stop() noexcept;
    /// One round: ready descriptors, due timers, posted work. If there is nothing to do it waits, if it may.
    void run_turn(bool may_wait);

    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
    bool post(std::function<void()> work) override;
    bool here() const noexcept override {
        return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    timer start_timer(time_point when, std::function<void()> work) override;
    void stop_timer(timer id) noexcept override { timers_.remove(id); }
    std::unique_ptr<watch> watch_descriptor(int fd, watcher&) override;
    void end() noexcept override;

private:
    struct entry;
    class held_entry;

    void forget(std::unique_ptr<entry>) noexcept;
    void wake() noexcept;
    void dispatch_ready(bool may_wait);
    int wait_milliseconds() const noexcept;

    int epoll_ = -1;
    int wake_ = -1;  // an eventfd, written to when another thread has something for a sleeping loop

    // Threads that post meet the loop's own here.
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
    bool sleeping_ = false;
    bool ended_ = false;

    std::atomic<bool> stopping_ = false;
    std::atomic<std::thread::id> runner_;
    detail::batch batch_;
    timer_heap timers_;
    bool dispatching_ = false;
    std::vector<std::unique_ptr<entry>> forgotten_;  // may still be named by the events being dispatched
};

}  // namespace keel
