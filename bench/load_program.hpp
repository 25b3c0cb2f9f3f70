#pragma once

// What both load generators share: CPU affinity, times, and main() with a timeout.

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace bench {

using clock_type = std::chrono::steady_clock;

inline double seconds_since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

/// The CPU time of this process.
inline double own_cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Sets the CPU affinity of this process; -1 does nothing.
inline void bind_to(int cpu) {
    if (cpu < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) throw std::runtime_error("cannot set the CPU affinity");
}

/// The body of main(): parses the options and measures. Returns the exit status: 1 if measuring fails, 2 if the
/// options are invalid.
template <class Options>
int run_program(const char* name, std::string_view usage, Options (*parse)(int, char**),
                void (*measure)(const Options&), int argc, char** argv) {
    Options wanted;
    try {
        wanted = parse(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n%.*s", name, error.what(), static_cast<int>(usage.size()), usage.data());
        return 2;
    }
    // The alarm only interrupts the pending wait, which then reports a timeout: no SA_RESTART.
    struct sigaction on_alarm{};
    on_alarm.sa_handler = [](int) {};
    sigaction(SIGALRM, &on_alarm, nullptr);
    alarm(wanted.deadline_seconds);
    try {
        measure(wanted);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 1;
    }
    return 0;
}

}  // namespace bench
