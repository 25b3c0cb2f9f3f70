// Messages, ids, errors and kinds of results for a client.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

struct step {
    std::string method;
    std::string result;
};

/// Calls every function of a client once, with texts that contain newlines.
void tour(client_under_test& t, const std::string& revision) {
    json::value arguments = json::object({{"text", "a\nb\r\nc\xE2\x80\xA8"}});
    auto answered = [&](outcome_of_task& o, std::string_view method, std::string_view members) {
        t.answer(t.expect(method), result_in(revision, members));
        CHECK_MESSAGE(!o.failed, o.text);
        CHECK(o.done());
    };
    answered(t.run(t.client->list_tools(), count_of), "tools/list", R"({"tools":[]})");
    answered(t.run(t.client->call_tool("x\ny", arguments)), "tools/call", R"({"content":[]})");
    answered(t.run(t.client->list_resources(), count_of), "resources/list", R"({"resources":[]})");
    answered(t.run(t.client->list_resource_templates(), count_of), "resources/templates/list",
             R"({"resourceTemplates":[]})");
    answered(t.run(t.client->read_resource("a:\nb"), count_of), "resources/read", R"({"contents":[]})");
    answered(t.run(t.client->list_prompts(), count_of), "prompts/list", R"({"prompts":[]})");
    auto messages = [](const prompt_result& r) { return count_of(r.messages); };
    answered(t.run(t.client->get_prompt("p", {{"a", "1\n2"}}), messages), "prompts/get", R"({"messages":[]})");
    auto values = [](const completion& c) { return count_of(c.values); };
    answered(t.run(t.client->complete_prompt("p", "a", "\n", {{"b", "\n"}}), values), "completion/complete",
             R"({"completion":{"values":[]}})");
    answered(t.run(t.client->ping()), revision == modern ? "server/discover" : "ping",
             R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
    answered(t.run(t.client->request("com.example/do", arguments)), "com.example/do", "{}");
    t.client->notify("com.example/told", arguments);
    t.loop->run();
    t.expect("com.example/told");
}

}  // namespace

TEST_CASE(
    "BASE-01, BASE-02, BASE-03, BASE-04, BASE-20, STD-01, STD-03, VER-11, VER-21: each message is one line of"
    " JSON-RPC, also on a custom byte stream, and ids are not reused") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        tour(t, revision);
        tour(t, revision);  // client_check detects reused ids
        outcome_of_task& raw = t.run(t.client->call_tool("x", json::object({{"text", "1\n2"}})));
        std::string line = t.wire().output();
        CHECK(line.starts_with(R"({"jsonrpc":"2.0","id":)"));
        CHECK(line.find('\n') == line.size() - 1);
        json::value call = t.expect("tools/call");
        CHECK(call["id"].if_int().has_value());
        t.answer(call, text_result(revision, "ok"));
        CHECK(raw.text == "ok");
        CHECK(t.silent());
    }
}

TEST_CASE("BASE-24: one connection serves all calls until the client is closed") {
    client_under_test t;
    t.connect(modern);
    for (int i = 0; i < 3; ++i) tour(t, modern);
    CHECK(t.connector->wires.size() == 1);
    CHECK(t.client->connected());
}

TEST_CASE("BASE-05, BASE-06: an invalid response fails its call as a bad message, and the session continues") {
    for (const std::string& revision : every_revision) {
        for (const char* answer :
             {R"("result":{},"error":{"code":1,"message":"x"})", R"("result":7)", R"("error":{"message":"x"})",
              R"("error":{"code":"1","message":"x"})", R"("error":{"code":1})", R"("error":"x")", R"("nothing":1)"}) {
            client_under_test t;
            t.connect(revision);
            outcome_of_task& o = t.run(t.client->call_tool("x"));
            std::string id = json::to_string(t.expect("tools/call")["id"]);
            t.send_text(R"({"jsonrpc":"2.0","id":)" + id + "," + answer + "}");
            INFO(revision << " " << answer);
            CHECK_MESSAGE(o.kind == error_kind::bad_message, o.text);
            outcome_of_task& next = t.run(t.client->call_tool("x"));
            t.answer(t.expect("tools/call"), text_result(revision, "ok"));
            CHECK(next.text == "ok");
        }
    }
}

TEST_CASE("BASE-05, BASE-06: requests of a server are answered with their id and a result, or a code and a message") {
    for (const std::string& revision : older_revisions) {
        client_options options;
        options.roots.emplace();
        client_under_test t(options);
        t.connect(revision);
        for (const json::value& id : {json::value(0), json::value(""), json::value("7"), json::value(-7)}) {
            t.ask(id, "roots/list");
            json::value good = t.next();
            CHECK(good["id"] == id);
            CHECK(good["result"]["roots"].is_array());
            CHECK(!good.contains("error"));
            t.ask(id, "no/such");
            json::value bad = t.next();
            CHECK(bad["id"] == id);
            CHECK(!bad.contains("result"));
            CHECK(bad["error"]["code"].if_int() == -32601);
            CHECK(bad["error"]["message"].is_string());
        }
    }
}

TEST_CASE("BASE-07: notifications of a server are never answered, and those of the client have no id") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        t.notify("no/such", json::object({{"x", 1}}));
        t.notify("notifications/message", json::object({{"level", 7}}));
        t.notify("notifications/progress", json::object({{"progressToken", 99}}));
        t.notify("ping");
        CHECK(t.silent());
        t.client->notify("com.example/told");
        t.loop->run();
        CHECK(!t.expect("com.example/told").contains("id"));
    }
}

TEST_CASE(
    "BASE-08, BASE-09: in 2025-03-26 responses, requests and notifications may arrive in one batch; the "
    "client sends no batches") {
    client_options options;
    options.roots.emplace();
    std::vector<std::string> heard;
    options.on_notification = [&](std::string_view method, const json::value&) { heard.emplace_back(method); };
    client_under_test t(options);
    t.connect("2025-03-26");
    outcome_of_task& one = t.run(t.client->call_tool("x"));
    outcome_of_task& two = t.run(t.client->call_tool("x"));
    std::string first = json::to_string(t.expect("tools/call")["id"]);
    std::string second = json::to_string(t.expect("tools/call")["id"]);
    t.send_text(R"([{"jsonrpc":"2.0","id":)" + second + R"(,"result":{"content":[{"type":"text","text":"2"}]}},)" +
                R"({"jsonrpc":"2.0","method":"com.example/news"},)" + R"({"jsonrpc":"2.0","id":)" + first +
                R"(,"result":{"content":[{"type":"text","text":"1"}]}}])");
    CHECK(one.text == "1");
    CHECK(two.text == "2");
    CHECK(heard == std::vector<std::string>{"com.example/news"});
    CHECK(t.silent());
    t.send_text(R"([{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"roots/list"}])");
    std::string answered;
    for (json::value m = t.next(); !m.is_null(); m = t.next()) {
        if (m.is_object()) answered += *m["id"].if_string();
        for (const json::value& each : m.items()) answered += *each["id"].if_string();
    }
    CHECK((answered == "ab" || answered == "ba"));
}

TEST_CASE("BASE-11: a result without a resultType is complete") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), json::parse(R"({"content":[{"type":"text","text":"ok"}]})"));
    CHECK(o.text == "ok");
    outcome_of_task& listed = t.run(t.client->list_tools(), count_of);
    t.answer(t.expect("tools/list"), json::parse(R"({"tools":[]})"));
    CHECK(listed.text == "0");
}

TEST_CASE("BASE-12, VER-06, VER-12: a result of a type that was not negotiated is invalid") {
    for (const char* type : {R"("task")", R"("partial")", R"("")", R"("Complete")", "7", "null", "{}"}) {
        client_under_test t;
        t.connect(modern);
        std::string result =
            std::string(R"({"content":[],"tools":[],"contents":[],"ttlMs":0,"cacheScope":"private","resultType":)") +
            type + "}";
        INFO(type);
        outcome_of_task& called = t.run(t.client->call_tool("x"));
        t.answer(t.expect("tools/call"), json::parse(result));
        CHECK(called.kind == error_kind::bad_message);
        outcome_of_task& listed = t.run(t.client->list_tools(), count_of);
        t.answer(t.expect("tools/list"), json::parse(result));
        CHECK(listed.kind == error_kind::bad_message);
        outcome_of_task& own = t.run(t.client->request("com.example/do"));
        t.answer(t.expect("com.example/do"), json::parse(result));
        CHECK(own.kind == error_kind::bad_message);
    }
}

TEST_CASE("BASE-12, MRTR-02: only tool calls, prompts and reads may return input requests") {
    client_options options;
    options.roots.emplace();
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& listed = t.run(t.client->list_tools(), count_of);
    t.answer(t.expect("tools/list"), questions(R"({"r":{"method":"roots/list"}})"));
    CHECK(listed.kind == error_kind::bad_message);
    CHECK(t.silent());
}

TEST_CASE(
    "BASE-13, BASE-14, BASE-17, BASE-21: in 2026-07-28 a client sends no responses, so it has no error codes "
    "either") {
    client_options options;
    options.roots.emplace();
    options.on_form = [](form_question) { return form_answer(elicit_action::decline); };
    client_under_test t(options);
    t.connect(modern);
    t.ask(1, "roots/list");
    t.ask("x", "ping");
    t.ask(2, "elicitation/create", json::object({{"message", "?"}}));
    t.send_text("{oops");
    t.send_text(R"({"jsonrpc":"2.0","id":null,"method":5})");
    t.send_text(R"([{"jsonrpc":"2.0","id":3,"method":"ping"}])");
    CHECK(t.silent());
    CHECK(!t.log.empty());
}

TEST_CASE("BASE-15: error codes of the server are passed on unchanged") {
    client_under_test t;
    t.connect(modern);
    for (int code = -32019; code <= -32000; ++code) {
        outcome_of_task& o = t.run(t.client->read_resource("a:b"), count_of);
        t.refuse(t.expect("resources/read"), code, "so", json::array({1}));
        CHECK(o.kind == error_kind::rejected);
        CHECK(o.code == code);
        CHECK(t.silent());
        CHECK(t.client->connected());
    }
}

TEST_CASE("D16: an invalid notification is reported and has no other effect") {
    client_under_test t;
    t.connect(modern);
    t.log.clear();
    t.client->notify("com.example/told", json::array({1}));
    t.client->notify("com.example/told", json::object({{"_meta", 7}}));
    t.client->notify("com.example/told", json::object({{"n", 1}}));
    CHECK_NOTHROW(t.loop->run());
    json::value told = t.expect("com.example/told");
    CHECK(told["params"]["n"].if_int() == 1);
    CHECK(t.silent());
    REQUIRE(t.log.size() == 2);
    for (const std::string& each : t.log) CHECK(each.find("sending a notification failed") != std::string::npos);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), text_result(modern, "ok"));
    CHECK(o.text == "ok");
}
