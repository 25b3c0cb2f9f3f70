// Requests that the client does not support, or that the method does not allow.

#include "booking_server.hpp"

#include <doctest/doctest.h>

namespace keel::test {

TEST_CASE(
    "a client without the capability is not asked, and the error names the capability (VER-09, VER-10, MRTR-05, "
    "ELI-01, ELI-02, SAM-01, SAM-02, ROOT-01)") {
    server_under_test s;
    s.tool("form", [](context& ctx) -> task<std::string> {
        auto g = co_await ctx.elicit<guest>("g", "Who?");
        co_return g->name;
    });
    s.tool("url", [](context& ctx) -> task<std::string> {
        auto u = co_await ctx.elicit_url("u", "Pay", "https://example.com/pay");
        co_return u ? "agreed" : "no";
    });
    s.tool("sample", [](context& ctx) -> task<std::string> {
        sampling_request ask("Write");
        auto r = co_await ctx.sample("s", std::move(ask));
        co_return r.text();
    });
    s.tool("sample_tools", [](context& ctx) -> task<std::string> {
        sampling_request ask("Write");
        ask.tool_choice = tool_choice::automatic;
        auto r = co_await ctx.sample("s", std::move(ask));
        co_return r.text();
    });
    s.tool("roots", [](context& ctx) -> task<std::string> {
        auto r = co_await ctx.list_roots();
        co_return std::to_string(r.size());
    });
    s.start();
    auto required = [&](std::string_view id, std::string_view tool, std::string_view declared) {
        json::value answer = modern_call(s, id, tool, "", declared);
        CHECK(answer["error"]["code"].as_int() == -32021);
        return json::to_string(answer["error"]["data"]["requiredCapabilities"]);
    };
    CHECK(required("1", "form", "{}") == R"({"elicitation":{"form":{}}})");
    CHECK(required("2", "form", R"({"elicitation":{"url":{}}})") == R"({"elicitation":{"form":{}}})");
    CHECK(required("3", "url", R"({"elicitation":{}})") == R"({"elicitation":{"url":{}}})");
    CHECK(required("4", "sample", R"({"elicitation":{}})") == R"({"sampling":{}})");
    CHECK(required("5", "sample_tools", R"({"sampling":{}})") == R"({"sampling":{"tools":{}}})");
    CHECK(required("6", "roots", "{}") == R"({"roots":{}})");
    // An empty object means forms only.
    CHECK(asked_keys(modern_call(s, "7", "form", "", R"({"elicitation":{}})")) == std::set<std::string>{"g"});
}

TEST_CASE("asking a legacy client without the capability fails the call, not the connection (ELI-01, SAM-01, VER-09)") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("form", [](context& ctx) -> task<std::string> {
            std::string said;
            try {
                auto g = co_await ctx.elicit<guest>("g", "Who?");
                said = g->name;
            } catch (const error& e) {
                said = e.kind() == error_kind::unavailable ? "unavailable" : "other";
            }
            co_return said;
        });
        s.tool("bare", [](context& ctx) -> task<std::string> {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        });
        s.start(version);
        s.call("1", "form");
        CHECK(s.answer("1") == "unavailable");
        s.call("2", "bare");
        CHECK(s.answer("2") == "error -32600 the client does not support elicitation forms");
    }
}

TEST_CASE("a client of a revision without elicitation is not asked, whatever it declares (ELI-01)") {
    for (const char* version : {"2024-11-05", "2025-03-26"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("form", [](context& ctx) -> task<std::string> {
            auto g = co_await ctx.elicit<guest>("g", "Who?");
            co_return g->name;
        });
        s.start();
        s.send(server_under_test::initialize_line("\"init\"", version, R"({"elicitation":{}})"));
        s.send(notification_line("notifications/initialized"));
        s.call("1", "form");
        CHECK(s.answer("1") == "error -32600 the client does not support elicitation forms");
    }
}

TEST_CASE("asking in a method that does not support it fails with an error (MRTR-02)") {
    server_under_test s;
    server_side::method_offer offer;
    offer.name = "example/ask";
    offer.handler.coroutine = [](context ctx, json::value) -> task<detail::reply> {
        auto g = co_await ctx.elicit<guest>("g", "Who?");
        detail::reply out;
        out.content = "{}";
        co_return out;
    };
    s.core->methods.put(std::make_shared<const server_side::method_offer>(std::move(offer)));
    s.start();
    s.send(request_line("1", "example/ask", "{" + modern_meta_with(all_capabilities) + "}"));
    CHECK(s.answer("1") == "error -32603 example/ask cannot send requests to the client in this protocol revision");
}

}  // namespace keel::test
