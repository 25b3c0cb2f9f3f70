#pragma once

// What another process has used so far, read from the kernel without its help.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace bench {

struct process_usage {
    std::int64_t cpu_ns = 0;  // all threads, also those that have ended
    double user_seconds = 0;  // the same split in two, but only to the clock tick
    double system_seconds = 0;
    std::int64_t reads = 0;  // read(2), readv(2) and their kin; waiting for readiness is not among them
    std::int64_t writes = 0;
    std::int64_t sleeps = 0;  // times the main thread gave up the processor to wait
};

struct process_memory {
    std::int64_t resident_kb = 0;
    std::int64_t peak_kb = 0;
};

/// The number behind `name` in a file of "name: number" lines; 0 if there is none.
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

    // The process clock counts the scheduler's nanoseconds, as the schedstat files do, but it also includes the running
    // slice and threads that have ended.
    clockid_t clock{};
    timespec now{};
    if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &now) == 0) {
        out.cpu_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    }

    std::ifstream stat(folder + "/stat");
    std::string text;
    std::getline(stat, text);
    // The second field is the program's name in brackets and may contain anything, so count from its end.
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
    // VmRSS may be off by some dozens of pages on kernels that count per processor; the rollup walks the page tables.
    out.resident_kb = field_of(folder + "/smaps_rollup", "Rss:");
    if (out.resident_kb == 0) out.resident_kb = field_of(folder + "/status", "VmRSS:");
    out.peak_kb = field_of(folder + "/status", "VmHWM:");
    if (out.peak_kb < out.resident_kb) out.peak_kb = out.resident_kb;
    return out;
}

}  // namespace bench
