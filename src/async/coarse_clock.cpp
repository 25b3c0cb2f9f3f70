#include "async/coarse_clock.hpp"

#include <ctime>

namespace keel::inline KEEL_ABI::async {

time_point coarse_now(loop& l) noexcept {
    if (!l.as_reactor()) return l.now();
    // The same clock as std::chrono::steady_clock, as of the last tick of the kernel.
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace keel::async
