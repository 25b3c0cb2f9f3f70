// The memory budget of a server with several threads. Real sockets.

#include "http/embedded_client.hpp"
#include "http/http_server_core.hpp"
#include "http/requests.hpp"

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

constexpr std::size_t budget_total = 8 * 1024 * 1024;
constexpr std::size_t answer_size = 1024 * 1024;
constexpr unsigned budget_clients = 40;
constexpr unsigned budget_loops = 2;

std::string session_for(const std::string& url, std::string_view version) {
    socket_client c(url);
    const std::string head = c.ask(http_post(initialize_body(version)));
    const std::size_t at = head.find("Mcp-Session-Id: ");
    REQUIRE(at != std::string::npos);
    const std::string id = head.substr(at + 16, head.find("\r\n", at) - at - 16);
    c.ask(http_session{id, std::string(version)}.post(notification_line("notifications/initialized")));
    return id;
}

}  // namespace

TEST_CASE("J1: no mix of clients and threads exceeds the memory budget by more than one message per thread") {
    std::atomic<unsigned> arrived{0};
    std::atomic<bool> released{false};
    server_options how;
    how.worker_threads = budget_clients;
    server host({.name = "budget", .version = "1"}, how);
    host.add_tool("big", "waits for all others, then returns a large text", [&] {
        ++arrived;
        arrived.notify_all();
        released.wait(false);
        return std::string(answer_size, 'x');
    });
    http_options options;
    options.limits.max_buffered = budget_total;
    auto core = std::make_shared<http::http_server_core>(server_access::of(host), options);
    server_access::of(host)->begin();
    core->open_in_background("127.0.0.1:0", budget_loops);
    const std::string url = core->url();

    // Clients of both eras that never read, on both loops. All calls of the older clients are in one session, which lives on one loop.
    const http_session s{session_for(url, "2025-03-26"), "2025-03-26"};
    std::deque<socket_client> clients;
    for (unsigned i = 0; i < budget_clients;) {
        socket_client& c = clients.emplace_back(url);
        const std::string id = std::to_string(i);
        if (i % 4 == 3) {
            c.send(s.post("[" + call_line(id, "big") + "]"));
        } else {
            c.send(i % 2 == 0 ? s.call(id, "big") : modern_call(id, "big"));
        }
        ++i;
        for (unsigned now = arrived; now < i; now = arrived) arrived.wait(now);
    }
    CHECK(!core->budget.tight());
    released = true;
    released.notify_all();
    std::size_t most = 0;
    while (host.health().in_flight > 0) most = std::max(most, core->budget.used());
    // A buffer may be twice as large as its text.
    CHECK(most <= budget_total + budget_loops * 2 * (answer_size + 4096));
    CHECK(core->counters.closed_for_memory > 0);
    clients.clear();
    while (core->counters.connections > 0) std::this_thread::yield();
    CHECK(core->budget.used() < answer_size);  // every byte was given back
    core->stop({});
    core->wait();
}
