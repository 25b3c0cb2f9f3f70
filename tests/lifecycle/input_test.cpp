// Lifecycle rules E over a server session and both roles of a peer: invalid input.

#include "support/harness.hpp"

#include <algorithm>
#include <random>

using namespace keel;
using namespace keel::test;

namespace {

std::string error_of(const std::string& frame) {
    json::value v = json::parse(frame);
    std::string id = v.contains("id") ? json::to_string(v["id"]) : "no id";
    return id + " " + std::to_string(v["error"]["code"].as_int());
}

void add_echo(server_under_test& s) {
    s.tool("echo", [](json::value in) { return std::string(in["text"].if_string().value_or("")); }, {.quick = true});
}

struct one_text_args {
    std::string text;
};
KEEL_DESCRIBE(one_text_args, text)

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("the connection is told to expect more input only while a line is incomplete") {
    peer_under_test p(rpc::role::server);
    std::string line = request_line("1", "ping", "{}") + "\n";
    p.seen.note_input(line);
    p.wire->feed(line.substr(0, 5));
    p.loop->run();
    CHECK(p.wire->more_expected() == 1);
    p.wire->feed(line.substr(5));
    p.loop->run();
    CHECK(p.wire->more_expected() == 1);
    p.send(request_line("2", "ping", "{}"));
    CHECK(p.wire->more_expected() == 1);
}

TEST_CASE("E1: invalid JSON gets a parse error without an id, and the next message is served") {
    const std::string bad[] = {
        "hello",
        "{",
        R"({"jsonrpc":"2.0","id":1,"method":"ping")",
        R"({"jsonrpc":"2.0","id":1,"method":"ping"}})",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}",
        "\xc3\x28",
        R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":)" + nested(600) + "}}",
        nested(100'000),
    };
    server_under_test s;
    s.start("2025-11-25");
    for (const std::string& each : bad) {
        CAPTURE(each.substr(0, 60));
        s.wire->feed(each + "\n");  // bypasses the tap: these are not requests
        s.loop->run();
        auto frames = s.seen.take();
        REQUIRE(frames.size() == 1);
        CHECK(error_of(frames[0]) == "no id -32700");
        s.send(request_line("1", "ping"));
        CHECK(s.seen.take() == lines{result_line("1")});
        s.advance(1s);
    }
    CHECK(s.in_flight() == 0);
}

TEST_CASE("E0, E1: the client role never answers invalid input") {
    peer_under_test c(rpc::role::client);
    auto& a = c.ask("tools/list");
    std::string id = json::to_string(json::parse(c.seen.take().at(0))["id"]);
    for (const char* bad : {"oops", "[]", "7", "{}", R"({"jsonrpc":"1.0","id":1,"method":"x"})",
                            R"({"jsonrpc":"2.0","id":null,"method":"x"})"}) {
        c.wire->feed(std::string(bad) + "\n");
        c.loop->run();
    }
    CHECK(c.seen.take().empty());
    c.send(result_line(id));
    CHECK(a.outcome == "{}");
}

TEST_CASE("E0: errors without an id are rate-limited, and reading continues") {
    server_under_test s;
    s.start("2025-11-25");
    for (int i = 0; i < 1000; ++i) s.wire->feed("oops\n");
    s.loop->run();
    CHECK(s.seen.take().size() == 10);
    s.send(request_line("1", "ping"));
    CHECK(s.seen.take().size() == 1);
    s.advance(1s);
    for (int i = 0; i < 1000; ++i) s.wire->feed("oops\n");
    s.loop->run();
    CHECK(s.seen.take().size() == 10);
}

TEST_CASE("E2: empty lines, blanks, carriage returns and a byte order mark are ignored") {
    server_under_test s;
    s.start();
    s.wire->feed(
        "\xEF\xBB\xBF"
        "\r\n");
    s.wire->feed("\n\n\r\n   \n\t\r\n");
    s.loop->run();
    CHECK(s.seen.take().empty());
    s.seen.note_input(request_line("1", "ping"));
    s.wire->feed("  " + request_line("1", "ping") + " \r\n");
    s.loop->run();
    CHECK(s.seen.take() == lines{result_line("1")});
}

TEST_CASE("E2: a byte order mark before the first message is removed, however the input is split") {
    for (std::size_t cut : {0U, 1U, 2U, 3U, 4U}) {
        CAPTURE(cut);
        server_under_test s;
        s.start();
        std::string line = "\xEF\xBB\xBF" + request_line("1", "ping") + "\n";
        s.seen.note_input(request_line("1", "ping"));
        if (cut > 0) s.wire->feed(line.substr(0, cut));
        s.wire->feed(line.substr(cut));
        s.loop->run();
        CHECK(s.seen.take() == lines{result_line("1")});
    }
}

TEST_CASE("E2, A3: a conversation split at arbitrary bytes gives the same answers") {
    std::string talk;
    lines expected;
    for (int i = 0; i < 20; ++i) {
        talk += request_line(std::to_string(i), "ping") + (i % 3 == 0 ? "\r\n" : "\n") + (i % 5 == 0 ? "\n" : "");
        expected.push_back(result_line(std::to_string(i)));
    }
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        server_under_test s;
        s.start();
        s.seen.note_input(talk);
        for (std::size_t at = 0; at < talk.size();) {
            std::size_t n = 1 + random() % 50;
            s.wire->feed(talk.substr(at, n));
            at += n;
        }
        s.loop->run();
        CHECK(s.seen.take() == expected);
    }
}

TEST_CASE("E3: a line that is too long is skipped, however the input is split, and the next one is served") {
    limits l;
    l.max_message = 1000;
    const std::string filler(5000, 'x');
    struct {
        std::string line;
        std::string error;
    } cases[] = {
        {R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":")" + filler + "\"}}", "7 -32600"},
        {R"({"jsonrpc":"2.0","id":"seven","method":"x","params":")" + filler + "\"}", "\"seven\" -32600"},
        {R"({"jsonrpc":"2.0","params":{"x":")" + filler + R"("},"id":7,"method":"x"})", "no id -32600"},
        {filler, "no id -32600"},
        {R"({"jsonrpc":"2.0","id":7,"method":"ping"})" + std::string(970, ' '),
         ""},  // one byte too long; the last byte is blank
    };
    for (const auto& c : cases) {
        for (std::size_t piece : {1U, 7U, 333U, 999U, 1000U, 1001U, 100'000U}) {
            CAPTURE(c.line.substr(0, 40));
            CAPTURE(piece);
            server_under_test s({.bounds = l});
            s.start("2025-11-25");
            s.seen.note_input(c.error.starts_with("no") ? "" : c.line);
            std::string bytes = c.line + "\n";
            for (std::size_t at = 0; at < bytes.size(); at += piece) s.wire->feed(bytes.substr(at, piece));
            s.loop->run();
            auto frames = s.seen.take();
            REQUIRE(frames.size() == 1);
            if (!c.error.empty()) CHECK(error_of(frames[0]) == c.error);
            s.send(request_line("8", "ping"));
            CHECK(s.seen.take() == lines{result_line("8")});
        }
    }
}

TEST_CASE("E3: an endless line is skipped in constant memory, also at the end of input") {
    limits l;
    l.max_message = 1000;
    server_under_test s({.bounds = l});
    s.start("2025-11-25");
    for (int i = 0; i < 100'000; ++i) {
        s.wire->feed(std::string(1000, 'x'));
        s.loop->run();
    }
    CHECK(s.seen.take().size() == 1);
    s.eof();
    CHECK(s.seen.take().empty());
    CHECK(s.ends.size() == 1);
}

TEST_CASE("E3: an answer that is too long fails its call and no other") {
    limits l;
    l.max_message = 1000;
    peer_under_test c(rpc::role::client, l);
    auto& big = c.ask("tools/call");
    auto& small = c.ask("tools/call");
    auto frames = c.seen.take();
    std::string id = json::to_string(json::parse(frames[0])["id"]);
    c.wire->feed(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{"x":")" + std::string(5000, 'x') + "\"}}\n");
    c.loop->run();
    CHECK(big.outcome == "bad message: response too large");
    c.send(result_line(json::to_string(json::parse(frames[1])["id"])));
    CHECK(small.outcome == "{}");
    CHECK(c.seen.take().empty());
}

TEST_CASE("E8: an unknown method is answered with method_not_found, in all revisions") {
    server_under_test s;
    SUBCASE("legacy") {
        s.start("2025-11-25");
        s.send(request_line("1", "no/such"));
        s.send(request_line("2", "server/discover"));
        s.send(request_line("3", "prompts/list"));
    }
    SUBCASE("modern") {
        s.start();
        s.send(modern_line("1", "no/such"));
        s.send(modern_line("2", "ping"));
        s.send(modern_line("3", "logging/setLevel", R"("level":"debug")"));
    }
    for (const char* id : {"1", "2", "3"}) CHECK(s.seen.answer_message(id)["error"]["code"].if_int() == -32601);
}

TEST_CASE("E8: the method name in the error is escaped and truncated") {
    server_under_test s;
    s.start("2025-11-25");
    s.send(request_line("1", std::string(100'000, 'x')));
    s.send(R"({"jsonrpc":"2.0","id":2,"method":"a\u001b[31m\nb"})");
    CHECK(s.answer("1").size() < 300);
    CHECK(s.answer("2").find('\x1b') == std::string::npos);
}

TEST_CASE("E10: params that are not an object, or have wrong types, are invalid") {
    server_under_test s;
    add_echo(s);
    s.start("2025-11-25");
    const char* params[] = {
        "[]",
        "7",
        "\"x\"",
        "null",
        R"({"name":7})",
        "{}",
        R"({"name":"echo","arguments":[]})",
        R"({"name":"echo","arguments":"x"})",
    };
    int id = 0;
    for (const char* each : params) {
        CAPTURE(each);
        std::string n = std::to_string(++id);
        s.send(request_line(n, "tools/call", each));
        CHECK(s.seen.answer_message(n)["error"]["code"].if_int() == -32602);
    }
    s.send(request_line("100", "logging/setLevel", R"({"level":"loud"})"));
    CHECK(s.seen.answer_message("100")["error"]["code"].if_int() == -32602);
    s.send(request_line("101", "logging/setLevel"));
    CHECK(s.seen.answer_message("101")["error"]["code"].if_int() == -32602);
    s.call("102", "echo", R"({"text":"still served"})");
    CHECK(s.answer("102") == "still served");
}

TEST_CASE("E11: before initialize only ping is served, and requests pipelined after initialize wait for it") {
    server_under_test s;
    add_echo(s);
    s.start();
    s.call("1", "echo");
    CHECK(s.answer("1") == "error -32600 not initialized");
    s.send(request_line("2", "tools/list"));
    CHECK(s.answer("2") == "error -32600 not initialized");
    s.send(request_line("3", "ping"));
    CHECK(s.answer("3") == "{}");
    s.later_bytes(s.initialize_line("4", "2025-11-25") + "\n" + call_line("5", "echo", R"({"text":"behind"})") + "\n" +
                  request_line("6", "tools/list") + "\n" + notification_line("notifications/initialized") + "\n" +
                  call_line("7", "echo", R"({"text":"after"})") + "\n");
    s.loop->run();
    CHECK(s.answers_to("4") == 1);
    CHECK(s.answer("5") == "behind");
    CHECK(s.seen.answer_message("6")["result"]["tools"].size() == 1);
    CHECK(s.answer("7") == "after");
}

TEST_CASE("E11: a refused initialize leaves the connection unchanged") {
    server_under_test s;
    s.start();
    int id = 0;
    for (const char* params : {"", "{}", R"({"protocolVersion":7})", R"({"protocolVersion":"2025-11-25"})",
                               R"({"protocolVersion":"2025-11-25","capabilities":{}})"}) {
        std::string n = std::to_string(++id);
        s.send(request_line(n, "initialize", params));
        CHECK(s.seen.answer_message(n)["error"]["code"].if_int() == -32602);
        s.send(request_line("\"l\"", "tools/list"));
        CHECK(s.answer("\"l\"") == "error -32600 not initialized");
    }
    s.send(s.initialize_line("100", "2025-11-25"));
    CHECK(s.seen.answer_message("100").contains("result"));
}

TEST_CASE("E10: null parameters count as absent, in requests of every method and in notifications") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("plain", [] { return "plain"; }, {.quick = true});
        const bool modern = std::string_view(version) == "2026-07-28";
        if (modern) s.start();
        else s.start(version);
        if (modern) s.send(modern_line("0", "tools/list"));
        for (const char* method :
             {"ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
              "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
              "completion/complete", "logging/setLevel", "server/discover", "subscriptions/listen", "com.example/x"}) {
            CAPTURE(method);
            s.send(request_line("1", method));
            s.send(request_line("2", method, "null"));
            json::value without = s.seen.answer_message("1");
            json::value with = s.seen.answer_message("2");
            with.set("id", 1);
            CHECK(json::to_string(with) == json::to_string(without));
            // Required parameters are still missing.
            if (std::string_view(method) == "tools/call") CHECK(with["error"]["code"].if_int() == -32602);
        }
        s.seen.take();
        for (const char* method : {"notifications/initialized", "notifications/cancelled", "notifications/progress",
                                   "notifications/roots/list_changed", "notifications/x"}) {
            s.send(notification_line(method, "null"));
            CHECK(s.seen.take().empty());
        }
    }
}

TEST_CASE("E10: null arguments count as absent; other values than objects are invalid") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        CAPTURE(version);
        const bool modern = std::string_view(version) == "2026-07-28";
        server_under_test s;
        s.tool("plain", [] { return "plain"; }, {.quick = true});
        s.tool("needs", [](one_text_args in) { return in.text; }, {.quick = true});
        if (modern) s.start();
        else s.start(version);
        auto call = [&](const char* id, const char* tool, const char* arguments) {
            s.send(modern ? modern_call_line(id, tool, arguments) : call_line(id, tool, arguments));
            return s.seen.answer_message(id);
        };
        CHECK(call("1", "plain", "null")["result"]["content"].at(0)["text"].if_string() == "plain");
        // A missing required argument is reported as for {}.
        json::value missing = call("2", "needs", "{}");
        json::value null = call("3", "needs", "null");
        null.set("id", 2);
        CHECK(json::to_string(null) == json::to_string(missing));
        for (const char* wrong : {"[]", "7", "true", "\"{}\""}) {
            CAPTURE(wrong);
            CHECK(call("4", "plain", wrong)["error"]["code"].if_int() == -32602);
        }
        for (const char* wrong : {"[]", "7", "true", "\"{}\""}) {
            CAPTURE(wrong);
            s.send(request_line("5", "tools/list", wrong));
            CHECK(s.seen.answer_message("5")["error"]["code"].if_int() == -32602);
        }
    }
}

TEST_CASE("E12: a 2026-07-28 request with an unsupported version gets the supported versions") {
    server_under_test s;
    s.start();
    s.send(request_line("1", "tools/list", "{" + meta_with("\"2099-01-01\"") + "}"));
    json::value e = s.seen.answer_message("1")["error"];
    CHECK(e["code"].if_int() == -32022);
    CHECK(e["data"]["requested"].if_string() == "2099-01-01");
    CHECK(json::to_string(e["data"]["supported"]) ==
          R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"])");
    s.send(modern_line("2", "tools/list"));
    CHECK(s.seen.answer_message("2").contains("result"));
}

TEST_CASE("E13: in 2026-07-28 a server ignores responses, a client ignores requests") {
    server_under_test s;
    s.start();
    s.send(modern_line("1", "tools/list"));
    s.seen.take();
    for (const char* id : {"1", "2", "\"x\"", "999999"}) {
        s.wire->feed(result_line(id) + "\n" + error_line(id, -1, "no") + "\n");
        s.loop->run();
    }
    s.wire->feed(error_line("", -1, "without id") + "\n");
    s.loop->run();
    CHECK(s.seen.take().empty());
    CHECK(s.ends.empty());

    peer_under_test c(rpc::role::client);
    c.peer->core().accept_requests(false);
    c.wire->feed(request_line("1", "ping") + "\n");
    c.loop->run();
    CHECK(c.seen.take().empty());
    CHECK(
        std::none_of(c.events.begin(), c.events.end(), [](const std::string& e) { return e.starts_with("request"); }));
    CHECK(std::any_of(c.events.begin(), c.events.end(), [](const std::string& e) { return e.starts_with("report"); }));
}

TEST_CASE("J6: a flood of invalid input does not flood the log") {
    server_under_test s;
    s.start("2025-11-25");
    for (int second = 0; second < 5; ++second) {
        for (int i = 0; i < 2000; ++i) {
            s.wire->feed("oops\n");
            s.wire->feed(R"({"jsonrpc":"2.0","error":{"code":1,"message":")" + std::string(3000, 'x') +
                         "\\u001b[31m\\n\"}}\n");
        }
        s.loop->run();
        s.advance(1s);
    }
    lines log = s.log();
    CHECK(log.size() <= 5 * 25);
    CHECK_FALSE(log.empty());
    for (const std::string& line : log) {
        CHECK(line.size() < 500);
        CHECK(std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }));
    }
}
