#pragma once

// Counters and latencies of a server, for monitoring.

#include <keel/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace keel::inline KEEL_ABI {

/// Statistics of one method. A request counts when it is answered or abandoned. Latencies start when the bytes of the request
/// were read, so they include queueing; they are accurate to 1/8. The clock is loop::now() of the connection's loop.
struct KEEL_API method_health {
    std::uint64_t count = 0;
    std::uint64_t errors = 0;  // answered with a protocol error
    std::chrono::nanoseconds p50{0};
    std::chrono::nanoseconds p90{0};
    std::chrono::nanoseconds p99{0};
    std::chrono::nanoseconds slowest{0};
};

struct KEEL_API server_health {
    std::size_t connections = 0;
    std::size_t in_flight = 0;  // running calls, without subscriptions/listen
    std::uint64_t requests = 0;
    std::uint64_t dropped_late = 0;                     // messages of handlers after their request had ended
    std::uint64_t rejected_input = 0;                   // invalid messages
    std::uint64_t abandoned = 0;                        // handlers that did not return in time after cancellation
    std::map<std::string, method_health> methods = {};  // by method; "": unknown methods
};

}  // namespace keel
