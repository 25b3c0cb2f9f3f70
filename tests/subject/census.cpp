// What the server holds at this moment.

#include "board.hpp"
#include "subject.hpp"

#include <keel/server.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace keel::subject {

struct census {
    std::uint64_t connections = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t requests = 0;
    std::uint64_t dropped_late = 0;
    std::uint64_t rejected_input = 0;
    std::uint64_t abandoned = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t threads = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t keys = 0;
};
KEEL_DESCRIBE(census, connections, in_flight, requests, dropped_late, rejected_input, abandoned, descriptors, threads,
              resident_bytes, keys)

namespace {

std::uint64_t entries_of(const char* folder) {
    std::uint64_t n = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder)) ++n;
    return n;
}

std::uint64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    in >> size >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

void add_census(server& s) {
    s.add_tool("census", "What the server holds now; this call is counted too",
               [&s](context& ctx) {
                   server_health h = s.health();
                   census c;
                   c.connections = h.connections;
                   c.in_flight = h.in_flight;
                   c.requests = h.requests;
                   c.dropped_late = h.dropped_late;
                   c.rejected_input = h.rejected_input;
                   c.abandoned = h.abandoned;
                   c.descriptors = entries_of("/proc/self/fd") - 1;  // without the one that looks
                   c.threads = entries_of("/proc/self/task");
                   c.resident_bytes = resident_bytes();
                   c.keys = ctx.state<board>().size();
                   return c;
               },
               {.quick = true});
}

}  // namespace keel::subject
