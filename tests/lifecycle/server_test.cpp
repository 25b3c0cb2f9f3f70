// Lifecycle rules F6 and G1 to G4 for the public class `server`, on a loop that the test runs.

#include "support/gate.hpp"
#include "support/manual_loop.hpp"
#include "support/scripted_connection.hpp"
#include "support/tap.hpp"

#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// A server with one client, on the loop of the test.
struct served {
    explicit served(server_options options = {}) : wire(std::make_shared<script>(loop)), seen(wire) {
        implementation about;
        about.name = "served";
        about.version = "1";
        s = std::make_unique<server>(std::move(about), std::move(options));
    }
    ~served() {
        s.reset();
        loop->advance(10s);
        CHECK(ends.size() == 1);
        CHECK(wire->destroyed());
        CHECK(loop->ready() == 0);
        CHECK(loop->timers() == 0);
        seen.check_ledger();
    }
    void connect() {
        s->serve(loop, wire->open(), [this](const connection_end& end) { ends.push_back(end); });
        send(request_line(
            "0", "initialize",
            R"({"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"0"}})"));
        send(notification_line("notifications/initialized"));
        seen.take();
    }
    void send(std::string line) {
        seen.note_input(line);
        wire->feed(std::move(line) + "\n");
        loop->run();
    }

    std::shared_ptr<manual_loop> loop = std::make_shared<manual_loop>();
    std::shared_ptr<script> wire;
    tap seen;
    std::unique_ptr<server> s;
    std::vector<connection_end> ends;
};

}  // namespace

TEST_CASE("G4: a server that is destroyed while handlers run ends like a closed one") {
    gate never;
    gate deaf;
    head_count handlers;
    served t;
    std::string nested;
    t.s->add_tool("park", "", [&](context&) -> task<std::string> {
        head_count::presence here(handlers);
        co_await never.pass();
        co_return "";
    });
    t.s->add_tool("deaf", "", [&](context& ctx) -> task<std::string> {
        head_count::presence here(handlers);
        for (int i = 0; i < 2; ++i) {
            try {
                co_await deaf.pass();
            } catch (const cancelled&) {
            }
        }
        ctx.progress(1);
        co_return "late";
    });
    t.s->add_tool("ask", "", [&](context& ctx) -> task<std::string> {
        head_count::presence here(handlers);
        try {
            co_await ctx.request("roots/list", json::value());
        } catch (const error& e) {
            nested = name_of(e.kind());
        }
        co_return "";
    });
    t.connect();
    t.send(call_line("1", "park"));
    t.send(call_line("2", "ask"));
    bool abandon = false;
    SUBCASE("all of them stop when they are cancelled") {}
    SUBCASE("one ignores its cancellation") {
        abandon = true;
        t.send(call_line("3", "deaf", "{}", "3"));
    }
    t.s.reset();
    t.loop->run();
    CHECK(t.seen.answer("1") == "error -32603 server shutting down");
    CHECK(t.seen.answer("2") == "error -32603 server shutting down");
    CHECK(nested == "connection closed");
    CHECK(handlers.here() == (abandon ? 1 : 0));
    CHECK(t.ends.size() == (abandon ? 0 : 1));
    t.loop->advance(2s);
    REQUIRE(t.ends.size() == 1);
    CHECK(t.ends[0].abandoned == (abandon ? 1 : 0));
    t.loop->post([&] { deaf.open(); });
    t.loop->run();
    CHECK(handlers.here() == 0);
}

TEST_CASE("G4: a server can be destroyed while a worker runs") {
    thread_gate g;
    head_count handlers;
    served t;
    t.s->add_tool("work", "", [&](context& ctx) {
        head_count::presence here(handlers);
        std::stop_callback on_stop(ctx.stop_token(), [&] { g.open(); });
        g.pass();
        ctx.progress(1);
        return std::string("late");
    });
    t.connect();
    t.send(call_line("1", "work", "{}", "1"));
    g.wait_arrived(1);
    t.s.reset();
    t.loop->run();
    CHECK(handlers.here() == 0);
    CHECK(t.seen.answer("1") == "error -32603 server shutting down");
    REQUIRE(t.ends.size() == 1);
    CHECK(t.ends[0].abandoned == 0);
}

TEST_CASE(
    "G4: a call that waits for a worker thread ends when its server is destroyed; only a blocked one is abandoned") {
    auto g = std::make_shared<thread_gate>();  // held by the handler and its calls
    server_options options;
    options.worker_threads = 1;
    options.limits.cleanup_grace = 10ms;
    served t(options);
    t.s->add_tool("work", "", [g](context&) {
        g->pass();
        return std::string("late");
    });
    SUBCASE("without middleware") {}
    SUBCASE("with middleware") {
        t.s->use([](request_call& call, next_handler next) -> task<json::value> { co_return co_await next(call); });
    }
    t.connect();
    t.send(call_line("1", "work"));
    g->wait_arrived(1);
    t.send(call_line("2", "work"));
    t.s.reset();
    t.loop->run();
    t.loop->advance(1s);
    REQUIRE(t.ends.size() == 1);
    CHECK(t.ends[0].abandoned == 1);
    g->open();
    while (g.use_count() > 1) t.loop->run();
}

TEST_CASE("F6: a handler may request a stop of its server, but not wait for it") {
    served t;
    std::vector<std::string> refused;
    auto try_to_wait = [&] {
        try {
            t.s->stop();
        } catch (const std::logic_error& e) {
            refused.emplace_back(e.what());
        }
        try {
            t.s->wait();
        } catch (const std::logic_error& e) {
            refused.emplace_back(e.what());
        }
    };
    t.s->add_tool("quick", "",
                  [&] {
                      try_to_wait();
                      t.s->request_stop();
                      return "stopped";
                  },
                  {.quick = true});
    t.s->add_tool("coroutine", "", [&](context& ctx) -> task<std::string> {
        co_await ctx.yield();
        try_to_wait();
        t.s->request_stop();
        co_return "stopped";
    });
    t.connect();
    SUBCASE("a quick tool") { t.send(call_line("1", "quick")); }
    SUBCASE("a coroutine") { t.send(call_line("1", "coroutine")); }
    REQUIRE(refused.size() == 2);
    for (const std::string& each : refused) CHECK(each.find("request_stop") != std::string::npos);
    CHECK(t.ends.size() == 1);
    CHECK(t.seen.answers_to("1") == 1);
}

TEST_CASE("F6: a handler on a worker thread may request a stop, but not wait for it") {
    thread_gate done;
    std::atomic<int> refused{0};
    served t;
    t.s->add_tool("worker", "", [&] {
        try {
            t.s->stop();
        } catch (const std::logic_error&) {
            ++refused;
        }
        t.s->request_stop();
        done.open();
        return "stopped";
    });
    t.connect();
    t.send(call_line("1", "worker"));
    done.pass();
    while (t.ends.empty()) {
        t.loop->wait_for_work();
        t.loop->run();
    }
    CHECK(refused == 1);
    CHECK(t.seen.answers_to("1") == 1);
}

TEST_CASE("G1: a stop also closes a connection that has not reached its loop yet") {
    served t;
    std::thread([&] {
        t.s->serve(t.loop, t.wire->open(), [&](const connection_end& end) { t.ends.push_back(end); });
    }).join();
    t.s->request_stop();
    t.loop->run();
    CHECK(t.ends.size() == 1);
    t.s->stop();
}

TEST_CASE("G1: many threads may request a stop many times") {
    gate never;
    served t;
    t.s->add_tool("park", "", [&](context&) -> task<std::string> {
        co_await never.pass();
        co_return "";
    });
    t.s->request_stop();  // before it serves anything
    {
        // A stopped server refuses connections.
        bool refused = false;
        auto wire = std::make_shared<script>(t.loop);
        t.s->serve(t.loop, wire->open(),
                   [&](const connection_end& end) { refused = end.cause.starts_with("refused"); });
        CHECK(refused);
        CHECK(wire->destroyed());
    }
    served u;
    u.s->add_tool("park", "", [&](context&) -> task<std::string> {
        co_await never.pass();
        co_return "";
    });
    u.connect();
    u.send(call_line("1", "park"));
    std::latch together(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            together.arrive_and_wait();
            for (int n = 0; n < 10; ++n) u.s->request_stop(n % 2 == 0 ? duration(0) : duration(1h));
        });
    }
    while (u.ends.empty()) {
        u.loop->wait_for_work();
        u.loop->run();
    }
    for (std::thread& each : threads) each.join();
    u.loop->run();
    CHECK(u.ends.size() == 1);
    CHECK(u.seen.answer("1") == "error -32603 server shutting down");
    u.s->stop();
    CHECK(u.s->wait().cause.empty());
    t.ends.emplace_back();  // it never had a connection
    (void)t.wire->open();
}
