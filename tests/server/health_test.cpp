// server::health.

#include "feature_server.hpp"
#include "line_client.hpp"
#include "server/method_stats.hpp"

#include <thread>

namespace keel::test {

namespace {

using server_side::duration_histogram;

bool about(std::chrono::nanoseconds is, std::chrono::nanoseconds should) {
    auto off = is > should ? is - should : should - is;
    return off <= should / 8;
}

struct pause_args {
    int ms = 0;
};
KEEL_DESCRIBE(pause_args, ms)

task<std::string> pause(context& ctx, pause_args a) {
    co_await ctx.sleep(std::chrono::milliseconds(a.ms));
    co_return "rested";
}

class clinic : public feature_server {
public:
    explicit clinic(server_settings how = {}) : feature_server(std::move(how)) {
        tool("pause", [](context& ctx, pause_args a) { return pause(ctx, a); });
        tool("quick", [] { return "quick"; }, {.quick = true});
        tool("refuse", []() -> std::string { throw error(1500, "no"); }, {.quick = true});
        tool("unwell", []() -> tool_result { return tool_result::failure("unwell"); }, {.quick = true});
    }
    method_health of(const std::string& method) const {
        auto all = core->health().methods;
        auto at = all.find(method);
        return at == all.end() ? method_health() : at->second;
    }
    void pause_for(int id, int ms) {
        later(call_line(std::to_string(id), "pause", R"({"ms":)" + std::to_string(ms) + "}"));
    }
};

}  // namespace

TEST_CASE("the lower bound of a duration's bucket is at most 1/8 below it") {
    std::size_t before = 0;
    for (std::uint64_t n = 0; n < 100000; ++n) {
        std::size_t b = duration_histogram::bucket_of(n);
        REQUIRE(duration_histogram::begin_of(b) <= n);
        REQUIRE((n - duration_histogram::begin_of(b)) * 8 <= duration_histogram::begin_of(b));
        REQUIRE((b == before || b == before + 1));
        before = b;
    }
    for (unsigned bit = 4; bit < duration_histogram::longest_bits; ++bit) {
        std::uint64_t n = std::uint64_t{1} << bit;
        CHECK(duration_histogram::begin_of(duration_histogram::bucket_of(n)) == n);
        CHECK(duration_histogram::bucket_of(n) == duration_histogram::bucket_of(n - 1) + 1);
    }
    CHECK(duration_histogram::bucket_of(~std::uint64_t{0}) == duration_histogram::bucket_count - 1);
}

TEST_CASE("percentiles match the recorded durations") {
    duration_histogram h;
    CHECK(h.read().count == 0);
    CHECK(h.read().p99 == 0ns);
    for (int i = 1; i <= 1000; ++i) h.add(std::chrono::milliseconds(i), i % 100 == 0);
    method_health read = h.read();
    CHECK(read.count == 1000);
    CHECK(read.errors == 10);
    CHECK(about(read.p50, 500ms));
    CHECK(about(read.p90, 900ms));
    CHECK(about(read.p99, 990ms));
    CHECK(read.slowest == 1000ms);

    duration_histogram odd;
    odd.add(-5ns, false);       // the clock moved backwards
    odd.add(24h * 365, false);  // beyond the last bucket
    CHECK(odd.read().p50 == 0ns);
    CHECK(odd.read().p99 == 24h * 365);
}

TEST_CASE("requests and protocol errors are counted by method; tool-level errors are not errors") {
    clinic s;
    s.speak("2025-11-25");
    for (const char* each : {"quick", "quick", "refuse", "unwell", "no-such-tool"}) {
        s.ask("tools/call", R"("name":")" + std::string(each) + '"');
    }
    s.ask("tools/list");
    s.ask("ping");
    s.ask("ping");
    s.ask("some/thing");
    s.ask("other/thing");
    CHECK(s.of("tools/call").count == 5);
    CHECK(s.of("tools/call").errors == 2);
    CHECK(s.of("tools/list").count == 1);
    CHECK(s.of("ping").count == 2);
    CHECK(s.of("").count == 2);
    CHECK(s.of("").errors == 2);
    CHECK(s.of("initialize").count == 1);
    server_health h = s.core->health();
    CHECK(h.methods.size() == 5);  // only methods that were called
    CHECK(h.requests == 11);
    CHECK(h.in_flight == 0);
}

TEST_CASE("durations are measured from reading to answering, with the loop's clock") {
    clinic s;
    s.speak("2025-11-25");
    for (int i = 0; i < 90; ++i) s.pause_for(i, 100);
    for (int i = 90; i < 100; ++i) s.pause_for(i, 5000);
    s.loop->run();
    CHECK(s.of("tools/call").count == 0);
    CHECK(s.core->health().in_flight == 100);
    s.advance(10s);
    method_health h = s.of("tools/call");
    CHECK(h.count == 100);
    CHECK(h.errors == 0);
    CHECK(about(h.p50, 100ms));
    CHECK(about(h.p90, 100ms));
    CHECK(about(h.p99, 5s));
    CHECK(h.slowest == 5s);
}

TEST_CASE("B3: a cancelled request is counted once, at its cancel, however long its handler runs") {
    clinic s;
    gate late;
    s.tool("stubborn", [&](context& ctx) -> task<std::string> {
        try {
            co_await ctx.sleep(1h);
        } catch (const cancelled&) {
        }
        co_await late.pass();
        co_return "unheard";
    });
    s.speak("2025-11-25");
    s.call("1", "stubborn");
    s.advance(3s);
    s.cancel("1");
    CHECK(s.of("tools/call").count == 1);
    CHECK(s.of("tools/call").errors == 0);
    CHECK(s.of("tools/call").slowest == 3s);
    CHECK(s.core->health().in_flight == 1);
    CHECK(s.core->health().dropped_late == 0);
    s.advance(1min);
    s.open(late);
    CHECK(s.of("tools/call").count == 1);
    CHECK(s.core->health().in_flight == 0);
    CHECK(s.core->health().dropped_late == 1);  // counted although no message has arrived since
}

TEST_CASE("B1: a request that is cancelled before it starts is counted too") {
    clinic s;
    s.speak("2025-03-26");
    s.send("[" + call_line("1", "quick") + "," + cancel_line("1") + "," + call_line("2", "quick") + "]");
    CHECK(s.answers_to("1") == 0);
    CHECK(s.of("tools/call").count == 2);
}

TEST_CASE("F4: the abandoned handlers of a connection are counted when it ends") {
    for (bool orderly : {true, false}) {
        CAPTURE(orderly);
        clinic s;
        gate late;
        s.tool("stubborn", [&](context& ctx) -> task<std::string> {
            try {
                co_await ctx.sleep(1h);
            } catch (const cancelled&) {
            }
            co_await late.pass();
            co_return "unheard";
        });
        s.speak("2025-11-25");
        s.call("1", "stubborn");
        s.pause_for(2, 60000);
        s.loop->run();
        s.advance(2s);
        if (orderly) s.close();
        else s.wire->fail_read(ECONNRESET);
        s.loop->run();
        CHECK(s.of("tools/call").count == 2);
        CHECK(s.of("tools/call").errors == (orderly ? 2 : 0));  // "server shutting down", or no client is left
        CHECK(s.of("tools/call").slowest == 2s);
        s.advance(10s);
        CHECK(s.core->health().abandoned == 1);
        CHECK(s.core->health().in_flight == 0);
        s.open(late);
        CHECK(s.of("tools/call").count == 2);
    }
}

TEST_CASE("rejected input is counted at once, even if no request follows") {
    clinic s;
    s.speak("2025-11-25");
    s.seen.expect_off_schema("input that is not of the protocol");
    s.send("{oops");
    s.send(R"({"neither":"fish"})");
    s.send(R"([1])");
    CHECK(s.core->health().rejected_input == 3);
}

TEST_CASE("MRTR-01: a call that asks is counted once per round; the time of a middleware is included") {
    clinic s;
    s.core->around.push_back([](request_call& call, next_handler next) -> task<json::value> {
        co_await call.ctx.sleep(250ms);
        co_return co_await next(call);
    });
    s.speak("2025-11-25");
    s.send(call_line("1", "quick"));
    s.advance(1s);
    CHECK(s.of("tools/call").count == 1);
    CHECK(s.of("tools/call").slowest == 250ms);
}

TEST_CASE("custom methods are counted by name; beyond a limit they are counted as unknown") {
    server s({.name = "test", .version = "1"});
    for (int i = 0; i < 70; ++i) {
        s.add_method("example/m" + std::to_string(i), [](context&, const json::value&) { return json::object(); });
    }
    std::string path = fresh_socket_path();
    s.start(endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    for (int i = 0; i < 70; ++i) {
        c.ask(request_line(std::to_string(i), "example/m" + std::to_string(i)));
    }
    auto methods = s.health().methods;
    CHECK(methods.at("example/m0").count == 1);
    CHECK(methods.at("example/m63").count == 1);
    CHECK_FALSE(methods.contains("example/m64"));
    CHECK(methods.at("").count == 6);
    CHECK(methods.at("").errors == 0);
    CHECK(methods.at("initialize").count == 1);
}

TEST_CASE("health can be called from any thread while several connections are served") {
    server s({.name = "test", .version = "1"});
    s.add_tool("quick", "", [] { return "quick"; }, {.quick = true});
    s.add_tool("worker", "", [] { return "worker"; });
    s.add_tool("coroutine", "", [](context& ctx) -> task<std::string> {
        co_await ctx.yield();
        co_return "coroutine";
    });
    std::string path = fresh_socket_path();
    s.start(endpoint::unix_socket(path));
    std::atomic<bool> stop{false};
    std::thread watcher([&] {
        std::uint64_t before = 0;
        for (int i = 0; !stop; ++i) {
            auto h = s.health();
            std::uint64_t now = h.methods.contains("tools/call") ? h.methods["tools/call"].count : 0;
            if (now < before) FAIL_CHECK("a count went back");
            before = now;
            s.add_method("example/m" + std::to_string(i), [](context&, const json::value&) { return json::object(); });
            if (i == 200) break;
        }
    });
    std::vector<std::thread> clients;
    for (int t = 0; t < 3; ++t) {
        clients.emplace_back([&] {
            line_client c(path);
            c.open_session();
            const char* names[] = {"quick", "worker", "coroutine"};
            for (int i = 0; i < 60; ++i) c.call(i, names[i % 3]);
        });
    }
    for (auto& t : clients) t.join();
    stop = true;
    watcher.join();
    s.stop();
    server_health h = s.health();
    CHECK(h.methods.at("tools/call").count == 180);
    CHECK(h.methods.at("tools/call").slowest > 0ns);
    CHECK(h.methods.at("tools/call").p50 <= h.methods.at("tools/call").p99);
    CHECK(h.methods.at("tools/call").p99 <= h.methods.at("tools/call").slowest);
    CHECK(h.requests == 183);
    CHECK(h.in_flight == 0);
    CHECK(h.connections == 0);
}

}  // namespace keel::test
