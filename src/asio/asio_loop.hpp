#pragma once

// An event loop on a Boost.Asio io_context.

#include "async/posted_work.hpp"
#include "async/reactor.hpp"
#include "async/timer_heap.hpp"

#include <keel/asio.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI::async {

/// Runs its work on the threads that run the io_context. With several threads, all work goes through a strand.
///
/// The loop ends when the io_context is destroyed or `end` is called. After that, post returns false and does not use the
/// io_context; an abandoned handler may still call it.
///
/// The loop keeps io_context::run from returning only while it has timers, watches or posted work.
class asio_loop final : public reactor {
public:
    static std::shared_ptr<asio_loop> create(boost::asio::io_context&, io_threads = io_threads::several);
    ~asio_loop() override;

    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
    bool post(std::function<void()> work) override;
    bool here() const noexcept override {
        return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    timer start_timer(time_point when, std::function<void()> work) override;
    void stop_timer(timer id) noexcept override;
    std::unique_ptr<watch> watch_descriptor(int fd, watcher&) override;
    void end() noexcept override;

    /// The executor that runs all work of this loop. Sockets that tasks of this loop use must have the same executor.
    const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

private:
    class descriptor;

    asio_loop(boost::asio::io_context&, io_threads);
    std::shared_ptr<asio_loop> self() { return std::static_pointer_cast<asio_loop>(shared_from_this()); }
    void schedule();
    void run_posted();
    void arm();
    void run_timers();

    boost::asio::any_io_executor executor_;
    std::optional<boost::asio::steady_timer> alarm_;  // one for all timers; empty after the loop has ended
    time_point alarm_at_ = time_point::max();         // max: not waiting
    timer_heap timers_;
    bool running_timers_ = false;

    // Protects the members up to ended_: other threads post.
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
    bool scheduled_ = false;
    bool ended_ = false;

    std::atomic<std::thread::id> runner_;
    posted_work running_;
    std::vector<std::weak_ptr<descriptor>> descriptors_;
};

}  // namespace keel::async
