// Requests to the client on 2026-07-28 in edge cases: no call hangs, none is answered twice, nothing leaks.

#include "support/harness.hpp"

#include <keel/async.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace keel::test {

struct approval {
    bool yes = false;
};
KEEL_DESCRIBE(approval, yes)

namespace {

constexpr const char* capabilities = R"({"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}})";

std::string asking_line(std::string_view id, std::string_view tool, std::string_view more = "") {
    return request_line(id, "tools/call",
                        R"({"name":")" + std::string(tool) + R"(","arguments":{},)" + std::string(more) +
                            meta_with("\"2026-07-28\"", capabilities) + "}");
}

/// The keys of the questions in an answer, as "key key", or how else the call ended.
std::string outcome(server_under_test& s, std::string_view id) {
    if (s.answers_to(id) == 0) return "nothing";
    json::value m = s.seen.answer_message(id);
    if (m["result"]["resultType"].if_string() != std::string_view("input_required")) return s.answer(id);
    std::string keys;
    for (const json::member& each : m["result"]["inputRequests"].members()) {
        if (!keys.empty()) keys += ' ';
        keys += each.key();
    }
    return keys;
}

task<std::string> ask_once(context& ctx) {
    auto a = co_await ctx.elicit<approval>("k", "?");
    co_return a ? "yes" : "no";
}

/// Runs the next middleware or handler in its own scope, like a middleware that enforces a timeout.
task<json::value> run_in_scope(request_call& call, next_handler next) {
    json::value result;
    auto one = [&]() -> task<void> { result = co_await next(call); };
    co_await with_scope([&](scope& s) -> task<void> {
        s.spawn(one());
        co_return;
    });
    co_return result;
}

}  // namespace

TEST_CASE("a middleware can wait after a requestState was rejected") {
    server_under_test s;
    s.tool("ask", &ask_once);
    s.core->around.push_back([](request_call& call, next_handler next) -> task<json::value> {
        std::exception_ptr failed;
        json::value r;
        try {
            r = co_await next(call);
        } catch (const error&) {
            failed = std::current_exception();
        }
        co_await call.ctx.sleep(1ms);
        if (failed) std::rethrow_exception(failed);
        co_return r;
    });
    s.start();
    s.send(asking_line("1", "ask", R"("requestState":"AAAA",)"));
    s.advance(10ms);
    CHECK(outcome(s, "1") == "error -32602 requestState is not valid for this request");
}

TEST_CASE("a handler that ignores the end of its round and asks again is ended at once") {
    server_under_test s;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence inside(s.handlers);
        try {
            co_await ctx.elicit<approval>("a", "?");
        } catch (const std::exception&) {
            // like code that reports every failure as text
        }
        co_await ctx.elicit<approval>("b", "?");
        co_return "done";
    });
    s.start();
    s.send(asking_line("1", "ask"));
    CHECK(outcome(s, "1") == "a");
    CHECK(s.handlers.here() == 0);
}

TEST_CASE("a handler cannot ask the client in its cleanup after a cancel (B12, F10)") {
    server_under_test s;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence inside(s.handlers);
        try {
            co_await ctx.sleep(1h);
        } catch (const std::exception&) {
            // continues anyway
        }
        co_return co_await ask_once(ctx);
    });
    s.start();
    s.send(asking_line("1", "ask"));
    s.cancel("1");
    CHECK(s.in_flight() == 0);
    CHECK(s.handlers.here() == 0);
    CHECK(s.answers_to("1") == 0);
}

TEST_CASE("a saved context cannot be used to ask in another call (F7, F10)") {
    server_under_test s;
    std::optional<context> saved;
    s.tool("save", [&](context& ctx) -> task<std::string> {
        saved = ctx;
        co_return "saved";
    });
    s.tool("use", [&](context&) -> task<std::string> {
        std::string said;
        context other = *saved;
        try {
            said = co_await ask_once(other);
        } catch (const error& e) {
            said = name_of(e.kind());
        }
        co_return said;
    });
    s.start();
    s.send(asking_line("1", "save"));
    s.send(asking_line("2", "use"));
    CHECK(outcome(s, "2") == "unavailable");
    saved.reset();
}

TEST_CASE("a middleware that runs the rest of the chain in a scope passes questions on") {
    server_under_test s;
    s.tool("at_once", &ask_once);
    s.tool("later", [](context& ctx) -> task<std::string> {
        co_await ctx.sleep(1s);
        co_return co_await ask_once(ctx);
    });
    s.core->around.push_back(&run_in_scope);
    s.start();
    s.send(asking_line("1", "at_once"));
    CHECK(outcome(s, "1") == "k");
    s.send(asking_line("2", "later"));
    s.advance(1s);
    CHECK(outcome(s, "2") == "k");
}

TEST_CASE("a middleware can ask the client before and after the handler") {
    server_under_test s;
    s.tool("plain", [](context&) -> task<std::string> { co_return "done"; });
    s.core->around.push_back([](request_call& call, next_handler next) -> task<json::value> {
        json::value r = co_await next(call);
        co_await call.ctx.elicit<approval>("k", "Show it?");
        co_return r;
    });
    s.start();
    s.send(asking_line("1", "plain"));
    CHECK(outcome(s, "1") == "k");
}

TEST_CASE("a step result that is not valid JSON is refused where it is created") {
    server_under_test s;
    s.tool("ask", [](context& ctx) -> task<std::string> {
        double d = co_await ctx.once("n", [] { return std::nan(""); });
        co_return std::to_string(d) + co_await ask_once(ctx);
    });
    s.start();
    s.send(asking_line("1", "ask"));
    CHECK(outcome(s, "1") == "error -32603 internal error");
    CHECK(s.logged("the result of step \"n\" is not valid JSON"));
}

TEST_CASE("work that runs beside a question does not delay the client forever") {
    server_under_test s;
    s.tool("beating", [](context& ctx) -> task<std::string> {
        bool done = false;
        auto beat = [&]() -> task<void> {
            while (!done) co_await ctx.sleep(1s);
        };
        std::string got;
        co_await with_scope([&](scope& both) -> task<void> {
            both.spawn(beat());
            got = co_await ask_once(ctx);
            done = true;
        });
        co_return got;
    });
    s.tool("entangled", [](context& ctx) -> task<std::string> {
        event answered;
        std::string got;
        auto asker = [&]() -> task<void> {
            got = co_await ask_once(ctx);
            answered.set();
        };
        co_await with_scope([&](scope& both) -> task<void> {
            both.spawn(asker());
            co_await answered;
        });
        co_return got;
    });
    s.start();
    s.send(asking_line("1", "beating"));
    s.send(asking_line("2", "entangled"));
    duration patience = s.core->options.asking.patience;
    s.advance(patience - 1ms);
    CHECK(outcome(s, "1") == "nothing");
    s.advance(1ms);
    CHECK(outcome(s, "1") == "k");
    CHECK(outcome(s, "2") == "k");
}

TEST_CASE("an exception beside a question is the result of the call, not the question") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        server_settings how;
        how.seed = seed;
        server_under_test s(std::move(how));
        s.tool("ask", [](context& ctx) -> task<std::string> {
            auto bad = [&]() -> task<void> {
                co_await ctx.yield();
                throw error(1234, "out of stock");
            };
            std::string got;
            co_await with_scope([&](scope& both) -> task<void> {
                both.spawn(bad());
                got = co_await ask_once(ctx);
            });
            co_return got;
        });
        s.start();
        s.send(asking_line("1", "ask"));
        CHECK(outcome(s, "1") == "error 1234 out of stock");
    }
}

TEST_CASE("questions to people have no short timeout: an answer after ten minutes is accepted before 2026-07-28 too") {
    server_under_test s;
    s.tool("ask", &ask_once);
    s.start();
    s.send(server_under_test::initialize_line("\"init\"", "2025-11-25", capabilities));
    s.send(notification_line("notifications/initialized"));
    s.seen.take();
    s.call("1", "ask");
    lines asked = s.seen.take();
    REQUIRE(asked.size() == 1);
    s.advance(9min);
    s.send(result_line(json::to_string(json::parse(asked[0])["id"]), R"({"action":"accept","content":{"yes":true}})"));
    CHECK(outcome(s, "1") == "yes");
}

TEST_CASE("J6: rejected states do not flood the log") {
    server_under_test s;
    s.tool("ask", &ask_once);
    s.start();
    for (int i = 0; i < 500; ++i) s.send(asking_line(std::to_string(i), "ask", R"("requestState":"AAAA",)"));
    CHECK(s.log().size() < 100);
    CHECK(s.logged("requestState rejected"));
}

TEST_CASE("an invalid retry does not use up a single-use state (MRTR-07)") {
    server_settings how;
    how.configure = [](server_options& o) { o.asking.single_use = true; };
    server_under_test s(std::move(how));
    s.tool("ask", &ask_once);
    s.start();
    s.send(asking_line("1", "ask"));
    std::string state = json::to_string(s.seen.answer_message("1")["result"]["requestState"]);
    s.send(asking_line("2", "ask", R"("inputResponses":[],"requestState":)" + state + ","));
    CHECK(outcome(s, "2") == "error -32602 inputResponses: expected object");
    std::string good =
        R"("inputResponses":{"k":{"action":"accept","content":{"yes":true}}},"requestState":)" + state + ",";
    s.send(asking_line("3", "ask", good));
    CHECK(outcome(s, "3") == "yes");
    s.send(asking_line("4", "ask", good));
    CHECK(outcome(s, "4") == "error -32602 requestState is not valid for this request");
}

TEST_CASE("TOOL-12: every kind of tool can report a tool-level error") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        server_under_test s;
        s.tool("typed", [](context&) -> task<approval> {
            throw tool_failure("no paper");
            co_return approval{};
        });
        s.start(version);
        s.call("1", "typed");
        CHECK(s.seen.answer_message("1")["result"]["isError"].as_bool());
        CHECK(s.answer("1") == "failed: no paper");
    }
}

TEST_CASE("invalid settings for asking are refused") {
    auto made_with = [](auto change) {
        server_options options;
        change(options.asking);
        server_side::server_core core({.name = "x", .version = "1"}, std::move(options));
    };
    CHECK_THROWS_AS(made_with([](asking_options& o) { o.expires_after = std::chrono::seconds::max(); }),
                    std::invalid_argument);
    CHECK_THROWS_AS(made_with([](asking_options& o) { o.max_rounds = 1; }), std::invalid_argument);
    CHECK_THROWS_AS(made_with([](asking_options& o) { o.max_state = 1 << 20; }), std::invalid_argument);
    CHECK_THROWS_AS(made_with([](asking_options& o) { o.keys = {"short"}; }), std::invalid_argument);
}

}  // namespace keel::test
