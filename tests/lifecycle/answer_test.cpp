// Lifecycle rules A over a server session: ids, and exactly one answer.

#include "support/harness.hpp"

#include <thread>

using namespace keel;
using namespace keel::test;

TEST_CASE("A2: progress and log messages are sent in order, then the answer, then nothing") {
    std::optional<context> saved;
    auto work = [&saved](context& ctx) {
        saved = ctx;
        ctx.progress(1, 3, "first");
        ctx.log(log_level::info, "between");
        ctx.progress(2, 3);
        ctx.progress(3, 3, "last");
        return std::string("done");
    };
    server_under_test s;
    s.tool("quick", work, {.quick = true});
    s.tool("worker", work);
    s.tool("coroutine", [&](context& ctx) -> task<std::string> {
        std::string text = work(ctx);
        co_return text;
    });
    s.start("2025-11-25");
    int n = 0;
    for (const char* kind : {"quick", "worker", "coroutine"}) {
        CAPTURE(kind);
        std::string id = std::to_string(++n);
        s.call(id, kind, "{}", "\"t" + id + "\"");
        s.until([&] { return s.in_flight() == 0; });
        auto frames = s.seen.take();
        REQUIRE(frames.size() == 5);
        std::string token =
            R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t)" + id + "\"";
        CHECK(frames[0] == token + R"(,"progress":1,"total":3,"message":"first"}})");
        CHECK(frames[1] ==
              R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"between"}})");
        CHECK(frames[2] == token + R"(,"progress":2,"total":3}})");
        CHECK(frames[3] == token + R"(,"progress":3,"total":3,"message":"last"}})");
        CHECK(json::parse(frames[4])["id"].as_int() == n);
        saved->progress(4);
        saved->log(log_level::error, "too late");
        std::thread([&] { saved->progress(5); }).join();
        s.loop->run();
        CHECK(s.seen.take().empty());
    }
    saved.reset();
}

TEST_CASE("A8: an answered id can be reused 100,000 times, without a leak") {
    server_under_test s({.quiet = true});
    s.tool("quick", [] { return "done"; }, {.quick = true});
    s.tool("coroutine", [](context& ctx) -> task<std::string> {
        co_await ctx.yield();
        co_return "done";
    });
    s.start();
    s.send(s.initialize_line("0", "2025-11-25"));
    s.call("5", "quick");
    s.call("5", "coroutine");
    std::size_t each = s.wire->bytes_taken();
    s.call("5", "quick");
    s.call("5", "coroutine");
    std::size_t timers = s.loop->timers();
    each = s.wire->bytes_taken() - each;
    std::size_t before = s.wire->bytes_taken();
    constexpr std::size_t rounds = 50'000;
    for (std::size_t i = 0; i < rounds; ++i) {
        s.call("5", "quick");
        s.call("5", "coroutine");
        if (s.in_flight() != 0 || s.loop->timers() != timers) break;
    }
    CHECK(s.in_flight() == 0);
    CHECK(s.loop->timers() == timers);
    CHECK(s.wire->bytes_taken() - before == each * rounds);
}

TEST_CASE("A9: a cancelled id can be reused while the old handler still runs") {
    gate old_gate;
    gate new_gate;
    server_under_test s;
    int count = 0;
    s.tool("park", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        bool first = count++ == 0;
        gate& mine = first ? old_gate : new_gate;
        try {
            co_await mine.pass();
        } catch (const cancelled&) {
        }
        co_await mine.pass();
        ctx.progress(first ? 1 : 10);
        co_return first ? "old" : "new";
    });
    s.start("2025-11-25");
    s.call("5", "park", "{}", "1");
    s.cancel("5");
    s.call("5", "park", "{}", "1");
    CHECK(s.handlers.here() == 2);
    s.open(old_gate);
    CHECK(s.handlers.here() == 1);
    CHECK(s.seen.take().empty());
    s.open(new_gate);
    CHECK(s.answers_to("5") == 1);
    CHECK(s.answer("5") == "new");
    CHECK(s.seen.take().size() == 2);
}

TEST_CASE("A9: a cancelled id can be reused while the old handler still runs on a worker thread") {
    thread_gate old_gate;
    thread_gate new_gate;
    server_under_test s;
    std::atomic<int> count{0};
    s.tool("park", [&] {
        bool first = count++ == 0;
        (first ? old_gate : new_gate).pass();
        return first ? "old" : "new";
    });
    s.start("2025-11-25");
    s.call("5", "park");
    old_gate.wait_arrived(1);
    s.cancel("5");
    s.call("5", "park");
    new_gate.wait_arrived(1);
    old_gate.open();
    s.until([&] { return s.in_flight() == 1; });
    CHECK(s.seen.take().empty());
    new_gate.open();
    s.until([&] { return s.in_flight() == 0; });
    CHECK(s.answer("5") == "new");
}

TEST_CASE("A12, F5: ping, cancel, quick tools and timeouts work while every worker is blocked") {
    thread_gate busy;
    gate never;
    server_under_test s;
    int slept = 0;
    s.tool("block", [&] {
        busy.pass();
        return "done";
    });
    s.tool("quick", [] { return "quick"; }, {.quick = true});
    s.tool("sleep", [&](context& ctx) -> task<std::string> {
        co_await ctx.sleep(1s);
        ++slept;
        co_return "slept";
    });
    s.tool("park", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await never.pass();
        co_return "";
    });
    s.start("2025-11-25");
    for (int i = 0; i < 5; ++i) s.call(std::to_string(i), "block");
    busy.wait_arrived(2);
    s.later(request_line("\"p\"", "ping"));
    REQUIRE(s.loop->step());  // one turn of the reader
    CHECK(s.answer("\"p\"") == "{}");
    s.call("10", "park");
    s.cancel("10");
    CHECK(s.handlers.here() == 0);
    s.call("11", "quick");
    CHECK(s.answer("11") == "quick");
    s.call("12", "sleep");
    s.advance(1s);
    CHECK(s.answer("12") == "slept");
    busy.open();
    s.until([&] { return s.in_flight() == 0; });
    for (int i = 0; i < 5; ++i) CHECK(s.answer(std::to_string(i)) == "done");
}
