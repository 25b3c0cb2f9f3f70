// Blocking work in coroutines: on_worker in handlers, and warnings about handlers that block the loop.

#include "support/harness.hpp"

#include <doctest/doctest.h>

namespace keel::test {

struct approval_form {
    bool yes = false;
};
KEEL_DESCRIBE(approval_form, yes)

namespace {

constexpr const char* may_ask = R"({"elicitation":{"form":{}}})";

task<std::string> ask_then_block(context& ctx, std::thread::id& ran_on) {
    elicited<approval_form> answer = co_await ctx.elicit<approval_form>("sure", "Really?");
    if (!answer || !answer->yes) co_return "not done";
    auto work = [&] {
        ran_on = std::this_thread::get_id();
        return std::string("done");
    };
    co_return co_await on_worker(work);
}

std::size_t warnings(const server_under_test& s) {
    std::size_t n = 0;
    for (const std::string& each : s.log()) {
        if (each.find("blocked the event loop") != std::string::npos) ++n;
    }
    return n;
}

}  // namespace

TEST_CASE("a tool asks the user and then blocks on a worker thread, in both eras") {
    std::thread::id ran_on;
    server_under_test s;
    s.tool("delete", [&](context& ctx) { return ask_then_block(ctx, ran_on); });
    s.start();
    SUBCASE("2025-11-25") {
        s.send(server_under_test::initialize_line("\"init\"", "2025-11-25", may_ask));
        s.send(notification_line("notifications/initialized"));
        s.seen.take();
        s.call("1", "delete");
        json::value question = json::parse(s.seen.take().at(0));
        REQUIRE(question["method"].as_string() == "elicitation/create");
        s.send(result_line(json::to_string(question["id"]), R"({"action":"accept","content":{"yes":true}})"));
        s.until([&] { return s.answers_to("1") == 1; });
        CHECK(s.answer("1") == "done");
    }
    SUBCASE("2026-07-28") {
        std::string params = R"({"name":"delete","arguments":{},)";
        std::string meta = meta_with("\"2026-07-28\"", may_ask);
        s.send(request_line("1", "tools/call", params + meta + "}"));
        json::value asked = s.seen.answer_message("1")["result"];
        REQUIRE(asked["resultType"].as_string() == "input_required");
        std::string key(asked["inputRequests"].members()[0].key());
        std::string answers = R"("inputResponses":{")" + key +
                              R"(":{"action":"accept","content":{"yes":true}}},"requestState":)" +
                              json::to_string(asked["requestState"]) + ",";
        s.send(request_line("2", "tools/call", params + answers + meta + "}"));
        s.until([&] { return s.answers_to("2") == 1; });
        CHECK(s.answer("2") == "done");
    }
    CHECK(ran_on != std::thread::id());
    CHECK(ran_on != std::this_thread::get_id());
}

TEST_CASE("on_worker in a handler uses the threads of its server, also in tasks that it spawns") {
    server_under_test s;
    thread_gate both;
    s.tool("two", [&](context&) -> task<std::string> {
        auto work = [&] {
            both.pass();
            return 21;
        };
        auto [a, b] = co_await when_all(on_worker(work), on_worker(work));
        co_return std::to_string(a + b);
    });
    s.start("2025-11-25");
    s.call("1", "two");
    both.wait_arrived(2);
    CHECK(s.core->started_workers()->busy() == 2);
    both.open();
    s.until([&] { return s.answers_to("1") == 1; });
    CHECK(s.answer("1") == "42");
}

TEST_CASE("B2: a cancelled call ends when its function on a worker thread returns") {
    server_under_test s;
    thread_gate running;
    std::atomic<bool> told = false;
    s.tool("slow", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        auto work = [&](std::stop_token stop) {
            std::stop_callback notice(stop, [&] { told = true; });
            running.pass();
            return std::string("too late");
        };
        co_return co_await on_worker(work);
    });
    s.start("2025-11-25");
    s.call("1", "slow");
    running.wait_arrived(1);
    s.cancel("1");
    CHECK(told);
    CHECK(s.handlers.here() == 1);
    running.open();
    s.until([&] { return s.handlers.here() == 0; });
    CHECK(s.answers_to("1") == 0);
}

TEST_CASE("on_worker fails as overload if too many functions wait for a thread") {
    server_settings how;
    how.workers = 1;
    how.bounds.max_in_flight_total = 2;
    server_under_test s(how);
    thread_gate busy;
    s.tool("hold", [&](context&) -> task<std::string> {
        auto work = [&] { busy.pass(); };
        std::vector<task<void>> many;
        for (int i = 0; i < 4; ++i) many.push_back(on_worker(work));
        std::vector<settled<void>> all = co_await when_all_settled(std::move(many));
        std::size_t refused = 0;
        for (auto& each : all) refused += each ? 0 : 1;
        co_return std::to_string(refused) + " refused";
    });
    s.start("2025-11-25");
    s.call("1", "hold");
    busy.open();
    s.until([&] { return s.answers_to("1") == 1; });
    // One function runs or waits, two wait.
    CHECK((s.answer("1") == "1 refused" || s.answer("1") == "2 refused"));
}

TEST_CASE("a handler that blocks the loop is logged with the name of its tool") {
    server_under_test s;
    manual_loop& clock = *s.loop;
    // The clock of the loop moves only here: the handler seems to take this long.
    s.tool("quick",
           [&] {
               clock.take_time(101ms);
               return "done";
           },
           {.quick = true});
    s.tool("at_start", [&](context& ctx) -> task<std::string> {
        clock.take_time(250ms);
        co_await ctx.yield();
        co_return "done";
    });
    s.tool("later", [&](context& ctx) -> task<std::string> {
        co_await ctx.yield();
        clock.take_time(250ms);
        co_await ctx.yield();
        co_return "done";
    });
    s.tool("at_end", [&](context& ctx) -> task<std::string> {
        co_await ctx.yield();
        clock.take_time(250ms);
        co_return "done";
    });
    s.tool("in_child", [&](context&) -> task<std::string> {
        auto child = [&]() -> task<int> {
            co_await yield();
            clock.take_time(250ms);
            co_await yield();
            co_return 1;
        };
        co_await when_all(child());
        co_return "done";
    });
    s.start("2025-11-25");
    for (const char* name : {"quick", "at_start", "later", "at_end", "in_child"}) {
        CAPTURE(name);
        std::size_t before = warnings(s);
        s.call("\"" + std::string(name) + "\"", name);
        CHECK(warnings(s) == before + 1);
        CHECK(s.logged("warning: tool \"" + std::string(name) + "\" blocked the event loop for"));
    }
    CHECK(s.logged("blocked the event loop for 101 ms"));
}

TEST_CASE("handlers that wait, and short ones, are not logged as blocking") {
    server_under_test s;
    manual_loop& clock = *s.loop;
    s.tool("short",
           [&] {
               clock.take_time(100ms);
               return "done";
           },
           {.quick = true});
    s.tool("sleeps", [](context& ctx) -> task<std::string> {
        co_await ctx.sleep(1h);
        co_return "done";
    });
    s.tool("works", [&](context&) -> task<std::string> {
        auto work = [] { return std::string("done"); };
        co_return co_await on_worker(work);
    });
    s.start("2025-11-25");
    s.call("1", "sleeps");
    s.advance(1h);
    CHECK(s.answer("1") == "done");
    s.later(call_line("2", "short"));
    s.later(call_line("3", "short"));  // each is short, together they are not
    s.loop->run();
    CHECK(s.answer("3") == "done");
    s.call("4", "works");
    s.advance(1h);  // the thread takes this long
    s.until([&] { return s.answers_to("4") == 1; });
    CHECK(warnings(s) == 0);
}

TEST_CASE("the limit for blocking handlers can be changed and turned off") {
    for (duration limit : {duration(0s), duration(1s), duration(1ms)}) {
        CAPTURE(limit.count());
        server_settings how;
        how.adjust = [limit](server_options& o) { o.blocking_warning = limit; };
        server_under_test s(how);
        s.tool("t",
               [&] {
                   s.loop->take_time(500ms);
                   return "done";
               },
               {.quick = true});
        s.start("2025-11-25");
        s.call("1", "t");
        CHECK(warnings(s) == (limit == 1ms ? 1 : 0));
    }
}

}  // namespace keel::test
