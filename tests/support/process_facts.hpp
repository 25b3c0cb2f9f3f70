#pragma once

// The resources of this process, as the kernel reports them.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace keel::test {

inline std::uint64_t entries_of(const char* folder) {
    std::uint64_t n = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder)) ++n;
    return n;
}

inline std::uint64_t open_descriptors() { return entries_of("/proc/self/fd") - 1; }  // without the one that reads it
inline std::uint64_t running_threads() { return entries_of("/proc/self/task"); }

inline std::uint64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    in >> size >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace keel::test
