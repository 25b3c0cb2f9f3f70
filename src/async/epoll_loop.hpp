#pragma once

// An event loop directly on epoll, for the library's own threads.
//
// Asio needs one more system call per message to re-arm a wait (see docs/design/loops.md). With one call in flight, that is a
// quarter of all system calls.

#include "async/posted_work.hpp"
#include "async/reactor.hpp"
#include "async/timer_heap.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI::async {

/// The thread that calls run is the loop's thread until run returns. post, here and stop are safe to call from any thread.
class epoll_loop final : public reactor {
public:
    static std::shared_ptr<epoll_loop> create() { return std::make_shared<epoll_loop>(); }
    epoll_loop();
    ~epoll_loop() override;

    /// Runs until stop is called. Work posted before stop still runs. May be called again.
    void run();
    /// Makes run return. If no thread runs the loop, the next run returns at once.
    void stop() noexcept;
    /// Runs one iteration: ready descriptors, due timers, posted work. Waits for work only if `may_wait` is true.
    void run_turn(bool may_wait) { turn(may_wait ? duration::max() : duration::zero()); }

    // For a program that runs the loop piece by piece (keel::event_loop).
    /// Makes the calling thread the loop's thread, also outside of iterations.
    void belong_to_this_thread() noexcept { runner_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
    /// Runs one iteration that waits for work at most this long. Returns false if there was nothing to do.
    bool poll(duration wait);
    /// Returns whether stop was called, and forgets it.
    bool take_stop() noexcept { return stopping_.exchange(false); }
    /// A descriptor that is readable while there is something to do between two calls of `poll`, due timers included.
    int descriptor();
    time_point next_timer() const noexcept { return timers_.empty() ? time_point::max() : timers_.next(); }

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
    bool turn(duration wait);
    bool dispatch_ready(duration wait);
    int wait_milliseconds(duration most) const noexcept;
    bool watch_own(int fd) noexcept;
    void be_watched() noexcept;
    void arm_timer(time_point when) noexcept;

    int epoll_ = -1;
    int wake_ = -1;  // an eventfd; post writes to it when the loop sleeps
    // A timerfd for the next timer, so that another event loop can watch the epoll descriptor; -1 until `descriptor` is called.
    int timer_ = -1;
    time_point timer_armed_ = time_point::max();

    // Protects the members up to ended_: other threads post.
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
    bool sleeping_ = false;
    bool ended_ = false;

    std::atomic<bool> stopping_ = false;
    std::atomic<std::thread::id> runner_;
    posted_work running_;
    timer_heap timers_;
    bool dispatching_ = false;
    std::vector<std::unique_ptr<entry>> forgotten_;  // the events being dispatched may still refer to these
};

}  // namespace keel::async
