// The content of sampling, roots and elicitation requests.

#include "booking_server.hpp"

#include <doctest/doctest.h>

namespace keel::test {

TEST_CASE("sampling, roots and URL elicitation work in all revisions (SAM-01, ROOT-01, ELI-02, ELI-15, ELI-20)") {
    auto make = [](server_under_test& s) {
        s.tool("all", [](context& ctx) -> task<std::string> {
            sampling_request ask("Write a line", 50);
            ask.system_prompt = "Be brief";
            sampling_result line = co_await ctx.sample("line", std::move(ask));
            std::vector<root> roots = co_await ctx.list_roots();
            url_elicited paid = co_await ctx.elicit_url("pay", "Please pay", "https://example.com/pay");
            ctx.url_elicitation_complete(paid);
            co_return line.text() + " by " + line.model + ", " + std::to_string(roots.size()) + " roots, " +
                (paid ? "paid" : "unpaid");
        });
    };
    const std::string said = R"({"role":"assistant","content":{"type":"text","text":"Hi"},"model":"m1"})";
    const std::string roots = R"({"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]})";
    SUBCASE("2026-07-28") {
        server_under_test s;
        make(s);
        s.start();
        json::value one = modern_call(s, "1", "all");
        CHECK(one["result"]["inputRequests"]["line"]["method"].as_string() == "sampling/createMessage");
        CHECK(one["result"]["inputRequests"]["line"]["params"]["maxTokens"].as_int() == 50);
        auto next = [](const json::value& m, const std::string& key, const std::string& answer) {
            return R"("inputResponses":{")" + key + "\":" + answer + R"(},"requestState":)" +
                   json::to_string(m["result"]["requestState"]);
        };
        json::value two = modern_call(s, "2", "all", next(one, "line", said));
        CHECK(two["result"]["inputRequests"]["roots"]["method"].as_string() == "roots/list");
        json::value three = modern_call(s, "3", "all", next(two, "roots", roots));
        const json::value& url = three["result"]["inputRequests"]["pay"]["params"];
        CHECK(url["url"].as_string() == "https://example.com/pay");
        CHECK_FALSE(url.contains("elicitationId"));
        json::value done = modern_call(s, "4", "all", next(three, "pay", R"({"action":"accept"})"));
        CHECK(reply_text(done) == "Hi by m1, 2 roots, paid");
        for (const std::string& line : s.seen.all()) CHECK(line.find("elicitation/complete") == std::string::npos);
    }
    SUBCASE("2025-11-25") {
        server_under_test s;
        make(s);
        s.start();
        s.send(server_under_test::initialize_line("\"init\"", "2025-11-25", all_capabilities));
        s.send(notification_line("notifications/initialized"));
        s.seen.take();
        s.call("1", "all");
        std::string id;
        std::string complete;
        for (bool more = true; more;) {
            more = false;
            for (const std::string& line : s.seen.take()) {
                json::value m = json::parse(line);
                auto method = m["method"].if_string().value_or("");
                std::string answer;
                if (method == "sampling/createMessage") answer = said;
                if (method == "roots/list") answer = roots;
                if (method == "elicitation/create") {
                    id = m["params"]["elicitationId"].as_string();
                    answer = R"({"action":"accept"})";
                }
                if (method == "notifications/elicitation/complete") complete = m["params"]["elicitationId"].as_string();
                if (answer.empty()) continue;
                more = true;
                s.send(result_line(json::to_string(m["id"]), answer));
            }
        }
        CHECK(s.answer("1") == "Hi by m1, 2 roots, paid");
        CHECK_FALSE(id.empty());
        CHECK(complete == id);
    }
}

TEST_CASE("an invalid sampling conversation is refused before it is sent (SAM-04, SAM-05)") {
    const content use_a = content::tool_use("a", "weather", json::object());
    const content a_done = content::tool_answer("a", {content("sunny")});
    const content b_done = content::tool_answer("b", {content("sunny")});
    const struct {
        std::vector<content> after_the_use;
        const char* problem;  // "": it is sent
    } cases[] = {
        {{content("and?")}, "message 2: tool results must match the tool uses of the previous message"},
        {{b_done}, "message 2: tool results must match the tool uses of the previous message"},
        {{a_done, b_done}, "message 2: tool results must match the tool uses of the previous message"},
        {{a_done, content("and?")}, "message 2: a message with tool results must contain nothing else"},
        {{a_done}, ""},
    };
    for (std::string_view version : {"2025-11-25", "2026-07-28"}) {
        for (const auto& one : cases) {
            CAPTURE(version);
            CAPTURE(one.problem);
            server_under_test s;
            s.tool("talk", [&](context& ctx) -> task<std::string> {
                std::vector<sampling_message> talk;
                talk.emplace_back(role::user, content("Weather?"));
                talk.emplace_back(role::assistant, use_a);
                talk.emplace_back(role::user, one.after_the_use);
                sampling_request ask(std::move(talk));
                auto r = co_await ctx.sample("s", std::move(ask));
                co_return r.text();
            });
            s.start();
            bool sent = std::string_view(one.problem).empty();
            if (version == "2026-07-28") {
                json::value answer = modern_call(s, "1", "talk");
                CHECK(asked_keys(answer).contains("s") == sent);
            } else {
                s.send(server_under_test::initialize_line("\"init\"", version, all_capabilities));
                s.send(notification_line("notifications/initialized"));
                s.call("1", "talk");
                CHECK(s.seen.with_method("sampling/createMessage").size() == (sent ? 1 : 0));
            }
            if (!sent) {
                CHECK(s.seen.answer_message("1")["error"]["code"].as_int() == -32603);
                CHECK(s.logged(one.problem));
            }
        }
    }
}

TEST_CASE("a form outside the supported schema subset is refused with its key") {
    server_under_test s;
    s.tool("deep", [](context& ctx) -> task<std::string> {
        json::value form = json::parse(
            R"({"type":"object","properties":{"inner":{"type":"object","properties":{"a":{"type":"string"}}}}})");
        auto answer = co_await ctx.elicit("f", "Fill in", std::move(form));
        co_return "";
    });
    s.start();
    CHECK(modern_call(s, "1", "deep")["error"]["code"].as_int() == -32603);
    CHECK(s.logged("inner"));
}

TEST_CASE("META-03: requests to the client carry the trace context of their call") {
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        server_under_test s;
        s.tool("roots", [](context& ctx) -> task<std::string> {
            auto r = co_await ctx.list_roots();
            co_return std::to_string(r.size());
        });
        s.start(version);
        const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        s.send(request_line("1", "tools/call",
                            R"({"name":"roots","_meta":{"traceparent":")" + parent + R"(","tracestate":"broken"}})"));
        lines asked = s.seen.take();
        REQUIRE(asked.size() == 1);
        json::value m = json::parse(asked[0]);
        CHECK(m["params"]["_meta"]["traceparent"].as_string() == parent);
        CHECK_FALSE(m["params"]["_meta"].contains("tracestate"));
        s.send(result_line(json::to_string(m["id"]), R"({"roots":[]})"));
        CHECK(s.answer("1") == "0");
    }
}

}  // namespace keel::test
