// Lifecycle rules J over a server session: a slow reader costs a bounded amount of memory.

#include "support/harness.hpp"

using namespace keel;
using namespace keel::test;

namespace {

limits tight() {
    limits l;
    l.out_queue_soft = 20'000;
    l.out_queue = 60'000;
    return l;
}

constexpr int many = 1'000'000;

/// After the stall: the newest progress, then the answer, and only a few bytes in total.
void check_end(server_under_test& s) {
    s.wire->resume();
    s.loop->run();
    auto frames = s.seen.take();
    REQUIRE(frames.size() >= 2);
    std::size_t bytes = 0;
    for (const std::string& f : frames) bytes += f.size() + 1;
    CHECK(bytes < 25'000);
    CHECK(json::parse(frames.back())["id"].if_int() == 1);
    json::value last = json::parse(frames[frames.size() - 2]);
    CHECK(last["params"]["progress"].if_int() == many);
    double before = 0;
    for (const json::value& p : s.seen.with_method("notifications/progress")) {
        double now = p["params"]["progress"].as_double();
        CHECK(now > before);
        before = now;
    }
    CHECK(s.answer("1") == "done");
}

}  // namespace

TEST_CASE("J1: a million progress calls of a coroutine behind a stalled reader") {
    server_under_test s({.bounds = tight()});
    s.tool("busy", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        for (int i = 1; i <= many; ++i) {
            ctx.progress(i);
            if (i % 10 == 0) ctx.log(log_level::info, i);
            if (i % 100'000 == 0) co_await ctx.yield();
        }
        co_return "done";
    });
    s.start("2025-11-25");
    s.wire->stall();
    s.call("1", "busy", "{}", "1");
    CHECK(s.in_flight() == 0);
    check_end(s);
}

TEST_CASE("J1: a million progress calls of a worker, with a faster or slower loop") {
    server_under_test s({.bounds = tight()});
    s.tool("busy", [&](context& ctx) {
        head_count::presence here(s.handlers);
        for (int i = 1; i <= many; ++i) {
            ctx.progress(i);
            if (i % 10 == 0) ctx.log(log_level::info, i);
        }
        return std::string("done");
    });
    s.start("2025-11-25");
    s.wire->stall();
    s.call("1", "busy", "{}", "1");
    SUBCASE("the loop runs at the same time") {
        s.until([&] { return s.in_flight() == 0; });
    }
    SUBCASE("the loop runs afterwards") { s.settle_workers(); }
    check_end(s);
}

TEST_CASE("J1: at the queue limit reading pauses, answers are kept, and all continue when the peer reads") {
    server_under_test s({.bounds = tight()});
    s.tool("big", [] { return std::string(10'000, 'x'); }, {.quick = true});
    s.start("2025-11-25");
    s.wire->stall();
    for (int i = 0; i < 100; ++i) s.later(call_line(std::to_string(i), "big"));
    s.loop->run();
    CHECK(s.wire->paused());
    CHECK(s.wire->unread() > 80);
    for (int i = 0; i < 200; ++i) {  // in small steps
        s.wire->accept(5'000);
        s.loop->run();
    }
    s.wire->resume();
    s.loop->run();
    CHECK_FALSE(s.wire->paused());
    for (int i = 0; i < 100; ++i) CHECK(s.answers_to(std::to_string(i)) == 1);
}

TEST_CASE("J1: a changed list is announced once when the queue has room again") {
    server_under_test s({.bounds = tight()});
    s.tool("big", [] { return std::string(30'000, 'x'); }, {.quick = true});
    s.start("2025-11-25");
    s.wire->stall();
    s.call("1", "big");
    for (int i = 0; i < 10; ++i) s.on_loop([&] { s.session->list_changed(list_kind::tools); });
    s.wire->resume();
    s.loop->run();
    CHECK(s.seen.with_method("notifications/tools/list_changed").empty());
    s.advance(1s);
    CHECK(s.seen.with_method("notifications/tools/list_changed").size() == 1);
    s.advance(10s);
    CHECK(s.seen.with_method("notifications/tools/list_changed").size() == 1);
}

TEST_CASE("J3: after 10,000 mixed requests nothing is leaked") {
    server_under_test s;
    gate never;
    s.tool("quick", [] { return "done"; }, {.quick = true});
    s.tool("worker", [] { return "done"; });
    s.tool("park", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await never.pass();
        co_return "";
    });
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await ctx.request("roots/list", json::value(), 1s);
        co_return "";
    });
    s.start("2025-11-25");
    s.advance(1min);
    std::size_t timers = s.loop->timers();
    for (int i = 0; i < 2'500; ++i) {
        s.call("1", "quick");
        s.call("2", "worker");
        s.call("3", "park");
        s.cancel("3");
        s.call("4", "ask");
        if (i % 100 == 0) s.advance(1s);
        else s.cancel("4");
        if (i % 50 == 0) s.until([&] { return s.in_flight() == 0; });
        else s.until([&] { return s.answers_to("2") == static_cast<std::size_t>(i) + 1; });
    }
    s.until([&] { return s.in_flight() == 0; });
    CHECK(s.handlers.here() == 0);
    s.advance(5min);
    CHECK(s.loop->timers() == timers);
}
