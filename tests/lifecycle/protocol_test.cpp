// The protocol over a server session: common behavior of the five revisions, and their differences.

#include "support/harness.hpp"

#include <algorithm>

using namespace keel;
using namespace keel::test;

namespace {

struct sum_args {
    double a = 0;
    double b = 0;
};
KEEL_DESCRIBE(sum_args, a, b)

struct sum_result {
    double sum = 0;
};
KEEL_DESCRIBE(sum_result, sum)

constexpr const char* legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

void add_tools(server_under_test& s) {
    s.tool("sum", [](sum_args in) { return sum_result{in.a + in.b}; },
           {.title = "Sum",
            .quick = true,
            .annotations = {.read_only = true},
            .meta = json::object({{"com.example/x", 1}})});
    s.tool("text", [] { return "plain"; }, {.quick = true});
    s.tool("fails", [] { return tool_result::failure("no luck"); }, {.quick = true});
    s.tool("listed",
           [] {
               tool_result r;
               r.structured = json::array({1, 2});
               return r;
           },
           {.quick = true});
    s.tool("logs",
           [](context& ctx) {
               for (log_level l :
                    {log_level::debug, log_level::info, log_level::warning, log_level::error, log_level::emergency}) {
                   ctx.log(l, std::string(name_of(l)), "tests");
               }
               ctx.progress(1, {}, "with a message");
               return "logged";
           },
           {.quick = true});
    s.tool("who",
           [](context& ctx) {
               return std::string(ctx.protocol_version()) + " " + json::to_string(ctx.client_info()["name"]) + " " +
                      json::to_string(ctx.client_capabilities());
           },
           {.quick = true});
}

bool from_2025_06(std::string_view version) { return version >= "2025-06-18"; }

lines levels(tap& t) {
    lines all;
    for (const json::value& m : t.with_method("notifications/message"))
        all.emplace_back(m["params"]["level"].as_string());
    return all;
}

}  // namespace

TEST_CASE("LIFE-02, LIFE-08: initialize accepts the requested version, or offers the latest") {
    for (const char* version : legacy_versions) {
        server_under_test s;
        s.start();
        s.send(s.initialize_line("1", version));
        CHECK(s.seen.answer_message("1")["result"]["protocolVersion"].if_string() == version);
    }
    for (const char* version : {"2026-07-28", "1999-01-01", "latest", ""}) {
        server_under_test s;
        s.start();
        s.send(s.initialize_line("1", version));
        CHECK(s.seen.answer_message("1")["result"]["protocolVersion"].if_string() == "2025-11-25");
    }
}

TEST_CASE("LIFE-04, TOOL-01, LOG-01: the result of initialize has the members of its revision") {
    for (const char* version : legacy_versions) {
        CAPTURE(version);
        server_under_test s({.instructions = "Use it well"});
        s.start();
        s.send(s.initialize_line("1", version));
        json::value r = s.seen.answer_message("1")["result"];
        CHECK(r["capabilities"]["tools"].is_object());
        CHECK(r["capabilities"]["logging"].is_object());
        CHECK(r["instructions"].if_string() == "Use it well");
        CHECK(r["serverInfo"]["name"].if_string() == "under-test");
        CHECK(r["serverInfo"]["version"].if_string() == "1.0");
        CHECK(r["serverInfo"].contains("title") == from_2025_06(version));
        CHECK(r["serverInfo"].contains("description") == (std::string_view(version) == "2025-11-25"));
        CHECK_FALSE(r.contains("resultType"));
        CHECK_FALSE(r.contains("_meta"));
    }
}

TEST_CASE("LIFE-06: ping is answered with an empty result, before, during and after the handshake") {
    server_under_test s;
    s.start();
    s.send(request_line("1", "ping"));
    s.send(s.initialize_line("2", "2024-11-05"));
    s.send(request_line("3", "ping"));
    s.send(notification_line("notifications/initialized"));
    s.send(request_line("4", "ping", R"({"_meta":{"progressToken":1}})"));
    for (const char* id : {"1", "3", "4"}) CHECK(s.answer(id) == "{}");
}

TEST_CASE("BASE-02, BASE-05: an answer has the id exactly as it was sent") {
    server_under_test s;
    s.start();
    for (const char* id : {"0", "-7", "9223372036854775807", "\"\"", "\"a\"", "\"1\"", "\"\xc3\xa9\xe4\xb8\x96\""}) {
        s.send(request_line(id, "ping"));
        CHECK(s.seen.take() == lines{result_line(id)});
    }
    for (const char* id : {"null", "true", "1.5", "[1]", "{}"}) {
        s.wire->feed(request_line(id, "ping") + "\n");
        s.loop->run();
        auto frames = s.seen.take();
        REQUIRE(frames.size() == 1);
        CHECK_FALSE(json::parse(frames[0]).contains("id"));
        CHECK(json::parse(frames[0])["error"]["code"].if_int() == -32600);
    }
}

TEST_CASE("BASE-06: every error has an integer code and a message") {
    server_under_test s;
    add_tools(s);
    s.start("2025-11-25");
    for (const char* bad :
         {"oops", "[]", "7", R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":2,"method":"nope"})",
          R"({"jsonrpc":"2.0","id":3,"method":"tools/call"})"}) {
        s.later(bad);
    }
    s.loop->run();
    auto frames = s.seen.take();
    CHECK(frames.size() == 6);
    for (const std::string& f : frames) {
        json::value e = json::parse(f)["error"];
        CHECK(e["code"].is_integer());
        CHECK(e["message"].is_string());
    }
}

TEST_CASE("BASE-07, A11: no notification is ever answered") {
    server_under_test s;
    s.start("2025-11-25");
    for (const char* method :
         {"notifications/initialized", "notifications/unknown", "tools/call", "ping", "initialize",
          "notifications/roots/list_changed", "notifications/cancelled", "notifications/progress"}) {
        for (const char* params : {"", "{}", "[]", "7", "null", R"({"requestId":true})", R"({"progressToken":{}})"}) {
            s.send(notification_line(method, params));
        }
    }
    CHECK(s.seen.take().empty());
}

TEST_CASE("BASE-08: in 2025-03-26 a batch is answered with a batch; a batch of notifications is not answered") {
    server_under_test s;
    add_tools(s);
    s.start("2025-03-26");
    s.send("[" + request_line("1", "ping") + "," + notification_line("notifications/x") + "," + call_line("2", "text") +
           "," + request_line("3", "nope") + R"(,7,{"jsonrpc":"2.0"}])");
    auto frames = s.seen.take();
    REQUIRE(frames.size() == 1);
    json::value all = json::parse(frames[0]);
    REQUIRE(all.is_array());
    CHECK(all.size() == 5);
    CHECK(s.answer("1") == "{}");
    CHECK(s.answer("2") == "plain");
    CHECK(s.seen.answer_message("3")["error"]["code"].if_int() == -32601);
    s.send("[" + notification_line("notifications/x") + "," + notification_line("notifications/y") + "]");
    CHECK(s.seen.take().empty());
    s.send("[]");
    frames = s.seen.take();
    REQUIRE(frames.size() == 1);
    CHECK(json::parse(frames[0])["error"]["code"].if_int() == -32600);
}

TEST_CASE("BASE-08: a batch is answered with its slowest member, and other messages are not delayed") {
    gate g;
    server_under_test s;
    s.tool("park", [&](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await g.pass();
        co_return "slow";
    });
    s.start("2025-03-26");
    s.send("[" + request_line("1", "ping") + "," + call_line("2", "park") + "]");
    s.send(request_line("3", "ping"));
    CHECK(s.seen.take() == lines{result_line("3")});
    s.open(g);
    auto frames = s.seen.take();
    REQUIRE(frames.size() == 1);
    CHECK(json::parse(frames[0]).size() == 2);
}

TEST_CASE("BASE-08, BASE-09, E5: batches are refused in other revisions and for initialize") {
    for (const char* version : {"2024-11-05", "2025-06-18", "2025-11-25", "modern", "none"}) {
        CAPTURE(version);
        server_under_test s;
        if (version[0] == '2') s.start(version);
        else s.start();
        if (version[0] == 'm') s.send(modern_line("0", "tools/list"));
        s.seen.take();
        s.wire->feed("[" + request_line("1", "ping") + "," + s.initialize_line("2", "2025-03-26") + "]\n");
        s.loop->run();
        auto frames = s.seen.take();
        REQUIRE(frames.size() == 1);
        json::value e = json::parse(frames[0]);
        CHECK_FALSE(e.contains("id"));
        CHECK(e["error"]["code"].if_int() == -32600);
    }
}

TEST_CASE("VER-01, VER-18, CACHE-01: server/discover returns versions, capabilities, ttl and server info") {
    server_under_test s({.instructions = "Use it well"});
    s.start();
    s.send(modern_line("1", "server/discover"));
    json::value r = s.seen.answer_message("1")["result"];
    CHECK(r["resultType"].if_string() == "complete");
    CHECK(json::to_string(r["supportedVersions"]) ==
          R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"])");
    CHECK(r["capabilities"]["tools"].is_object());
    CHECK(r["capabilities"]["logging"].is_object());
    CHECK(r["instructions"].if_string() == "Use it well");
    CHECK(r["ttlMs"].if_int().value_or(-1) >= 0);
    CHECK(r["cacheScope"].if_string() == "private");
    const json::value& who = r["_meta"]["io.modelcontextprotocol/serverInfo"];
    CHECK(who["name"].if_string() == "under-test");
    CHECK(who["version"].if_string() == "1.0");
    CHECK(who["description"].is_string());
    CHECK_FALSE(r.contains("serverInfo"));
}

TEST_CASE("BASE-10, VER-18, CACHE-01: every 2026-07-28 result has its type and server, and lists have a ttl") {
    server_under_test s;
    add_tools(s);
    s.tool("coroutine", [](context& ctx) -> task<std::string> {
        co_await ctx.yield();
        co_return "later";
    });
    s.tool("worker", [] { return "elsewhere"; });
    s.start();
    s.send(modern_line("1", "tools/list"));
    int id = 1;
    for (const char* tool : {"sum", "text", "fails", "coroutine", "worker"}) {
        s.send(modern_call_line(std::to_string(++id), tool, R"({"a":1,"b":2})"));
    }
    s.until([&] { return s.in_flight() == 0; });
    for (int i = 1; i <= id; ++i) {
        json::value r = s.seen.answer_message(std::to_string(i))["result"];
        CAPTURE(i);
        CHECK(r["resultType"].if_string() == "complete");
        CHECK(r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].if_string() == "under-test");
        CHECK(r.contains("ttlMs") == (i == 1));
        CHECK(r.contains("cacheScope") == (i == 1));
    }
}

TEST_CASE("VER-02, E12: an unsupported version is refused with the supported ones") {
    server_under_test s;
    add_tools(s);
    s.start();
    for (const char* method : {"server/discover", "tools/list", "tools/call", "nope"}) {
        s.send(request_line("1", method, R"({"name":"text",)" + meta_with("\"2025-11-25\"") + "}"));
        json::value e = s.seen.answer_message("1")["error"];
        CHECK(e["code"].if_int() == -32022);
        CHECK(e["data"]["requested"].if_string() == "2025-11-25");
        CHECK(e["data"]["supported"].is_array());
        CHECK(e["data"]["supported"].at(0).if_string() == "2026-07-28");
    }
}

TEST_CASE("VER-08: a 2026-07-28 request without a required _meta member is invalid, one without clientInfo is served") {
    server_under_test s;
    s.start();
    const std::string bad[] = {
        R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})",
        "{" + meta_with("\"2026-07-28\"", "7") + "}",
        "{" + meta_with("7") + "}",
        "{" + meta_with("null") + "}",
    };
    int id = 0;
    for (const std::string& params : bad) {
        CAPTURE(params);
        std::string n = std::to_string(++id);
        s.send(request_line(n, "tools/list", params));
        CHECK(s.seen.answer_message(n)["error"]["code"].if_int() == -32602);
    }
    s.send(request_line("100", "server/discover"));
    CHECK(s.seen.answer_message("100")["error"]["code"].if_int() == -32602);
    s.send(modern_line("101", "tools/list"));
    CHECK(s.seen.answer_message("101").contains("result"));
    s.send(request_line("102", "tools/list", R"({"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}})"));
    CHECK(s.seen.answer_message("102")["error"]["code"].if_int() == -32602);
}

TEST_CASE("BASE-18, META: client info in a 2026-07-28 request applies to that request only") {
    server_under_test s;
    add_tools(s);
    s.start();
    s.send(modern_line("1", "tools/call", R"("name":"who")",
                       R"("io.modelcontextprotocol/clientInfo":{"name":"one","version":"1"})"));
    CHECK(s.answer("1") == "2026-07-28 \"one\" {}");
    s.send(modern_line("2", "tools/call", R"("name":"who")"));
    CHECK(s.answer("2") == "2026-07-28 null {}");
    s.send(
        request_line("3", "tools/call", R"({"name":"who",)" + meta_with("\"2026-07-28\"", R"({"sampling":{}})") + "}"));
    CHECK(s.answer("3") == "2026-07-28 null {\"sampling\":{}}");
}

TEST_CASE("BASE-18, LIFE-04: client info of a legacy handshake applies to all requests") {
    server_under_test s;
    add_tools(s);
    s.start("2025-06-18");
    s.call("1", "who");
    CHECK(s.answer("1") == "2025-06-18 \"tester\" {\"roots\":{}}");
}

TEST_CASE("TOOL-03, TOOL-07, LIFE-04: tools are listed in order, with the members of the revision") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        bool modern = std::string_view(version) == "2026-07-28";
        server_under_test s;
        add_tools(s);
        if (modern) s.start();
        else s.start(version);
        s.send(modern ? modern_line("1", "tools/list") : request_line("1", "tools/list"));
        json::value tools = s.seen.answer_message("1")["result"]["tools"];
        REQUIRE(tools.size() == 6);
        CHECK(tools.at(0)["name"].if_string() == "sum");
        CHECK(tools.at(5)["name"].if_string() == "who");
        for (const json::value& t : tools.items()) CHECK(t["inputSchema"]["type"].if_string() == "object");
        const json::value& sum = tools.at(0);
        CHECK(sum["inputSchema"]["properties"].size() == 2);
        CHECK(sum.contains("annotations") == (std::string_view(version) >= "2025-03-26"));
        CHECK(sum.contains("title") == from_2025_06(version));
        CHECK(sum.contains("outputSchema") == from_2025_06(version));
        CHECK(sum.contains("_meta") == from_2025_06(version));
    }
}

TEST_CASE("PAG-03: an unknown cursor is invalid") {
    server_under_test s;
    add_tools(s);
    s.start();
    s.send(modern_line("1", "tools/list", R"("cursor":"x")"));
    CHECK(s.seen.answer_message("1")["error"]["code"].if_int() == -32602);
    server_under_test old;
    old.start("2024-11-05");
    old.send(request_line("1", "tools/list", R"({"cursor":"x"})"));
    CHECK(old.seen.answer_message("1")["error"]["code"].if_int() == -32602);
}

TEST_CASE("TOOL-04, TOOL-11: structured content is sent with its text if the revision has it") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        bool modern = std::string_view(version) == "2026-07-28";
        server_under_test s;
        add_tools(s);
        if (modern) s.start();
        else s.start(version);
        s.send(modern ? modern_call_line("1", "sum", R"({"a":1,"b":2})") : call_line("1", "sum", R"({"a":1,"b":2})"));
        json::value r = s.seen.answer_message("1")["result"];
        CHECK(json::parse(r["content"].at(0)["text"].as_string()) == json::object({{"sum", 3}}));
        CHECK(r.contains("structuredContent") == from_2025_06(version));
        if (r.contains("structuredContent")) CHECK(r["structuredContent"] == json::object({{"sum", 3}}));
        CHECK_FALSE(r.contains("isError"));
        s.send(modern ? modern_call_line("2", "listed") : call_line("2", "listed"));
        r = s.seen.answer_message("2")["result"];
        CHECK(r["content"].at(0)["text"].if_string() == "[1,2]");
        CHECK(r.contains("structuredContent") == modern);
    }
}

TEST_CASE(
    "TOOL-12, TOOL-13: a failing tool is a result, an unknown tool an error, invalid arguments as the revision "
    "defines") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        bool modern = std::string_view(version) == "2026-07-28";
        server_under_test s;
        add_tools(s);
        s.tool("sum-worker", [](sum_args in) { return in.a + in.b; });
        s.tool("sum-task", [](sum_args in) -> task<double> { co_return in.a + in.b; });
        if (modern) s.start();
        else s.start(version);
        auto call = [&](const char* id, const char* tool, const char* arguments) {
            s.send(modern ? modern_call_line(id, tool, arguments) : call_line(id, tool, arguments));
            s.until([&] { return s.in_flight() == 0; });
        };
        call("1", "fails", "{}");
        CHECK(s.answer("1") == "failed: no luck");
        call("2", "no-such-tool", "{}");
        CHECK(s.seen.answer_message("2")["error"]["code"].if_int() == -32602);
        int id = 10;
        for (const char* tool : {"sum", "sum-worker", "sum-task"}) {
            CAPTURE(tool);
            std::string n = std::to_string(++id);
            call(n.c_str(), tool, R"({"a":1,"b":"two"})");
            std::string answer = s.answer(n);
            CHECK(answer.find("arguments.b") != std::string::npos);
            bool as_result = std::string_view(version) >= "2025-11-25";
            CHECK(answer.starts_with(as_result ? "failed: " : "error -32602 "));
        }
    }
}

TEST_CASE("LOG-01, LOG-04: a legacy client sets the log level for later messages") {
    for (const char* version : legacy_versions) {
        CAPTURE(version);
        server_under_test s;
        add_tools(s);
        s.start(version);
        s.call("1", "logs");
        CHECK(levels(s.seen) == lines{"debug", "info", "warning", "error", "emergency"});
        s.send(request_line("2", "logging/setLevel", R"({"level":"error"})"));
        CHECK(s.answer("2") == "{}");
        s.call("3", "logs");
        CHECK(levels(s.seen).size() == 7);
        s.send(request_line("4", "logging/setLevel", R"({"level":"verbose"})"));
        CHECK(s.seen.answer_message("4")["error"]["code"].if_int() == -32602);
        s.call("5", "logs");
        CHECK(levels(s.seen).size() == 9);  // a refused level changes nothing
        CHECK(s.seen.with_method("notifications/message").at(0)["params"] ==
              json::object({{"level", "debug"}, {"logger", "tests"}, {"data", "debug"}}));
    }
}

TEST_CASE("LOG-02: a 2026-07-28 request gets the log messages it asked for, and only these") {
    server_under_test s;
    add_tools(s);
    s.start();
    s.send(modern_call_line("1", "logs"));
    CHECK(levels(s.seen).empty());
    s.send(modern_line("2", "tools/call", R"("name":"logs")", R"("io.modelcontextprotocol/logLevel":"warning")"));
    CHECK(levels(s.seen) == lines{"warning", "error", "emergency"});
    s.send(modern_call_line("3", "logs"));
    CHECK(levels(s.seen).size() == 3);
}

TEST_CASE("PROG-01, PROG-02: progress has the token of its request, and a message if the revision has one") {
    for (const char* version : legacy_versions) {
        for (const char* token : {"0", "\"\"", "\"t\"", "-3"}) {
            CAPTURE(version);
            CAPTURE(token);
            server_under_test s;
            add_tools(s);
            s.start(version);
            s.call("1", "logs", "{}", token);
            auto progress = s.seen.with_method("notifications/progress");
            REQUIRE(progress.size() == 1);
            CHECK(json::to_string(progress[0]["params"]["progressToken"]) == token);
            CHECK(progress[0]["params"].contains("message") == (std::string_view(version) >= "2025-03-26"));
            s.call("2", "logs");
            CHECK(s.seen.with_method("notifications/progress").size() == 1);
        }
    }
}

TEST_CASE("SUB-08: a legacy client is notified of changed tools, and lists them") {
    server_under_test s;
    s.start("2025-11-25");
    s.send(request_line("1", "tools/list"));
    CHECK(s.seen.answer_message("1")["result"]["tools"].size() == 0);
    s.seen.take();
    s.tool("new", [] { return "new"; }, {.quick = true});
    s.on_loop([&] { s.session->list_changed(list_kind::tools); });
    CHECK(s.seen.take() == lines{R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"});
    s.send(request_line("2", "tools/list"));
    CHECK(s.seen.answer_message("2")["result"]["tools"].size() == 1);
    s.call("3", "new");
    CHECK(s.answer("3") == "new");
}

TEST_CASE("I15: the first request fixes the protocol era, and requests of the other era are refused with the version") {
    server_under_test s;
    add_tools(s);
    s.start();
    SUBCASE("legacy first") {
        s.send(s.initialize_line("1", "2025-06-18"));
        s.send(modern_line("2", "tools/list"));
        json::value e = s.seen.answer_message("2")["error"];
        CHECK(e["code"].if_int() == -32022);
        CHECK(json::to_string(e["data"]["supported"]) == R"(["2025-06-18"])");
        CHECK(e["data"]["requested"].if_string() == "2026-07-28");
        s.call("3", "text");
        CHECK(s.answer("3") == "plain");
    }
    SUBCASE("modern first") {
        s.send(modern_line("1", "tools/list"));
        s.send(s.initialize_line("2", "2025-06-18"));
        json::value e = s.seen.answer_message("2")["error"];
        CHECK(e["code"].if_int() == -32022);
        CHECK(json::to_string(e["data"]["supported"]) == R"(["2026-07-28"])");
        CHECK(e["data"]["requested"].if_string() == "2025-06-18");
        s.send(request_line("3", "tools/list"));
        CHECK(s.seen.answer_message("3")["error"]["code"].if_int() == -32602);
        s.send(modern_call_line("4", "text"));
        CHECK(s.answer("4") == "plain");
    }
    SUBCASE("a probe, then initialize") {
        s.send(modern_line("1", "server/discover"));
        CHECK(s.seen.answer_message("1").contains("result"));
        s.send(s.initialize_line("2", "2025-06-18"));
        CHECK(s.seen.answer_message("2")["result"]["protocolVersion"].if_string() == "2025-06-18");
        s.call("3", "text");
        CHECK(s.answer("3") == "plain");
    }
    SUBCASE("a probe that fails, then initialize") {
        s.send(request_line("1", "server/discover"));
        CHECK(s.seen.answer_message("1").contains("error"));
        s.send(s.initialize_line("2", "2024-11-05"));
        s.call("3", "text");
        CHECK(s.answer("3") == "plain");
    }
    CHECK(s.ends.empty());
}

TEST_CASE("BASE-16, I6: in 2026-07-28 a server never sends a request") {
    server_under_test s;
    s.tool("ask", [](context& ctx) -> task<std::string> {
        try {
            co_await ctx.request("elicitation/create", json::object());
        } catch (const error& e) {
            co_return std::string(e.what());
        }
        co_return "asked";
    });
    s.start();
    s.send(modern_call_line("1", "ask"));
    CHECK(s.answers_to("1") == 1);
    CHECK(s.answer("1") != "asked");
    for (const std::string& f : s.seen.all()) CHECK_FALSE(json::parse(f).contains("method"));
}

TEST_CASE("LIFE-11: no requests are sent to a client before notifications/initialized") {
    for (const char* version : legacy_versions) {
        CAPTURE(version);
        server_under_test s;
        s.tool("ask", [](context& ctx) -> task<std::string> {
            std::string said;
            try {
                co_await ctx.request("roots/list", json::value());
            } catch (const error& e) {
                said = name_of(e.kind());
            }
            co_return said;
        });
        s.start();
        s.send(server_under_test::initialize_line("0", version));
        s.send(call_line("1", "ask"));
        CHECK(s.seen.answer_message("1")["result"]["content"].at(0)["text"].if_string() == "unavailable");
        s.send(notification_line("notifications/initialized"));
        s.seen.take();
        s.send(call_line("2", "ask"));
        lines asked = s.seen.take();
        REQUIRE(asked.size() == 1);
        CHECK(asked[0].find("roots/list") != std::string::npos);
        s.send(cancel_line("2"));
    }
}
