// Output that a client produces itself never stops its reading, and is bounded.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

constexpr std::size_t mib = 1024 * 1024;

json::value large(std::size_t bytes) { return json::object({{"a", std::string(bytes, 'x')}}); }

}  // namespace

TEST_CASE("J1, J2: a large request that the server does not read delays no response") {
    client_under_test t;
    t.connect("2025-11-25");
    outcome_of_task& first = t.run(t.client->call_tool("x"));
    json::value asked = t.expect("tools/call");
    t.wire().stall();
    outcome_of_task& big = t.run(t.client->call_tool("x", large(9 * mib)));
    CHECK_FALSE(t.wire().paused());
    t.answer(asked, text_result("2025-11-25", "ok"));
    CHECK(first.text == "ok");
    // The queue is bounded: further requests are refused.
    CHECK(t.run(t.client->call_tool("y")).kind == error_kind::unavailable);
    t.wire().resume();
    t.loop->run();
    t.answer(t.expect("tools/call"), text_result("2025-11-25", "taken"));
    CHECK(big.text == "taken");
}

TEST_CASE("J1: responses that the server does not read stop the reading of its requests") {
    client_options o;
    o.limits.out_queue = 4096;
    o.limits.out_queue_soft = 1024;
    root r;
    r.uri = "file:///" + std::string(3000, 'r');
    o.roots = {r};
    client_under_test t(o);
    t.connect("2025-11-25");
    t.wire().stall();
    t.ask(1, "roots/list");
    CHECK_FALSE(t.wire().paused());
    t.ask(2, "roots/list");
    CHECK(t.wire().paused());
    t.ask(3, "ping");
    t.wire().resume();
    t.loop->run();
    CHECK_FALSE(t.wire().paused());
    for (int id : {1, 2, 3}) CHECK(t.next()["id"].if_int() == id);
}

TEST_CASE("J1: notifications that the server does not read are dropped at the limit and logged") {
    client_under_test t;
    t.connect("2025-11-25");
    t.wire().stall();
    for (int i = 0; i < 40; ++i) t.client->notify("x/y", large(mib));
    t.loop->run();
    CHECK(client_access::engine(*t.client)->connections.in_use()->peer().core().queued_bytes() < 10 * mib);
    REQUIRE_FALSE(t.log.empty());
    CHECK(t.log.back() == "warning: notification dropped, because the output queue to the server is full: x/y");
    t.wire().resume();
    t.loop->run();
}

TEST_CASE("D16: a notification whose params are not an object is rejected and logged, and the client continues") {
    client_under_test t;
    t.connect("2025-11-25");
    t.client->notify("x/y", json::value(5));
    t.client->notify("x/y", json::array({1}));
    t.loop->run();
    CHECK(t.silent());
    REQUIRE(t.log.size() == 2);
    CHECK(t.log[0] == "error: sending a notification failed: keel: params must be a JSON object");
    t.client->notify("x/y", json::object({{"a", 1}}));
    t.loop->run();
    CHECK(t.expect("x/y")["params"]["a"].if_int() == 1);
}
