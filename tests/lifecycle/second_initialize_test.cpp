// A second `initialize` on one connection, as bridges send it that share one server between their clients.

#include "support/gate.hpp"
#include "support/harness.hpp"

#include <keel/asking.hpp>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* every_legacy[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

std::string initialize_as(std::string_view id, std::string_view version, std::string_view name,
                          std::string_view capabilities = "{}") {
    return request_line(id, "initialize",
                        R"({"protocolVersion":")" + std::string(version) + R"(","capabilities":)" +
                            std::string(capabilities) + R"(,"clientInfo":{"name":")" + std::string(name) +
                            R"(","version":"0"}})");
}

/// What a handler knows about the client: "2025-11-25 first roots".
std::string known_client(const context& ctx) {
    std::string text(ctx.protocol_version());
    text += ' ';
    text += ctx.client_info()["name"].if_string().value_or("?");
    if (ctx.client_capabilities().contains("roots")) text += " roots";
    return text;
}

void add_who_tool(server_under_test& s) {
    s.tool("who", [](context& ctx) { return known_client(ctx); }, {.quick = true});
}

}  // namespace

TEST_CASE("LIFE-02: a second initialize negotiates again, from every legacy revision to every other") {
    for (const char* first : every_legacy) {
        for (const char* second : every_legacy) {
            CAPTURE(first);
            CAPTURE(second);
            server_under_test s;
            add_who_tool(s);
            s.start();
            s.send(initialize_as("0", first, "first", R"({"roots":{}})"));
            s.send(notification_line("notifications/initialized"));
            s.call("1", "who");
            CHECK(s.answer("1") == std::string(first) + " first roots");
            s.send(initialize_as("0", second, "second"));  // clients begin with the same id
            CHECK(s.answers_to("0") == 2);
            CHECK(s.seen.answer_message("0")["result"]["protocolVersion"].if_string() == second);
            s.send(notification_line("notifications/initialized"));
            s.call("2", "who");
            CHECK(s.answer("2") == std::string(second) + " second");
            const bool batches = std::string_view(second) == "2025-03-26";
            s.seen.take();
            if (batches) {
                s.send("[" + request_line("3", "ping") + "]");
            } else {
                s.wire->feed("[" + request_line("3", "ping") + "]\n");
                s.loop->run();
            }
            auto frames = s.seen.take();
            REQUIRE(frames.size() == 1);
            CHECK(json::parse(frames[0]).is_array() == batches);
        }
    }
}

TEST_CASE("LIFE-02, E11: a second initialize with invalid parameters changes nothing") {
    server_under_test s;
    add_who_tool(s);
    s.start();
    s.send(initialize_as("0", "2025-06-18", "first"));
    for (const char* params : {"null", "{}", R"({"protocolVersion":"2025-11-25","capabilities":[]})"}) {
        s.send(request_line("1", "initialize", params));
        CHECK(s.seen.answer_message("1")["error"]["code"].if_int() == -32602);
        s.call("2", "who");
        CHECK(s.answer("2") == "2025-06-18 first");
    }
}

TEST_CASE("LIFE-02: requests that run during a second initialize keep their client, and may ask it") {
    server_under_test s;
    gate g;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await g.pass();
        ctx.progress(1);
        std::vector<root> roots = co_await ctx.list_roots();
        co_return known_client(ctx) + " " + std::to_string(roots.size());
    });
    add_who_tool(s);
    s.start();
    s.send(initialize_as("0", "2025-11-25", "first", R"({"roots":{}})"));
    s.send(notification_line("notifications/initialized"));
    s.call("1", "ask", "{}", "7");
    s.send(initialize_as("2", "2024-11-05", "second"));
    s.seen.take();
    s.open(g);
    auto frames = s.seen.take();
    REQUIRE(frames.size() == 2);
    CHECK(json::parse(frames[0])["params"]["progressToken"].if_int() == 7);
    json::value question = json::parse(frames[1]);
    CHECK(question["method"].if_string() == "roots/list");
    s.send(result_line(json::to_string(question["id"]), R"({"roots":[{"uri":"file:///a"}]})"));
    CHECK(s.answer("1") == "2025-11-25 first roots 1");
    // A later request belongs to the second client, which cannot be asked.
    s.call("3", "ask");
    CHECK(s.answer("3") == "error -32600 the client does not support roots");
}

TEST_CASE("LIFE-02, LIFE-11: other clients of a bridge are still asked before the second notifications/initialized") {
    server_under_test s;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_return std::to_string((co_await ctx.list_roots()).size());
    });
    s.start();
    s.send(initialize_as("0", "2025-11-25", "first", R"({"roots":{}})"));
    s.send(initialize_as("1", "2025-11-25", "second", R"({"roots":{}})"));
    s.call("2", "ask");  // no client has confirmed its handshake
    CHECK(s.answer("2").starts_with("error "));
    s.send(notification_line("notifications/initialized"));
    s.send(initialize_as("3", "2025-11-25", "third", R"({"roots":{}})"));
    s.seen.take();
    s.call("4", "ask");
    auto frames = s.seen.take();
    REQUIRE(frames.size() == 1);
    s.send(result_line(json::to_string(json::parse(frames[0])["id"]), R"({"roots":[]})"));
    CHECK(s.answer("4") == "0");
}

TEST_CASE("LIFE-02: a running batch is answered as a batch after a second initialize") {
    server_under_test s;
    gate g;
    s.tool("park", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await g.pass();
        co_return "slow";
    });
    s.start("2025-03-26");
    s.send("[" + request_line("1", "ping") + "," + call_line("2", "park") + "]");
    s.send(initialize_as("3", "2025-11-25", "second"));
    s.seen.take();
    s.open(g);
    auto frames = s.seen.take();
    REQUIRE(frames.size() == 1);
    CHECK(json::parse(frames[0]).size() == 2);
}

TEST_CASE("LIFE-02, BASE-09: an initialize in a batch is refused, also the second one") {
    server_under_test s;
    add_who_tool(s);
    s.start();
    s.send(initialize_as("0", "2025-03-26", "first"));
    s.send("[" + initialize_as("1", "2025-11-25", "second") + "," + request_line("2", "ping") + "]");
    CHECK(s.answer("1") == "error -32600 initialize cannot be part of a batch");
    s.call("3", "who");
    CHECK(s.answer("3") == "2025-03-26 first");
}

TEST_CASE("LIFE-02, LOG-01: the log level stays, because it belongs to the connection") {
    server_under_test s;
    s.tool("log",
           [](context& ctx) {
               ctx.log(log_level::info, "one");
               ctx.log(log_level::error, "two");
               return "";
           },
           {.quick = true});
    s.start("2025-11-25");
    s.send(request_line("1", "logging/setLevel", R"({"level":"error"})"));
    s.send(initialize_as("2", "2025-11-25", "second"));
    s.seen.take();
    s.call("3", "log");
    CHECK(s.seen.take().size() == 2);  // one message, and the answer
    s.send(request_line("4", "logging/setLevel", R"({"level":"info"})"));
    s.seen.take();
    s.call("5", "log");
    CHECK(s.seen.take().size() == 3);
}

TEST_CASE("I15: after a 2026-07-28 request an initialize is refused, and after an initialize a 2026-07-28 request") {
    server_under_test modern;
    modern.start();
    modern.send(modern_line("1", "tools/list"));
    modern.send(initialize_as("2", "2025-11-25", "second"));
    CHECK(modern.seen.answer_message("2")["error"]["code"].if_int() == -32022);

    server_under_test legacy;
    legacy.start();
    for (const char* id : {"1", "2"}) {
        legacy.send(initialize_as(id, "2025-06-18", "one"));
        legacy.send(modern_line("3", "tools/list"));
        CHECK(legacy.seen.answer_message("3")["error"]["code"].if_int() == -32022);
    }
}
