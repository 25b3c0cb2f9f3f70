#pragma once

// The event loop interface.

#include <keel/version.hpp>

#include <chrono>
#include <cstdint>
#include <functional>

namespace keel::inline KEEL_ABI {

namespace async {
class reactor;  // src/async/reactor.hpp
}

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

/// An event loop: runs posted work one at a time, and timers. Connections, requests and tasks belong to one loop for their whole
/// life. keel/asio.hpp has a loop on an io_context; tests can implement one with a manual clock.
///
/// Thread-safety: post and here are safe to call from any thread; call all other functions on the loop.
class KEEL_API loop {
public:
    using timer = std::uint64_t;  // 0 is no timer

    loop() = default;
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;
    virtual ~loop() = default;

    virtual time_point now() const noexcept = 0;
    /// Queues `work` to run on the loop. Returns false, and destroys `work`, if the loop has ended.
    virtual bool post(std::function<void()> work) = 0;
    /// True if called from work that the loop is running.
    virtual bool here() const noexcept = 0;

    /// Runs `work` at a time; time_point::max() is never. Returns 0 if the loop has ended. A loop that ends destroys the work of
    /// its timers without running it.
    virtual timer start_timer(time_point when, std::function<void()> work) = 0;
    /// Cancels a timer. Does nothing if it has finished or is unknown.
    virtual void stop_timer(timer) noexcept = 0;

    /// The library's own loops return themselves, all others nullptr. Do not override it. (A dynamic_cast would crash on
    /// a loop from a file that is compiled with -fno-rtti.)
    virtual async::reactor* as_reactor() noexcept { return nullptr; }
};

/// Runs a function later, on a thread of the program's choice: for example it queues the function for the main thread. See
/// server_options::run_on. Called on any thread. The function does nothing if its call was cancelled meanwhile; a function that is
/// destroyed instead of called makes the call fail.
using handler_executor = std::function<void(std::function<void()> work)>;

/// now + d without overflow: duration::max() means never.
inline time_point after(time_point now, duration d) noexcept {
    return d > time_point::max() - now ? time_point::max() : now + d;
}

/// Starts a timer `d` from now. Returns 0, without a timer, if that is never.
inline loop::timer start_timer_after(loop& l, duration d, std::function<void()> work) {
    time_point when = after(l.now(), d);
    return when == time_point::max() ? 0 : l.start_timer(when, std::move(work));
}

}  // namespace keel
