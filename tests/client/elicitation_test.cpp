// Elicitation: forms and URLs, requested by a server request or in a round of a call.

#include "revisions.hpp"

#include <keel/async.hpp>

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* first_revision = "2025-06-18";

json::value form(std::string_view properties, std::string_view mode = {}) {
    json::value params = json::object({{"message", "who?"}});
    json::value schema = json::object({{"type", "object"}});
    schema.set("properties", json::parse(properties));
    params.set("requestedSchema", schema);
    if (!mode.empty()) params.set("mode", mode);
    return params;
}

json::value web_page(std::string_view revision, std::string_view id = "e1") {
    json::value params =
        json::object({{"mode", "url"}, {"message", "sign in"}, {"url", "https://xn--e1awd7f.example/a?b=c#d"}});
    if (revision != modern) params.set("elicitationId", id);
    return params;
}

client_options answering(form_answer with) {
    client_options options;
    options.on_form = [with](form_question) -> task<form_answer> { co_return with; };
    return options;
}

}  // namespace

TEST_CASE(
    "ELI-01: the supported elicitation modes are declared, in the handshake or with every request, and no "
    "others") {
    auto on_form = [](form_question) -> task<form_answer> { co_return form_answer(elicit_action::decline); };
    auto on_url = [](url_question) -> task<elicit_action> { co_return elicit_action::decline; };
    struct kind {
        bool form;
        bool url;
        const char* expected;
    };
    for (const std::string& revision : revisions_from(first_revision)) {
        for (const kind& k : {kind{false, false, "none"}, kind{true, false, R"({"form":{}})"},
                              kind{false, true, R"({"url":{}})"}, kind{true, true, R"({"form":{},"url":{}})"}}) {
            client_options options;
            if (k.form) options.on_form = on_form;
            if (k.url) options.on_url = on_url;
            if (revision != modern) options.mode = protocol_mode::legacy;
            client_under_test t(options);
            outcome_of_task& o = t.run(t.client->connect());
            json::value first = t.next();
            CHECK(declared(first, "elicitation") == k.expected);
            t.answer(first,
                     revision == modern
                         ? result_in(modern, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})")
                         : json::parse(R"({"protocolVersion":")" + revision +
                                       R"(","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})"));
            spoke(revision);
            CHECK(o.text == "done");
            if (revision != modern) continue;
            outcome_of_task& called = t.run(t.client->call_tool("x"));
            json::value call = t.expect("tools/call");
            CHECK(declared(call, "elicitation") == k.expected);
            t.answer(call, text_result(modern, "ok"));
            CHECK(called.text == "ok");
        }
    }
}

TEST_CASE("ELI-03: an elicitation without a mode is a form") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        for (const char* mode : {"", "form"}) {
            client_under_test t(answering(form_answer(json::object({{"n", 1}}))));
            t.connect(revision);
            json::value said = ask_client(t, revision, "elicitation/create", form(R"({"n":{"type":"integer"}})", mode));
            CHECK(json::to_string(said["result"]) == R"({"action":"accept","content":{"n":1}})");
        }
    }
}

TEST_CASE("ELI-04: an undeclared or unknown mode is rejected with -32602") {
    client_under_test forms(answering(form_answer(elicit_action::accept)));
    forms.connect("2025-11-25");
    CHECK(ask_client(forms, "2025-11-25", "elicitation/create", web_page("2025-11-25"))["error"]["code"].if_int() ==
          -32602);
    CHECK(ask_client(forms, "2025-11-25", "elicitation/create", form("{}", "voice"))["error"]["code"].if_int() ==
          -32602);
    client_options options;
    options.on_url = [](url_question) -> task<elicit_action> { co_return elicit_action::accept; };
    client_under_test urls(options);
    urls.connect("2025-11-25");
    CHECK(ask_client(urls, "2025-11-25", "elicitation/create", form("{}"))["error"]["code"].if_int() == -32602);
}

TEST_CASE("ELI-06: the handler knows which server asks, and can decline and cancel; form values are then not sent") {
    for (const std::string& revision : revisions_from(first_revision)) {
        for (auto [action, word] :
             {std::pair(elicit_action::decline, "decline"), std::pair(elicit_action::cancel, "cancel")}) {
            std::string asker;
            client_options options;
            options.on_form = [&, act = action](asked_by who, form_question q) -> task<form_answer> {
                asker = who.server_name() + ": " + q.message;
                form_answer a(json::object({{"secret", "x"}}));
                a.action = act;
                co_return a;
            };
            client_under_test t(options);
            outcome_of_task& o = t.run(t.client->connect());
            json::value first = t.expect("server/discover");
            if (revision == modern) {
                t.answer(first, result_in(modern, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},
                    "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"the test","version":"0"}}})"));
                spoke(modern);
            } else {
                t.refuse(first, -32601);
                t.play_opening(revision);
            }
            CHECK(o.text == "done");
            json::value said = ask_client(t, revision, "elicitation/create", form("{}"));
            CHECK(json::to_string(said["result"]) == R"({"action":")" + std::string(word) + R"("})");
            CHECK(asker == "the test: who?");
        }
    }
}

TEST_CASE(
    "ELI-07, ELI-08: a URL is passed on unchanged, and nothing is opened or fetched before the user has "
    "agreed") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        event agreed;
        url_question seen;
        client_options options;
        options.on_url = [&](url_question q) -> task<elicit_action> {
            seen = q;
            co_await agreed;
            co_return elicit_action::accept;
        };
        client_under_test t(options);
        t.connect(revision);
        agreed.set();
        json::value said = ask_client(t, revision, "elicitation/create", web_page(revision));
        CHECK(json::to_string(said["result"]) == R"({"action":"accept"})");
        CHECK(seen.url == "https://xn--e1awd7f.example/a?b=c#d");
        CHECK(seen.message == "sign in");
        CHECK(t.connector->wires.size() == 1);
        CHECK(t.silent());
    }
}

TEST_CASE("ELI-16: completion of a URL elicitation is reported once, of unknown ones never") {
    std::vector<std::string> complete;
    client_options options;
    options.on_url = [](url_question) -> task<elicit_action> { co_return elicit_action::accept; };
    options.on_elicitation_complete = [&](std::string_view id) { complete.emplace_back(id); };
    client_under_test t(options);
    t.connect("2025-11-25");
    t.notify("notifications/elicitation/complete", json::object({{"elicitationId", "e1"}}));
    ask_client(t, "2025-11-25", "elicitation/create", web_page("2025-11-25", "e1"));
    ask_client(t, "2025-11-25", "elicitation/create", web_page("2025-11-25", "../\n{}"));
    for (const char* id : {"e2", "../\n{}", "e1", "e1", "E1"}) {
        t.notify("notifications/elicitation/complete", json::object({{"elicitationId", id}}));
    }
    t.notify("notifications/elicitation/complete", json::object({{"elicitationId", 1}}));
    t.notify("notifications/elicitation/complete");
    CHECK(complete == std::vector<std::string>{"../\n{}", "e1"});
    CHECK(t.silent());
}

TEST_CASE(
    "ELI-16, ELI-21: -32042 is passed to the program with its list, its ids can become complete, and the call"
    " can be repeated") {
    std::vector<std::string> complete;
    client_options options;
    options.on_elicitation_complete = [&](std::string_view id) { complete.emplace_back(id); };
    options.on_url = [](url_question) -> task<elicit_action> { co_return elicit_action::accept; };
    client_under_test t(options);
    t.connect("2025-11-25");
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.refuse(t.expect("tools/call"), -32042, "sign in first",
             json::parse(
                 R"({"elicitations":[{"mode":"url","elicitationId":"z","url":"https://a.example/","message":"m"}]})"));
    CHECK(o.kind == error_kind::rejected);
    CHECK(o.code == -32042);
    CHECK(t.silent());
    t.notify("notifications/elicitation/complete", json::object({{"elicitationId", "z"}}));
    CHECK(complete == std::vector<std::string>{"z"});
    outcome_of_task& again = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), text_result("2025-11-25", "ok"));
    CHECK(again.text == "ok");
}

TEST_CASE("ELI-18: defaults are filled in, and an answer that does not match the form is not sent") {
    for (const std::string& revision : revisions_from(first_revision)) {
        json::value asked = form(R"({"n":{"type":"integer","minimum":1},"ok":{"type":"boolean","default":true}})");
        client_under_test good(answering(form_answer(json::object({{"n", 3}}))));
        good.connect(revision);
        CHECK(json::to_string(ask_client(good, revision, "elicitation/create", asked)["result"]) ==
              R"({"action":"accept","content":{"n":3,"ok":true}})");
        client_under_test bad(answering(form_answer(json::object({{"n", 0}}))));
        bad.connect(revision);
        json::value said = ask_client(bad, revision, "elicitation/create", asked);
        CHECK(!said.contains("result"));
        if (revision == modern) CHECK(said["failed"].is_string());
        else CHECK(said["error"]["code"].if_int() == -32603);
        CHECK(bad.client->connected());
    }
}

TEST_CASE("D15, ELI-06: a handler that is a plain function runs on a thread pool and may block") {
    for (const std::string& revision : older_revisions_from(first_revision)) {
        client_options options;
        options.on_form = [](const asked_by& who, const form_question&) {
            return form_answer(json::object({{"by", who.server_name()}}));
        };
        client_under_test t(options);
        t.connect(revision);
        t.ask(1, "elicitation/create", form(R"({"by":{"type":"string"}})"));
        while (t.silent()) {
            t.loop->wait_for_work();
            t.loop->run();
        }
        CHECK(json::to_string(t.next()["result"]) == R"({"action":"accept","content":{"by":"the test"}})");
    }
}
