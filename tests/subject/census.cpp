// The resources that the server holds now.

#include "board.hpp"
#include "subject.hpp"

#include "../support/process_facts.hpp"

#include <keel/server.hpp>

#include <cstdint>

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
                   c.descriptors = test::open_descriptors();
                   c.threads = test::running_threads();
                   c.resident_bytes = test::resident_bytes();
                   c.keys = ctx.state<board>().size();
                   return c;
               },
               {.quick = true});
}

}  // namespace keel::subject
