// The budget for all bytes that a server keeps for its clients (http_limits::max_buffered).

#include "http/web.hpp"
#include "support/proof.hpp"
#include "transport/system_memory.hpp"

#include <algorithm>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t total = 8 * 1024 * 1024;
constexpr std::size_t piece = 512 * 1024;

web_settings small_budget() {
    web_settings how;
    how.http.limits.max_buffered = total;
    return how;
}

std::string large_head(const http_session& s) {
    return "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n"
           "Content-Type: application/json\r\n" +
           s.headers() + "Content-Length: 4000000\r\n\r\n";
}

/// Clients with a body of which the last byte never comes.
std::vector<web_client*> fill_with_bodies(web& w, const http_session& s, std::size_t clients, int pieces) {
    std::vector<web_client*> made;
    for (std::size_t i = 0; i < clients; ++i) {
        made.push_back(&w.connect(s));
        made.back()->feed(large_head(s));
        w.run();
    }
    for (int n = 0; n < pieces; ++n) {
        for (web_client* c : made) {
            c->feed(std::string(piece, ' '));
            w.run();
            REQUIRE(w.core->budget.used() <= total + 2 * piece);  // buffers grow in larger steps than the pieces
        }
    }
    return made;
}

}  // namespace

TEST_CASE("J1: the bodies of many clients do not exceed the budget") {
    web w(small_budget());
    http_session s = w.open_session();
    auto all = fill_with_bodies(w, s, 20, 7);
    CHECK(std::ranges::any_of(all, [](web_client* c) { return c->wire->destroyed(); }));
    CHECK(std::ranges::any_of(all, [](web_client* c) { return !c->wire->destroyed(); }));
}

TEST_CASE("J1: new work is refused with 503 above three quarters of the budget") {
    web w(small_budget());
    http_session s = w.open_session();
    auto all = fill_with_bodies(w, s, 12, 1);
    CHECK(w.core->budget.tight());
    CHECK(std::ranges::none_of(all, [](web_client* c) { return c->wire->destroyed(); }));
    web_client& late = w.connect(s);
    late.feed(large_head(s));
    w.run();
    CHECK(late.wire->output().starts_with("HTTP/1.1 503 "));
    CHECK(late.wire->output().find("\r\nRetry-After: 5\r\n") != std::string::npos);
    web_client& modern = w.connect();
    modern.send(modern_call("1", "echo", R"({"at":"x"})"));
    CHECK(modern.status() == 503);
    CHECK(w.ask(s, s.call("1", "echo", R"({"at":"x"})")) == 503);
    CHECK(w.ask(s, s.get()) == 503);
    // Notifications and responses help running calls to end.
    CHECK(w.ask(s, s.post(notification_line("notifications/initialized"))) == 202);
    for (web_client* each : all) each->gone();
    CHECK(w.core->budget.used() < piece);
    CHECK(w.ask(s, s.call("1", "echo", R"({"at":"x"})")) == 200);
}

TEST_CASE("J5, H16: stored events are evicted before connections are closed") {
    web w(small_budget());
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", R"({"at":"a"})", "\"t\""));
    for (int i = 1; i <= 3; ++i) {
        w.on_loop([&, i] { w.context_at("a").progress(i, std::nullopt, std::string(piece, 'x')); });
    }
    const std::string first = c.last().events.front().id;
    CHECK(w.core->budget.used() > 3 * piece);
    auto all = fill_with_bodies(w, s, 14, 1);  // they take the room of the events
    CHECK(std::ranges::none_of(all, [](web_client* each) { return each->wire->destroyed(); }));
    c.gone();
    for (web_client* each : all) each->gone();
    CHECK(w.ask(s, s.get(first)) == 400);
    w.open("a");
}

TEST_CASE("C11: the connection with the most unread output is closed when the budget is exceeded") {
    web w(small_budget());
    http_session s = w.open_session();
    std::vector<web_client*> stalled;
    for (int n : {300'000, 900'000, 600'000}) {
        web_client& c = w.connect();
        c.wire->stall();
        c.send(modern_call("1", "big", R"({"n":)" + std::to_string(n) + "}"));
        stalled.push_back(&c);
    }
    CHECK(w.core->counters.closed_for_memory == 0);
    auto all = fill_with_bodies(w, s, 12, 1);
    CHECK(stalled[1]->wire->destroyed());
    CHECK(!stalled[0]->wire->destroyed());
    CHECK(std::ranges::none_of(all, [](web_client* each) { return each->wire->destroyed(); }));
}

TEST_CASE("the default budget comes from the memory of the machine and its control groups") {
    using namespace keel::transport;
    CHECK(read_meminfo("MemTotal:       16303420 kB\nMemFree: 1 kB\n") == 16303420ull * 1024);
    CHECK(read_meminfo("MemFree: 1 kB\n") == 0);
    CHECK(read_meminfo("") == 0);
    CHECK(read_memory_limit("536870912\n") == 536870912);
    CHECK(read_memory_limit("max\n") == 0);
    CHECK(read_memory_limit("") == 0);
    CHECK(available_memory() > 16 * 1024 * 1024);
    web w;
    CHECK(w.core->budget.total() == available_memory() / 4);
}
