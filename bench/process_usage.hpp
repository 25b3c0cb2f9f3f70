#pragma once

// The resources used by another process, read from the kernel.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace bench {

struct process_usage {
    std::int64_t cpu_ns = 0;  // all threads, including ended ones
    double user_seconds = 0;  // the same, split, in clock ticks
    double system_seconds = 0;
    std::int64_t reads = 0;  // read(2), readv(2) and similar; not epoll_wait
    std::int64_t writes = 0;
    std::int64_t sleeps = 0;  // voluntary context switches of the main thread
};

struct process_memory {
    std::int64_t resident_kb = 0;
    std::int64_t peak_kb = 0;
};

/// The number after `name` in a file of "name: number" lines, or 0.
inline std::int64_t field_of(const std::string& path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) return std::stoll(line.substr(name.size()));
    }
    return 0;
}

inline process_usage usage_of(pid_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    process_usage out;

    // The process clock has nanosecond resolution like the schedstat files, but also includes the running time slice
    // and ended threads.
    clockid_t clock{};
    timespec now{};
    if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &now) == 0) {
        out.cpu_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    }

    std::ifstream stat(folder + "/stat");
    std::string text;
    std::getline(stat, text);
    // The second field is the program's name in brackets and may contain any character, so search for its end.
    if (const auto bracket = text.rfind(')'); bracket != std::string::npos) {
        std::istringstream rest(text.substr(bracket + 1));
        std::string skipped;
        for (int i = 0; i < 11; ++i) rest >> skipped;
        double user = 0;
        double system = 0;
        rest >> user >> system;
        const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
        out.user_seconds = user / ticks;
        out.system_seconds = system / ticks;
    }

    out.reads = field_of(folder + "/io", "syscr:");
    out.writes = field_of(folder + "/io", "syscw:");
    out.sleeps = field_of(folder + "/status", "voluntary_ctxt_switches:");
    return out;
}

inline process_memory memory_of(pid_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    process_memory out;
    // VmRSS may be off by dozens of pages on kernels that count per processor; smaps_rollup walks the page tables.
    out.resident_kb = field_of(folder + "/smaps_rollup", "Rss:");
    if (out.resident_kb == 0) out.resident_kb = field_of(folder + "/status", "VmRSS:");
    out.peak_kb = field_of(folder + "/status", "VmHWM:");
    if (out.peak_kb < out.resident_kb) out.peak_kb = out.resident_kb;
    return out;
}

}  // namespace bench
