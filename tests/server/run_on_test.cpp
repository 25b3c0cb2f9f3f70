// Handlers on an executor of the program: server_options::run_on and tool_options::run_on.

#include "support/harness.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <stdexcept>

namespace keel::test {

namespace {

/// The main thread of a program: its queue runs when the test says so.
struct main_thread {
    std::deque<std::function<void()>> queue;
    handler_executor executor() {
        return [this](std::function<void()> work) { queue.push_back(std::move(work)); };
    }
    void run() {
        while (!queue.empty()) {
            std::function<void()> work = std::move(queue.front());
            queue.pop_front();
            work();
        }
    }
};

server_settings with_run_on(handler_executor e, limits bounds = {}) {
    server_settings how;
    how.bounds = bounds;
    how.configure = [e](server_options& o) { o.run_on = e; };
    return how;
}

}  // namespace

TEST_CASE("run_on: plain handlers run where the executor runs them, quick ones and coroutines on the loop") {
    main_thread host;
    server_under_test s(with_run_on(host.executor()));
    bool done = false;
    s.tool("plain", [&] {
        done = true;
        return "plain";
    });
    s.tool("quick", [] { return "quick"; }, {.quick = true});
    s.tool("task", [](context&) -> task<std::string> { co_return "task"; });
    s.start("2025-11-25");
    s.call("1", "plain");
    s.call("2", "quick");
    s.call("3", "task");
    CHECK(s.answer("2") == "quick");
    CHECK(s.answer("3") == "task");
    CHECK(s.answers_to("1") == 0);
    CHECK_FALSE(done);
    host.run();
    s.loop->run();
    CHECK(s.answer("1") == "plain");
}

TEST_CASE("run_on: a tool has its own executor") {
    main_thread of_server;
    main_thread of_tool;
    server_under_test s(with_run_on(of_server.executor()));
    tool_options own;
    own.run_on = of_tool.executor();
    s.tool("own", [] { return "own"; }, own);
    s.tool("shared", [] { return "shared"; });
    s.start("2025-11-25");
    s.call("1", "own");
    s.call("2", "shared");
    CHECK(of_tool.queue.size() == 1);
    CHECK(of_server.queue.size() == 1);
    of_tool.run();
    of_server.run();
    s.loop->run();
    CHECK(s.answer("1") == "own");
    CHECK(s.answer("2") == "shared");

    own.quick = true;
    CHECK_THROWS_AS(s.tool("both", [] { return ""; }, own), std::invalid_argument);
    own.quick = false;
    CHECK_THROWS_AS(s.tool("task", []() -> task<std::string> { co_return ""; }, own), std::invalid_argument);
}

TEST_CASE("B1 run_on: a call that is cancelled before it runs does not run, and is over at once") {
    main_thread host;
    server_under_test s(with_run_on(host.executor()));
    int ran = 0;
    s.tool("count", [&] {
        ++ran;
        return "counted";
    });
    s.start("2025-11-25");
    s.call("1", "count");
    s.call("2", "count");
    s.cancel("1");
    CHECK(s.core->health().in_flight == 1);  // although the program has not run anything
    host.run();
    s.loop->run();
    CHECK(ran == 1);
    CHECK(s.answers_to("1") == 0);
    CHECK(s.answer("2") == "counted");
}

TEST_CASE("run_on: closing does not wait for a program that does not run its queue") {
    main_thread host;
    {
        server_under_test s(with_run_on(host.executor()));
        int ran = 0;
        s.tool("count", [&] {
            ++ran;
            return "counted";
        });
        s.start("2025-11-25");
        s.call("1", "count");
        s.on_loop([&] { s.session->close({}); });
        REQUIRE(s.ends.size() == 1);  // the clock has not advanced: no grace time was used
        CHECK(s.ends[0].abandoned == 0);
        CHECK(ran == 0);
        host.run();  // does nothing
        CHECK(ran == 0);
    }
}

TEST_CASE("run_on: a call that the program destroys, refuses or runs twice is answered exactly once") {
    server_settings how;
    int ran = 0;
    std::string internal = "error -32603 internal error";
    std::string log;
    SUBCASE("destroyed") {
        how = with_run_on([](std::function<void()>) {});
        log = "run_on destroyed the call";
    }
    SUBCASE("refused") {
        how = with_run_on([](const std::function<void()>&) { throw std::runtime_error("queue full"); });
        log = "run_on threw: queue full";
    }
    SUBCASE("refused without a std::exception") {
        how = with_run_on([](const std::function<void()>&) { throw 42; });
        log = "run_on threw an exception";
    }
    SUBCASE("run at once and again, and then refused") {
        how = with_run_on([](const std::function<void()>& work) {
            work();
            work();
            throw std::runtime_error("too late");
        });
    }
    server_under_test s(how);
    s.tool("count", [&] {
        ++ran;
        return "counted";
    });
    s.start("2025-11-25");
    s.call("1", "count");
    s.loop->run();
    CHECK(s.answers_to("1") == 1);
    CHECK(s.answer("1") == (log.empty() ? "counted" : internal));
    CHECK(ran == (log.empty() ? 1 : 0));
    bool logged = false;
    for (const std::string& line : s.log()) logged = logged || line.find(log) != std::string::npos;
    CHECK((log.empty() || logged));
}

TEST_CASE("run_on: cancelled calls that the program still holds are bounded") {
    main_thread host;
    limits bounds;
    bounds.max_in_flight_total = 3;
    server_under_test s(with_run_on(host.executor(), bounds));
    s.tool("count", [] { return "counted"; });
    s.start("2025-11-25");
    for (std::string id : {"1", "2", "3"}) {
        s.call(id, "count");
        s.cancel(id);
    }
    s.call("4", "count");
    CHECK(host.queue.size() == 3);
    CHECK(s.answers_to("4") == 1);
    CHECK(s.answer("4").find("too many calls are waiting for the program") != std::string::npos);
    host.run();
    s.call("5", "count");
    host.run();
    s.loop->run();
    CHECK(s.answer("5") == "counted");
}

TEST_CASE("run_on: the handler inside of middleware runs on the executor too") {
    main_thread host;
    server_under_test s(with_run_on(host.executor()));
    s.core->around.push_back([](request_call& call, next_handler next) -> task<json::value> {
        json::value result = co_await next(call);
        co_return result;
    });
    s.tool("plain", [] { return "plain"; });
    s.start("2025-11-25");
    SUBCASE("answered") {
        s.call("1", "plain");
        REQUIRE(host.queue.size() == 1);
        host.run();
        s.loop->run();
        CHECK(s.answer("1") == "plain");
    }
    SUBCASE("cancelled") {
        s.call("1", "plain");
        s.cancel("1");
        CHECK(s.core->health().in_flight == 0);
        host.run();
    }
}

}  // namespace keel::test
