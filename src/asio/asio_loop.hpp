#pragma once

// A loop on an io_context, ours or the caller's.

#include "async/reactor.hpp"
#include "async/timer_heap.hpp"
#include "async/turn.hpp"

#include <keel/asio.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace keel::inline KEEL_ABI {

/// Runs its work wherever the io_context is run. If several threads run it, everything goes through a strand.
///
/// When the io_context is destroyed, or end is called, the loop falls silent: what still posts to it, like a handler's
/// thread that nobody waited for, is told no and touches nothing of the io_context.
///
/// An idle loop keeps io_context::run from returning no longer than it has timers, watches or posted work.
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

    /// Everything of this loop runs on it. Sockets that tasks of this loop use belong on it too.
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
    std::optional<boost::asio::steady_timer> alarm_;  // one for all timers; gone when the loop has ended
    time_point alarm_at_ = time_point::max();         // max: not waiting
    timer_heap timers_;
    bool running_timers_ = false;

    // Threads that post meet the loop's own here.
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
    bool scheduled_ = false;
    bool ended_ = false;

    std::atomic<std::thread::id> runner_;
    detail::batch batch_;
    std::vector<std::weak_ptr<descriptor>> descriptors_;
};

}  // namespace keel
