// Rules of the protocol that belong to no single feature.

#include "feature_server.hpp"

#include <set>

namespace {

using namespace keel::test;
namespace json = keel::json;
namespace error_code = keel::error_code;
using namespace std::chrono_literals;

keel::task<std::string> ask_for_roots(keel::context& ctx) {
    auto roots = co_await ctx.list_roots();
    co_return std::to_string(roots.size());
}

keel::task<std::string> ask_with_a_clock(keel::context& ctx) {
    json::value none;
    json::value answer = co_await ctx.request("roots/list", none, 5s);
    co_return std::to_string(answer["roots"].size());
}

/// A tool that throws the error code in its argument.
struct error_code_args {
    int code = 0;
};
KEEL_DESCRIBE(error_code_args, code)

int code_of(const json::value& answer) { return static_cast<int>(answer["error"]["code"].as_int()); }

void throw_code(feature_server& s) {
    s.tool("throw", [](error_code_args in) -> std::string { throw keel::error(in.code, "thrown"); }, {.quick = true});
}

std::string throw_line(int code) { return R"("name":"throw","arguments":{"code":)" + std::to_string(code) + "}"; }

}  // namespace

TEST_CASE("BASE-03: no two requests of the server have the same id") {
    for (std::string_view version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("ask", &ask_for_roots);
        s.start(version);
        std::set<std::string> ids;
        for (int i = 0; i < 100; ++i) {
            std::string id = std::to_string(i);
            s.call(id, "ask");
            json::value asked = s.seen.with_method("roots/list").back();
            std::string theirs = json::to_string(asked["id"]);
            CHECK(ids.insert(theirs).second);
            if (i % 3 == 0) {
                s.cancel(id);
            } else {
                s.send(result_line(theirs, R"({"roots":[]})"));
                CHECK(s.answer(id) == "0");
            }
        }
    }
}

TEST_CASE("BASE-13, BASE-14: error codes that a revision does not define are not sent, even if user code throws them") {
    feature_server s;
    throw_code(s);
    s.speak("2026-07-28");
    CHECK(code_of(s.ask("tools/call", throw_line(-32002))) == error_code::invalid_params);
    CHECK(code_of(s.ask("tools/call", throw_line(-32042))) == error_code::internal);
    for (int code : {-32023, -32050, -32099})
        CHECK(code_of(s.ask("tools/call", throw_line(code))) == error_code::internal);
    for (int code : {7, -1, 1234, -31999, -32768 - 1}) CHECK(code_of(s.ask("tools/call", throw_line(code))) == code);
}

TEST_CASE("ELI-17: the error URLElicitationRequired is sent in 2025-11-25 only") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.tool("url",
               []() -> std::string {
                   json::value one = json::object(
                       {{"mode", "url"}, {"elicitationId", "e"}, {"url", "https://example.com"}, {"message", "there"}});
                   throw keel::error(error_code::url_elicitation_required, "go there",
                                     json::object({{"elicitations", json::array({one})}}));
               },
               {.quick = true});
        s.tool("fail", []() -> std::string { throw std::runtime_error("something else"); }, {.quick = true});
        s.speak(version);
        int code = code_of(s.ask("tools/call", R"("name":"url")"));
        CHECK(code == (version == "2025-11-25" ? -32042 : -32603));
        CHECK(code_of(s.ask("tools/call", R"("name":"fail")")) == -32603);
    }
}

TEST_CASE("BASE-15, BASE-21: the library's own error codes do not overlap those of the specification") {
    for (int code :
         {error_code::parse, error_code::invalid_request, error_code::method_not_found, error_code::invalid_params,
          error_code::internal, error_code::resource_not_found, error_code::header_mismatch,
          error_code::missing_client_capability, error_code::unsupported_protocol_version,
          error_code::url_elicitation_required, error_code::request_cancelled}) {
        CAPTURE(code);
        static const std::set<int> of_the_protocol = {-32700, -32600, -32601, -32602, -32603,
                                                      -32002, -32020, -32021, -32022, -32042};
        bool reserved = code >= -32768 && code <= -32000;
        CHECK(reserved == of_the_protocol.contains(code));
    }
}

TEST_CASE("BASE-15: error codes between -32019 and -32000 from a client are passed on unchanged") {
    for (int code : {-32000, -32001, -32005, -32019}) {
        CAPTURE(code);
        server_under_test s;
        std::string seen;
        s.tool("ask", [&seen](keel::context& ctx) -> keel::task<std::string> {
            try {
                auto roots = co_await ctx.list_roots();
                co_return "got";
            } catch (const keel::error& e) {
                seen = std::string(name_of(e.kind())) + " " + std::to_string(e.code());
            }
            co_return "failed";
        });
        s.start("2025-11-25");
        s.call("1", "ask");
        s.send(error_line(json::to_string(s.seen.with_method("roots/list").back()["id"]), code, "no"));
        CHECK(s.answer("1") == "failed");
        CHECK(seen == "rejected " + std::to_string(code));
    }
}

TEST_CASE("META-02: reserved members of _meta may have any value") {
    for (std::string_view version : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        for (const char* odd : {"7", "null", "\"text\"", "[]", "{\"level\":1}"}) {
            CAPTURE(version);
            CAPTURE(odd);
            feature_server s;
            s.tool("log",
                   [](keel::context& ctx) {
                       ctx.log(keel::log_level::error, "said");
                       return "done";
                   },
                   {.quick = true});
            s.speak(version);
            std::string more;
            for (const char* key :
                 {"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel", "traceparent", "tracestate",
                  "baggage", "io.modelcontextprotocol/related-task", "mcp.dev/new"}) {
                more += (more.empty() ? "\"" : ",\"") + std::string(key) + "\":" + odd;
            }
            if (is_modern(version)) s.send(modern_line("1", "tools/call", R"("name":"log")", more));
            else s.send(request_line("1", "tools/call", R"({"name":"log","_meta":{)" + more + "}}"));
            CHECK(s.answer("1") == "done");
            // Older clients select the log level with logging/setLevel.
            CHECK(s.seen.with_method("notifications/message").size() == (is_modern(version) ? 0 : 1));
        }
    }
}

TEST_CASE("VER-11, VER-21: a custom transport carries the same messages, one per line, split at any byte") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.tool("echo", [] { return "two\nlines"; }, {.quick = true});
        s.speak(version);
        std::string line = is_modern(version) ? modern_call_line("1", "echo") : call_line("1", "echo");
        s.seen.note_input(line);
        for (char c : line + "\n") s.wire->feed(std::string(1, c));
        s.loop->run();
        CHECK(s.answer("1") == "two\nlines");
        CHECK(s.seen.partial().empty());
    }
}

TEST_CASE("LIFE-13: a request to the client can have its own timeout, which progress does not extend forever") {
    for (std::string_view version : {"2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        server_settings how;
        how.bounds.request_idle = 60s;
        how.bounds.request_total = 200s;
        server_under_test s(how);
        s.tool("short", &ask_with_a_clock);
        s.tool("long", &ask_for_roots);
        s.start(version);
        s.call("1", "short");
        s.advance(4s);
        CHECK(s.answers_to("1") == 0);
        s.advance(2s);
        CHECK(s.answers_to("1") == 1);
        CHECK(s.seen.with_method("notifications/cancelled").size() == 1);

        s.call("2", "long");
        json::value asked = s.seen.with_method("roots/list").back();
        const json::value& token = asked["params"]["_meta"]["progressToken"];
        int told = 0;
        for (; s.answers_to("2") == 0 && told < 20; ++told) {
            s.advance(50s);
            if (!token.is_null()) s.send(progress_line(json::to_string(token), std::to_string(told)));
        }
        CHECK(told <= 5);
        CHECK(s.seen.with_method("notifications/cancelled").size() == 2);
    }
}

TEST_CASE("PROG-03: progress for a client that does not read is coalesced, and it gets the newest") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s;
        s.tool("count", [](keel::context& ctx) -> keel::task<std::string> {
            for (int i = 1; i <= 100'000; ++i) ctx.progress(i, 100'000.0);
            co_return "counted";
        });
        s.speak(version);
        s.wire->stall();
        s.send(is_modern(version) ? modern_call_line("1", "count", "{}", "\"t\"")
                                  : call_line("1", "count", "{}", "\"t\""));
        s.wire->resume();
        s.loop->run();
        CHECK(s.answer("1") == "counted");
        auto told = s.seen.with_method("notifications/progress");
        REQUIRE(!told.empty());
        CHECK(told.size() < 50'000);
        CHECK(told.back()["params"]["progress"].as_double() == 100'000);
    }
}

TEST_CASE("TOOL-16: a server that only embeds resources can declare the resources capability") {
    for (std::string_view version : all_versions) {
        CAPTURE(version);
        feature_server s(with_options([](keel::server_options& o) { o.declare_resources = true; }));
        s.tool("embed", [] { return keel::content::embed(keel::resource_contents::of_text("test://x", "x")); },
               {.quick = true});
        if (is_modern(version)) {
            s.speak(version);
            CHECK(s.ask("server/discover")["result"]["capabilities"].contains("resources"));
        } else {
            s.start();
            s.send(server_under_test::initialize_line("0", version));
            CHECK(s.seen.answer_message("0")["result"]["capabilities"].contains("resources"));
        }
    }
}
