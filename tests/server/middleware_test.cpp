// Middleware: server::use.

#include "feature_server.hpp"

#include <stdexcept>

namespace keel::test {

struct greeting {
    std::string name;
};
KEEL_DESCRIBE(greeting, name)

struct consent {
    bool yes = false;
};
KEEL_DESCRIBE(consent, yes)

namespace {

task<json::value> pass_on(request_call& call, next_handler next) { return next(call); }

task<std::string> greet_slowly(context& ctx, greeting g) {
    co_await ctx.sleep(100ms);
    co_return "hello " + g.name;
}

/// Tools of each kind, resources and prompts.
class greeting_server : public feature_server {
public:
    explicit greeting_server(server_settings how = {}) : feature_server(std::move(how)) {
        tool("quick", [](greeting g) { return "hello " + g.name; }, {.quick = true});
        tool("worker", [](greeting g) { return "hello " + g.name; });
        tool("coroutine", [](context& ctx, greeting g) { return greet_slowly(ctx, std::move(g)); });
        tool("broken", []() -> std::string { throw std::runtime_error("the secret reason"); });
        add_resource("demo:one", [] { return "one"; });
        add_prompt("idea", [](greeting g) { return "about " + g.name; });
        auto own = std::make_shared<server_side::method_offer>();
        own->name = "example/echo";
        own->handler.plain = [](context*, const json::value& params, detail::reply& out) {
            REQUIRE(json::write(out.content, json::object({{"word", params["word"]}})));
        };
        own->stats_slot = core->stats.slot_of(own->name);
        core->methods.put(own);
    }
    void use(middleware m) { core->around.push_back(std::move(m)); }
    /// The text of a tool's answer; runs the loop until it has arrived.
    std::string greet(std::string_view version, std::string_view id, std::string_view tool_name,
                      std::string_view arguments = R"({"name":"Ada"})") {
        send(is_modern(version) ? modern_call_line(id, tool_name, arguments) : call_line(id, tool_name, arguments));
        if (tool_name == "coroutine") advance(100ms);
        until([&] { return answers_to(id) > 0; });
        return answer(id);
    }
};

constexpr const char* each_tool[] = {"quick", "worker", "coroutine"};

}  // namespace

TEST_CASE("a middleware sees the request and its result, whatever kind of handler serves it, in every revision") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        greeting_server s;
        lines seen;
        s.use([&](request_call& call, next_handler next) -> task<json::value> {
            std::string line = call.method + " " + std::string(call.params["name"].if_string().value_or("-"));
            line += " " + std::string(call.ctx.protocol_version());
            json::value result = co_await next(call);
            line += result.contains("content") ? " content" : "";
            seen.push_back(line);
            co_return result;
        });
        s.speak(version);
        std::string v(version);
        for (const char* each : each_tool) {
            CAPTURE(each);
            CHECK(s.greet(version, R"(")" + std::string(each) + R"(")", each) == "hello Ada");
            CHECK(seen.back() == "tools/call " + std::string(each) + " " + v + " content");
        }
        CHECK(seen.size() == 3);
    }
}

TEST_CASE("a middleware changes what comes in and what goes out") {
    for (std::string_view version : {all_versions.front(), all_versions.back()}) {
        CAPTURE(version);
        greeting_server s;
        s.use([](request_call& call, next_handler next) -> task<json::value> {
            call.params.set("arguments", json::object({{"name", "Grace"}}));
            json::value result = co_await next(call);
            result.set("_meta", json::object({{"com.example/seen", true}}));
            co_return result;
        });
        s.speak(version);
        for (const char* each : each_tool) {
            CAPTURE(each);
            std::string id = R"(")" + std::string(each) + R"(")";
            CHECK(s.greet(version, id, each) == "hello Grace");
            const json::value meta = s.seen.answer_message(id)["result"]["_meta"];
            CHECK(meta["com.example/seen"] == json::value(true));
            // VER-18: it also still contains this.
            CHECK(meta.contains("io.modelcontextprotocol/serverInfo") == is_modern(version));
        }
        // The tool is selected by the parameters that the middleware passes on.
        s.core->around.push_back([](request_call& call, next_handler next) -> task<json::value> {
            call.params.set("name", "quick");
            co_return co_await next(call);
        });
        CHECK(s.greet(version, "9", "no-such-tool") == "hello Grace");
    }
}

TEST_CASE("middleware is nested in the order of registration") {
    greeting_server s;
    lines order;
    for (const char* name : {"a", "b", "c"}) {
        s.use([&order, name = std::string(name)](request_call& call, next_handler next) -> task<json::value> {
            order.push_back(name + " in");
            json::value result = co_await next(call);
            order.push_back(name + " out");
            co_return result;
        });
    }
    s.use(pass_on);  // need not be a coroutine
    s.speak("2026-07-28");
    CHECK(s.greet("2026-07-28", "1", "quick") == "hello Ada");
    CHECK(order == lines{"a in", "b in", "c in", "c out", "b out", "a out"});
}

TEST_CASE("a middleware answers by itself, or refuses with an error of its own") {
    for (std::string_view version : {all_versions.front(), all_versions.back()}) {
        CAPTURE(version);
        greeting_server s;
        std::size_t ran = 0;
        s.tool("counted", [&ran] {
            ++ran;
            return "ran";
        });
        s.use([](request_call& call, next_handler next) -> task<json::value> {
            auto name = call.params["name"].if_string().value_or("");
            if (name == "worker") throw error(1403, "not allowed", json::object({{"why", "test"}}));
            if (name == "counted") {
                json::value text = json::object({{"type", "text"}, {"text", "from a cache"}});
                json::value result = json::object({{"content", json::array({std::move(text)})}});
                co_return result;
            }
            co_return co_await next(call);
        });
        s.speak(version);
        CHECK(s.greet(version, "1", "worker") == "error 1403 not allowed");
        CHECK(s.seen.answer_message("1")["error"]["data"]["why"] == json::value("test"));
        CHECK(s.greet(version, "2", "counted", "{}") == "from a cache");
        CHECK(ran == 0);
        CHECK(s.greet(version, "3", "quick") == "hello Ada");
    }
}

TEST_CASE("an unexpected exception of a middleware is an internal error, and its text is only logged") {
    greeting_server s;
    int which = 0;
    s.use([&](request_call& call, next_handler next) -> task<json::value> {
        switch (which) {
            case 0: throw std::runtime_error("the secret reason");
            case 1: throw 42;
            case 2: co_return json::value("not an object");
            case 3: {
                json::value first = co_await next(call);
                json::value second = co_await next(call);
                co_return second;
            }
            default: co_return co_await next(call);
        }
    });
    s.speak("2025-11-25");
    const char* said[] = {"the secret reason", "not derived from std::exception",
                          "the result of a middleware is not an object", "called next() twice"};
    for (which = 0; which < 4; ++which) {
        CAPTURE(which);
        CHECK(s.greet("2025-11-25", std::to_string(which), "quick") == "error -32603 internal error");
        CHECK(s.logged(said[which]));
    }
    CHECK_FALSE(s.seen.mentions("secret"));
    CHECK(s.greet("2025-11-25", "9", "quick") == "hello Ada");
}

TEST_CASE("a middleware sees the error that the client would get, and can replace it") {
    for (std::string_view version : {all_versions.front(), all_versions.back()}) {
        CAPTURE(version);
        greeting_server s;
        lines seen;
        s.use([&](request_call& call, next_handler next) -> task<json::value> {
            json::value result;
            try {
                result = co_await next(call);
                if (result["isError"].if_bool().value_or(false)) seen.push_back("isError");
            } catch (const error& e) {
                seen.push_back(std::to_string(e.code()) + " " + e.what());
                if (e.code() == -32601) throw error(1404, "nothing of the kind");
                throw;
            }
            co_return result;
        });
        s.speak(version);
        CHECK(s.greet(version, "1", "broken", "{}") == "error -32603 internal error");
        CHECK(seen.back() == "-32603 internal error");
        CHECK(s.logged("the secret reason"));
        s.greet(version, "2", "quick", R"({"name":7})");
        bool as_result = protocol::has_argument_errors_as_results(*protocol::find_revision(version));
        CHECK(seen.back().starts_with(as_result ? "isError" : "-32602"));
        CHECK(s.answer("2").starts_with(as_result ? "failed: " : "error -32602"));
        CHECK(s.error_of(s.ask("no/such/method")) == "1404 nothing of the kind");
        CHECK(seen.back() == "-32601 method not found: no/such/method");
        // BASE-14: the code is the one of the revision, also for errors before any handler ran.
        CHECK(s.error_of(s.read("demo:nothing")).starts_with(is_modern(version) ? "-32602" : "-32002"));
        CHECK(seen.back().starts_with(is_modern(version) ? "-32602" : "-32002"));
    }
}

TEST_CASE("BASE-14: an error code that the revision does not define is replaced after the middleware too") {
    greeting_server s;
    s.use([](request_call&, next_handler) -> task<json::value> { throw resource_not_found("demo:gone"); });
    s.speak("2026-07-28");
    CHECK(s.error_of(s.read("demo:one")) == "-32602 resource not found");
}

TEST_CASE("every request except initialize passes the middleware, also those without a handler") {
    for (std::string_view version : {all_versions.front(), all_versions[3], all_versions.back()}) {
        CAPTURE(version);
        greeting_server s;
        lines seen;
        s.use([&](request_call& call, next_handler next) -> task<json::value> {
            seen.push_back(call.method);
            co_return co_await next(call);
        });
        s.speak(version);
        lines asked = {"tools/list",   "resources/list", "resources/templates/list",
                       "prompts/list", "example/echo",   "unknown/method"};
        for (const std::string& each : asked) s.ask(each);
        for (const char* each : {"resources/read", "prompts/get"}) {
            asked.emplace_back(each);
            s.ask(each, R"("uri":"demo:one","name":"idea","arguments":{"name":"x"})");
        }
        if (is_modern(version)) {
            asked.emplace_back("server/discover");
            s.ask("server/discover");
        } else {
            for (const char* each : {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}) {
                asked.emplace_back(each);
                CHECK(s.error_of(s.ask(each, R"("level":"info","uri":"demo:one")")) == "");
            }
        }
        CHECK(seen == asked);
        CHECK(s.ask("example/echo", R"("word":"yes")")["result"]["word"] == json::value("yes"));
        s.seen.expect_off_schema("requests are made of the members of several");
    }
}

TEST_CASE("B6: a call that is cancelled while a middleware waits is not answered, and the wait throws") {
    for (bool before : {true, false}) {
        CAPTURE(before);
        greeting_server s;
        lines seen;
        s.use([&](request_call& call, next_handler next) -> task<json::value> {
            head_count::presence here(s.handlers);
            json::value result;
            try {
                if (before) co_await call.ctx.sleep(1h);
                result = co_await next(call);
                co_await call.ctx.sleep(1h);
            } catch (const cancelled&) {
                seen.push_back("cancelled " + call.ctx.reason());
                throw;
            }
            co_return result;
        });
        s.speak("2025-11-25");
        s.call("1", "quick", R"({"name":"Ada"})");
        CHECK(s.handlers.here() == 1);
        s.cancel("1", "enough");
        CHECK(seen == lines{"cancelled enough"});
        CHECK(s.handlers.here() == 0);
        CHECK(s.in_flight() == 0);
        CHECK(s.answers_to("1") == 0);
    }
}

TEST_CASE("B3: a cancelled call is not answered even if a middleware returns a result") {
    greeting_server s;
    s.use([&](request_call& call, next_handler next) -> task<json::value> {
        try {
            co_return co_await next(call);
        } catch (const cancelled&) {
        }
        co_return json::object({{"content", json::array()}});
    });
    s.speak("2025-11-25");
    s.call("1", "coroutine", R"({"name":"Ada"})");
    s.cancel("1");
    CHECK(s.in_flight() == 0);
    CHECK(s.answers_to("1") == 0);
}

TEST_CASE("B1: a queued call behind a middleware is cancelled without running") {
    server_settings how;
    how.workers = 1;
    greeting_server s(how);
    thread_gate held;
    std::atomic<int> ran{0};
    s.tool("hold", [&] {
        held.pass();
        ++ran;
        return "held";
    });
    s.use(pass_on);
    s.speak("2025-11-25");
    s.call("1", "hold");
    held.wait_arrived(1);
    s.call("2", "hold");
    s.cancel("2");
    held.open();
    s.until([&] { return s.answers_to("1") > 0; });
    s.settle_workers();
    CHECK(s.answer("1") == "held");
    CHECK(s.answers_to("2") == 0);
    CHECK(ran == 1);
    CHECK(s.in_flight() == 0);
}

TEST_CASE("C5 G2: the connection ends while a middleware and its handler run") {
    for (bool orderly : {true, false}) {
        for (const char* each : {"coroutine", "sleeping middleware"}) {
            CAPTURE(orderly);
            CAPTURE(each);
            greeting_server s;
            s.use([&](request_call& call, next_handler next) -> task<json::value> {
                head_count::presence here(s.handlers);
                if (each != std::string_view("coroutine")) co_await call.ctx.sleep(1h);
                json::value result = co_await next(call);
                co_return result;
            });
            s.speak("2025-11-25");
            s.call("1", "coroutine", R"({"name":"Ada"})");
            CHECK(s.handlers.here() == 1);
            if (orderly) s.close();
            else s.wire->fail_read(ECONNRESET);
            s.loop->run();
            CHECK(s.handlers.here() == 0);
            CHECK(s.ends.size() == 1);
            CHECK(s.ends.at(0).abandoned == 0);
            CHECK(s.answers_to("1") == (orderly ? 1 : 0));
        }
    }
}

TEST_CASE("F4: a middleware that does not stop is abandoned, and may end later") {
    greeting_server s;
    gate late;
    s.use([&](request_call& call, next_handler next) -> task<json::value> {
        try {
            co_await call.ctx.sleep(1h);
        } catch (const cancelled&) {
        }
        co_await late.pass();
        co_return co_await next(call);
    });
    s.speak("2025-11-25");
    s.call("1", "quick", R"({"name":"Ada"})");
    s.close();
    s.advance(10s);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends.at(0).abandoned == 1);
    s.open(late);
}

TEST_CASE("SUB-01: a listen goes through the middleware, and ends through it") {
    greeting_server s;
    lines seen;
    s.use([&](request_call& call, next_handler next) -> task<json::value> {
        seen.push_back("open " + call.method);
        json::value result = co_await next(call);
        seen.emplace_back("ended");
        co_return result;
    });
    s.speak("2026-07-28");
    s.send(modern_line("1", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"));
    CHECK(seen == lines{"open subscriptions/listen"});
    CHECK(s.seen.with_method("notifications/subscriptions/acknowledged").size() == 1);
    s.on_loop([&] { s.session->list_changed(list_kind::tools); });
    CHECK(s.seen.with_method("notifications/tools/list_changed").size() == 1);
    s.close(1s);
    CHECK(seen.back() == "ended");
    CHECK(s.answers_to("1") == 1);
    CHECK(s.seen.answer_message("1")["result"]["resultType"] == json::value("complete"));
}

TEST_CASE("MRTR-01: a middleware sees the questions of a call, and its result in the next round") {
    greeting_server s;
    lines seen;
    s.tool("ask", [](context& ctx) -> task<std::string> {
        auto sure = co_await ctx.elicit<consent>("sure", "Are you sure?");
        co_return sure && sure->yes ? "done" : "left alone";
    });
    s.use([&](request_call& call, next_handler next) -> task<json::value> {
        json::value result = co_await next(call);
        seen.emplace_back(result["resultType"].as_string());
        co_await call.ctx.yield();  // the handler has ended, not this middleware
        seen.emplace_back("after");
        co_return result;
    });
    s.speak("2026-07-28");
    const std::string meta = meta_with(R"("2026-07-28")", R"({"elicitation":{}})");
    s.send(request_line("1", "tools/call", R"({"name":"ask",)" + meta + "}"));
    CHECK(seen == lines{"input_required", "after"});
    json::value first = s.seen.answer_message("1")["result"];
    REQUIRE(first["inputRequests"]["sure"].is_object());
    s.send(request_line("2", "tools/call",
                        R"({"name":"ask","inputResponses":{"sure":{"action":"accept","content":{"yes":true}}},)"
                        R"("requestState":)" +
                            json::to_string(first["requestState"]) + "," + meta + "}"));
    CHECK(seen == lines{"input_required", "after", "complete", "after"});
    CHECK(s.answer("2") == "done");
}

TEST_CASE("many requests pass a middleware concurrently, each with its own state") {
    greeting_server s;
    s.use([](request_call& call, next_handler next) -> task<json::value> {
        co_await call.ctx.sleep(10ms);
        json::value result = co_await next(call);
        co_await call.ctx.sleep(10ms);
        co_return result;
    });
    s.speak("2025-11-25");
    for (int i = 0; i < 100; ++i) {
        s.later(call_line(std::to_string(i), each_tool[i % 3], R"({"name":"n)" + std::to_string(i) + R"("})"));
    }
    s.loop->run();
    s.advance(10ms);
    s.settle_workers();
    s.advance(1s);
    for (int i = 0; i < 100; ++i) CHECK(s.answer(std::to_string(i)) == "hello n" + std::to_string(i));
}

TEST_CASE("an empty middleware is refused when it is added") {
    server s({.name = "test", .version = "1"});
    CHECK(refusal_of([&] { s.use(middleware()); }) == "keel: server::use: the middleware is empty");
}

}  // namespace keel::test
