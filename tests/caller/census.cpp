// What this process holds.

#include "caller.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace keel::caller {

namespace {

std::size_t entries_of(const char* folder) {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder)) ++n;
    return n;
}

/// Also those that have ended and were not waited for: "pid state", for each.
json::value children() {
    json::value all = json::array();
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream in(task.path() / "children");
        for (std::string pid; in >> pid;) {
            std::ifstream stat("/proc/" + pid + "/stat");
            std::string line;
            std::getline(stat, line);
            std::size_t name_ends = line.rfind(')');
            char state = name_ends == std::string::npos || name_ends + 2 >= line.size() ? '?' : line[name_ends + 2];
            all.push_back(pid + " " + state);
        }
    }
    return all;
}

std::uint64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    in >> size >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

json::value census() {
    return json::object({{"descriptors", entries_of("/proc/self/fd") - 1},  // without the one that looks
                         {"threads", entries_of("/proc/self/task")},
                         {"children", children()},
                         {"resident_bytes", resident_bytes()}});
}

}  // namespace keel::caller
