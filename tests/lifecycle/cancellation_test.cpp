// Lifecycle rules B over a server session: cancellation by the peer.

#include "support/harness.hpp"

#include <stop_token>

using namespace keel;
using namespace keel::test;

namespace {

/// One revision of each era: common behavior is tested in both.
struct era {
    const char* name;
    bool modern;
    void start(server_under_test& s) const {
        if (modern) s.start();
        else s.start("2025-11-25");
    }
    std::string call(std::string_view id, std::string_view tool, std::string_view token = "") const {
        return modern ? modern_call_line(id, tool, "{}", token) : call_line(id, tool, "{}", token);
    }
};
constexpr era eras[] = {{"legacy", false}, {"modern", true}};

}  // namespace

TEST_CASE("B1: a call that is cancelled while queued for a worker never runs") {
    thread_gate busy;
    server_under_test s({.workers = 1});
    std::atomic<int> invoked{0};
    s.tool("block", [&] {
        busy.pass();
        return "done";
    });
    s.tool("work", [&] {
        ++invoked;
        return "worked";
    });
    s.start("2025-11-25");
    s.call("1", "block");
    busy.wait_arrived(1);
    s.call("2", "work");
    s.call("3", "work");
    s.cancel("2");
    busy.open();
    s.until([&] { return s.in_flight() == 0; });
    CHECK(invoked == 1);
    CHECK(s.answer("1") == "done");
    CHECK(s.answers_to("2") == 0);
    CHECK(s.answer("3") == "worked");
}

TEST_CASE("B1: a request and its cancel in one batch never reach the handler") {
    server_under_test s;
    int invoked = 0;
    s.tool("work", [&] { return ++invoked; }, {.quick = true});
    s.start("2025-03-26");
    s.send("[" + call_line("1", "work") + "," + cancel_line("1") + "," + call_line("2", "work") + "]");
    CHECK(invoked == 1);
    CHECK(s.answers_to("1") == 0);
    CHECK(s.answer("2") == "1");
}

TEST_CASE("B1, B4: a quick tool and its cancel in one read leave nothing on the wire") {
    server_under_test s;
    s.tool("work", [] { return "worked"; }, {.quick = true});
    s.start("2025-11-25");
    s.later_bytes(call_line("1", "work") + "\n" + cancel_line("1") + "\n" + call_line("2", "work") + "\n");
    s.loop->run();
    CHECK(s.seen.take().size() == 1);
    CHECK(s.answer("2") == "worked");
}

TEST_CASE("B2: a cancel ends the handler's wait in the same turn, its cleanup runs, nothing is written") {
    for (const era& e : eras) {
        CAPTURE(e.name);
        gate never;
        server_under_test s;
        bool cleaned = false;
        bool told = false;
        s.tool("park", [&](context& ctx) -> task<std::string> {
            head_count::presence here(s.handlers);
            struct cleanup {
                bool& done;
                ~cleanup() { done = true; }
            } c{cleaned};
            try {
                co_await never.pass();
            } catch (const cancelled&) {
                told = ctx.cancelled();
                throw;
            }
            co_return "not reached";
        });
        s.tool("echo", [] { return "still here"; }, {.quick = true});
        e.start(s);
        s.send(e.call("1", "park"));
        CHECK(s.handlers.here() == 1);
        s.later(cancel_line("1"));
        REQUIRE(s.loop->step());  // one turn of the reader
        CHECK(told);
        CHECK(cleaned);
        CHECK(s.in_flight() == 0);
        s.loop->run();
        CHECK(s.seen.take().empty());
        s.send(e.call("2", "echo"));
        CHECK(s.answer("2") == "still here");
    }
}

TEST_CASE("B2, B20: a worker sees the stop token of its request fire") {
    thread_gate stopped;
    server_under_test s;
    s.tool("block", [&](context& ctx) {
        std::stop_callback on_stop(ctx.stop_token(), [&] { stopped.open(); });
        stopped.pass();
        return ctx.cancelled() ? "stopped" : "not stopped";
    });
    s.start("2025-11-25");
    s.call("1", "block");
    stopped.wait_arrived(1);
    s.cancel("1");
    s.until([&] { return s.in_flight() == 0; });
    CHECK(s.seen.take().empty());
}

TEST_CASE("B3: a cancel that arrives after the handler returned and before its answer takes effect") {
    thread_gate g;
    server_under_test s;
    s.tool("block", [&] {
        g.pass();
        return "done";
    });
    s.start("2025-11-25");
    s.call("1", "block");
    g.wait_arrived(1);
    s.later(cancel_line("1"));  // the next step of the loop, before the answer
    g.open();
    s.settle_workers();
    CHECK(s.in_flight() == 0);
    CHECK(s.seen.take().empty());
}

TEST_CASE("B3, B4: a cancel that arrives after the answer was queued withdraws it if its write has not started") {
    thread_gate g;
    server_under_test s;
    s.tool("block", [&] {
        g.pass();
        return "done";
    });
    s.start("2025-11-25");
    s.call("1", "block");
    g.wait_arrived(1);
    s.wire->stall();
    g.open();
    s.until([&] { return s.in_flight() == 0; });
    s.cancel("1");
    s.wire->resume();
    s.loop->run();
    CHECK(s.seen.take().empty());
}

TEST_CASE("B4: an answer behind a stalled writer is withdrawn, other messages stay in order") {
    for (const era& e : eras) {
        CAPTURE(e.name);
        gate g;
        server_under_test s;
        s.tool("steps", [&](context& ctx) -> task<std::string> {
            head_count::presence here(s.handlers);
            ctx.progress(1);
            ctx.progress(2);
            co_await g.pass();
            ctx.progress(3);
            co_return "done";
        });
        e.start(s);
        s.wire->stall();
        // Two are answered before the cancel arrives, one still runs.
        s.send(e.call("1", "steps", "\"a\""));
        s.send(e.call("2", "steps", "\"b\""));
        s.open(g);
        s.send(e.call("3", "steps", "\"c\""));
        s.cancel("1");
        s.wire->resume();
        s.loop->run();
        CHECK(s.answers_to("1") == 0);
        CHECK_FALSE(s.seen.mentions("\"a\""));
        CHECK(s.answer("2") == "done");
        CHECK(s.answer("3") == "done");
        std::string order;
        for (const json::value& p : s.seen.with_method("notifications/progress")) {
            order += std::string(p["params"]["progressToken"].as_string()) +
                     std::to_string(p["params"]["progress"].as_int());
        }
        CHECK(order == "b1b2b3c1c2c3");
    }
}

TEST_CASE("B5: an answer whose write has started is completed despite a cancel") {
    std::size_t whole = 0;
    {
        server_under_test s;
        s.tool("work", [] { return "a text of some length"; }, {.quick = true});
        s.start("2025-11-25");
        s.call("1", "work");
        whole = s.seen.take().at(0).size() + 1;
    }
    for (std::size_t n = 0; n <= whole; ++n) {
        CAPTURE(n);
        server_under_test s;
        s.tool("work", [] { return "a text of some length"; }, {.quick = true});
        s.start("2025-11-25");
        s.wire->accept(n);
        s.call("1", "work");
        CHECK(s.seen.partial().size() == (n == whole ? 0 : n));
        s.cancel("1");
        s.wire->resume();
        s.loop->run();
        CHECK(s.answers_to("1") == (n == 0 ? 0 : 1));
        s.call("2", "work");
        CHECK(s.answer("2") == "a text of some length");
    }
}

TEST_CASE("B8: a repeated cancel has no further effect") {
    gate never;
    gate cleanup;
    server_under_test s;
    int fired = 0;
    int thrown = 0;
    s.tool("park", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        std::stop_callback on_stop(ctx.stop_token(), [&] { ++fired; });
        for (gate* g : {&never, &cleanup}) {
            try {
                co_await g->pass();
            } catch (const cancelled&) {
                ++thrown;
            }
        }
        co_return "late";
    });
    s.start("2025-11-25");
    s.call("1", "park");
    for (int i = 0; i < 1000; ++i) s.cancel("1");
    CHECK(fired == 1);
    CHECK(thrown == 1);
    CHECK(cleanup.arrived() == 1);
    s.open(cleanup);
    for (int i = 0; i < 1000; ++i) s.cancel("1");
    CHECK(fired == 1);
    CHECK(s.seen.take().empty());
}

TEST_CASE("B10: initialize is answered despite a cancel") {
    server_under_test s;
    s.start();
    s.wire->stall();
    s.later_bytes(s.initialize_line("0", "2025-11-25") + "\n" + cancel_line("0") + "\n");
    s.loop->run();
    s.cancel("0");
    s.wire->resume();
    s.loop->run();
    CHECK(s.answers_to("0") == 1);
    CHECK(s.seen.answer_message("0")["result"]["protocolVersion"].if_string() == "2025-11-25");
}

TEST_CASE("B11: output of a handler after the cancel is discarded without an error") {
    for (const era& e : eras) {
        CAPTURE(e.name);
        gate never;
        gate cleanup;
        server_under_test s;
        s.tool("chatty", [&](context& ctx) -> task<std::string> {
            head_count::presence here(s.handlers);
            try {
                co_await never.pass();
            } catch (const cancelled&) {
            }
            for (int i = 1; i <= 100; ++i) {
                ctx.progress(i);
                ctx.log(log_level::error, "after the cancel");
            }
            co_await cleanup.pass();
            for (int i = 101; i <= 200; ++i) ctx.progress(i);
            co_return "late";
        });
        e.start(s);
        s.send(e.call("1", "chatty", "7"));
        s.cancel("1");
        s.open(cleanup);
        CHECK(s.in_flight() == 0);
        CHECK(s.seen.take().empty());
    }
}

TEST_CASE(
    "B12: the nested requests of a cancelled request fail at once, the peer gets a cancel for each, a third is "
    "refused") {
    server_under_test s;
    std::vector<std::string> ended;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        auto one = [&](const char* name) -> task<void> {
            try {
                co_await ctx.request(name, json::value());
            } catch (const cancelled&) {
                ended.push_back(std::string(name) + " cancelled");
                throw;
            }
        };
        try {
            co_await with_scope([&](scope& all) -> task<void> {
                all.spawn(one("roots/list"));
                all.spawn(one("example/second"));
                co_return;
            });
        } catch (const cancelled&) {
            ended.push_back("scope cancelled");
        }
        try {
            co_await ctx.request("third", json::value());
        } catch (const cancelled&) {
            ended.push_back("third refused");
        }
        co_return "late";
    });
    s.start("2025-11-25");
    s.call("1", "ask");
    auto asked = s.seen.take();
    REQUIRE(asked.size() == 2);
    std::vector<std::int64_t> ids = {json::parse(asked[0])["id"].as_int(), json::parse(asked[1])["id"].as_int()};
    s.cancel("1");
    REQUIRE(ended.size() >= 2);
    auto told = s.seen.with_method("notifications/cancelled");
    REQUIRE(told.size() == 2);
    CHECK(told[0]["params"]["requestId"].as_int() == ids[0]);
    CHECK(told[1]["params"]["requestId"].as_int() == ids[1]);
    CHECK(s.seen.take().size() == 2);  // only these two
    CHECK(ended.back() == "third refused");
    CHECK(s.in_flight() == 0);
    // Answers that arrive anyway are dropped.
    for (std::int64_t id : ids) s.send(result_line(std::to_string(id)));
    CHECK(s.seen.take().empty());
}

TEST_CASE("B13: a handler that throws after the cancel is logged, not answered") {
    gate never;
    server_under_test s;
    s.tool("fail", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await never.pass();
        } catch (const cancelled&) {
        }
        throw std::runtime_error("cleanup went wrong");
        co_return "";
    });
    s.start("2025-11-25");
    s.call("1", "fail");
    s.cancel("1");
    CHECK(s.seen.take().empty());
    CHECK(s.logged("cleanup went wrong"));
    s.finish();
}

TEST_CASE("B14: a handler that ignores its stop token and returns an hour later is not answered") {
    gate late;
    thread_gate late_thread;
    server_under_test s;
    s.tool("stubborn", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await late.pass();
        } catch (const cancelled&) {
        }
        co_await late.pass();
        co_return "at last";
    });
    s.tool("blocked", [&] {
        head_count::presence here(s.handlers);
        late_thread.pass();
        return "at last";
    });
    s.start("2025-11-25");
    s.call("1", "stubborn");
    s.call("2", "blocked");
    late_thread.wait_arrived(1);
    s.cancel("1");
    s.cancel("2");
    s.advance(1h);
    CHECK(s.in_flight() == 2);  // the connection is open, so they are not abandoned
    s.open(late);
    late_thread.open();
    s.until([&] { return s.in_flight() == 0; });
    CHECK(s.seen.take().empty());
    CHECK(s.ends.empty());
}

TEST_CASE("B15: cleanup that waits again and ends in time is awaited") {
    gate never;
    gate cleanup;
    server_under_test s;
    bool cleaned = false;
    s.tool("careful", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await never.pass();
        } catch (const cancelled&) {
        }
        co_await cleanup.pass();
        co_await sleep_for(500ms);
        cleaned = true;
        co_return "";
    });
    s.start("2025-11-25");
    s.call("1", "careful");
    s.eof();
    CHECK(cleanup.arrived() == 1);
    s.advance(1s);
    CHECK(s.ends.empty());
    s.open(cleanup);
    CHECK(s.ends.empty());
    s.advance(500ms);
    CHECK(cleaned);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].abandoned == 0);
    CHECK(s.ends[0].cause.empty());
}

TEST_CASE("B15: cleanup that does not end within its grace is abandoned") {
    gate never;
    gate cleanup;
    server_under_test s;
    s.tool("careless", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await never.pass();
        } catch (const cancelled&) {
        }
        co_await cleanup.pass();
        ctx.progress(1);
        co_return "";
    });
    s.start("2025-11-25");
    s.call("1", "careless", "{}", "1");
    s.eof();
    s.advance(2s - 1ms);
    CHECK(s.ends.empty());
    s.advance(1ms);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].abandoned == 1);
    CHECK(s.core->totals.abandoned == 1);
    auto before = s.seen.all().size();
    s.open(cleanup);  // its cleanup ends after the connection has been destroyed
    CHECK(s.handlers.here() == 0);
    CHECK(s.seen.all().size() == before);
}

TEST_CASE("B16: of 100 requests in flight every other one is cancelled, and 50 are answered") {
    for (std::uint64_t seed : {0U, 1U, 2U, 3U}) {
        CAPTURE(seed);
        gate g;
        server_under_test s({.seed = seed});
        s.tool("park", [&](context&) -> task<std::string> {
            head_count::presence here(s.handlers);
            co_await g.pass();
            co_return "done";
        });
        s.start("2025-11-25");
        for (int i = 0; i < 100; ++i) s.later(call_line(std::to_string(i), "park"));
        s.loop->run();
        CHECK(s.handlers.here() == 100);
        for (int i = 0; i < 100; i += 2) s.later(cancel_line(std::to_string(i)));
        s.loop->run();
        CHECK(s.handlers.here() == 50);
        s.open(g);
        for (int i = 0; i < 100; ++i) CHECK(s.answers_to(std::to_string(i)) == (i % 2 == 0 ? 0 : 1));
    }
}

TEST_CASE("B17: the reason of a cancel is passed to the handler and the log, truncated and escaped") {
    gate never;
    server_under_test s;
    std::vector<std::string> reasons;
    s.tool("park", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await never.pass();
        } catch (const cancelled&) {
            reasons.push_back(ctx.reason());
            throw;
        }
        co_return "";
    });
    s.start("2025-11-25");
    for (const char* id : {"1", "2", "3", "4"}) s.call(id, "park");
    s.cancel("1", "user pressed stop");
    s.cancel("2", "red \x1b[31m\nand more");
    s.cancel("3", std::string(100'000, 'x'));
    s.cancel("4");
    REQUIRE(reasons.size() == 4);
    CHECK(reasons[0] == "user pressed stop");
    CHECK(reasons[1] == R"(red \x1b[31m\x0aand more)");
    CHECK(reasons[2].size() < 250);
    CHECK(reasons[3].empty());
    CHECK(s.logged("user pressed stop"));
    CHECK(s.logged(R"(red \x1b[31m\x0aand more)"));
    for (const std::string& line : s.log()) CHECK(line.size() < 400);
}

TEST_CASE("B20: a client handles cancels of the server like a server those of the client") {
    gate never;
    gate late;
    peer_under_test c(rpc::role::client);
    int stopped = 0;
    c.on["park"] = [&](std::shared_ptr<rpc::request>) -> task<std::string> {
        try {
            co_await never.pass();
        } catch (const cancelled&) {
            ++stopped;
            throw;
        }
        co_return "{}";
    };
    c.on["stubborn"] = [&](std::shared_ptr<rpc::request>) -> task<std::string> {
        try {
            co_await late.pass();
        } catch (const cancelled&) {
        }
        co_await late.pass();
        co_return R"({"late":true})";
    };

    SUBCASE("B2: the wait ends, nothing is written, the next request is served") {
        c.send(request_line("1", "park"));
        c.cancel("1");
        CHECK(stopped == 1);
        CHECK(c.seen.take().empty());
        c.send(request_line("1", "quick"));
        CHECK(c.seen.answer("1") == "{}");
    }
    SUBCASE("B4: a queued answer is withdrawn") {
        c.wire->stall();
        c.send(request_line("1", "quick"));
        c.send(request_line("2", "quick"));
        c.cancel("1");
        c.wire->resume();
        c.loop->run();
        CHECK(c.seen.answers_to("1") == 0);
        CHECK(c.seen.answers_to("2") == 1);
    }
    SUBCASE("B5: a partially written answer is completed") {
        c.wire->accept(5);
        c.send(request_line("1", "quick"));
        c.cancel("1");
        c.wire->resume();
        c.loop->run();
        CHECK(c.seen.answers_to("1") == 1);
    }
    SUBCASE("B6: a cancel after the answer was written has no effect") {
        c.send(request_line("1", "quick"));
        c.seen.take();
        c.cancel("1");
        CHECK(c.seen.take().empty());
    }
    SUBCASE("B14: a late result is discarded") {
        c.send(request_line("1", "stubborn"));
        c.cancel("1");
        c.open(late);
        CHECK(c.seen.take().empty());
        CHECK(c.peer->core().count().dropped_late == 1);
    }
}
