#pragma once

// Where Keel's work runs: one thread at a time, with a clock that can be handed in.

#include <keel/version.hpp>

#include <chrono>
#include <cstdint>
#include <functional>

namespace keel::inline KEEL_ABI {

class reactor;  // src/async/reactor.hpp

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

/// A queue of work that runs one piece after another, and timers. Connections, requests and coroutines belong to one
/// loop and never leave it. The library has one over Asio (see keel/asio.hpp); tests bring one whose clock stands still.
///
/// Threads: post and here from any thread; everything else on the loop.
class KEEL_API loop {
public:
    using timer = std::uint64_t;  // 0 is no timer

    loop() = default;
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;
    virtual ~loop() = default;

    virtual time_point now() const noexcept = 0;
    /// Runs `work` soon. False, and `work` is dropped unrun, once the loop has ended.
    virtual bool post(std::function<void()> work) = 0;
    /// True on the thread that is running this loop's work right now.
    virtual bool here() const noexcept = 0;

    /// Work that is not due when the loop ends is dropped unrun; time_point::max() is never due. 0 once the loop has ended.
    virtual timer start_timer(time_point when, std::function<void()> work) = 0;
    /// After this the work does not run. An unknown or finished timer is fine.
    virtual void stop_timer(timer) noexcept = 0;

    /// The library's own loops return themselves, all others nullptr. Do not override it. (A dynamic_cast would crash on
    /// a loop from a file that is compiled with -fno-rtti.)
    virtual reactor* as_reactor() noexcept { return nullptr; }
};

/// A duration may be "for as long as it takes".
inline time_point after(time_point now, duration d) noexcept {
    return d > time_point::max() - now ? time_point::max() : now + d;
}

/// A timer `d` from now; none, when that is never.
inline loop::timer start_timer_after(loop& l, duration d, std::function<void()> work) {
    time_point when = after(l.now(), d);
    return when == time_point::max() ? 0 : l.start_timer(when, std::move(work));
}

}  // namespace keel
