#pragma once

// What a server is doing: for the embedding program's own monitoring.

#include <keel/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace keel::inline KEEL_ABI {

/// The requests of one method, each counted when it is answered or given up. Times are from the moment its bytes were
/// read, so they include waiting behind others that came with it; they are right to within an eighth. The clock is
/// loop::now() of its connection's loop.
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
    std::size_t in_flight = 0;  // calls that run; open listens are not among them
    std::uint64_t requests = 0;
    std::uint64_t dropped_late = 0;  // said after the request had ended
    std::uint64_t rejected_input = 0;
    std::uint64_t abandoned = 0;
    std::map<std::string, method_health> methods = {};  // by name; what no method of ours has is under ""
};

}  // namespace keel
