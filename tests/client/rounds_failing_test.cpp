// Rounds of 2026-07-28 that fail, and rounds that the program answers itself.

#include "revisions.hpp"

#include <keel/async.hpp>

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* one_form = R"({"a":{"method":"elicitation/create","params":{"message":"?",
    "requestedSchema":{"type":"object","properties":{}}}}})";
constexpr const char* form_and_roots = R"({"a":{"method":"elicitation/create","params":{"message":"?",
    "requestedSchema":{"type":"object","properties":{}}}},"r":{"method":"roots/list"},
    "u":{"method":"elicitation/create","params":{"mode":"url","message":"!","url":"https://example.com/"}}})";

}  // namespace

TEST_CASE("MRTR-09, SAM-03: an input request for an undeclared feature is not answered, and the call is not retried") {
    for (const char* asked : {one_form, R"({"r":{"method":"roots/list"}})", R"({"x":{"method":"com.example/x"}})",
                              R"({"p":{"method":"ping"}})",
                              R"({"s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}})"}) {
        client_under_test t;
        t.connect(modern);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        t.answer(t.expect("tools/call"), questions(asked, "s"));
        INFO(asked);
        CHECK(o.kind == error_kind::unavailable);
        CHECK(t.silent());
    }
}

TEST_CASE(
    "MRTR-09, D16: a handler that throws ends the call, and the other input requests of the round are "
    "cancelled") {
    bool unwound = false;
    event never;
    client_options options;
    options.roots.emplace();
    options.on_url = [](url_question) -> task<elicit_action> {
        throw std::runtime_error("nobody is there");
        co_return elicit_action::cancel;
    };
    struct watch {
        bool& gone;
        ~watch() { gone = true; }
    };
    options.on_form = [&](form_question) -> task<form_answer> {
        watch w{unwound};
        co_await never;
        co_return form_answer(elicit_action::accept);
    };
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(
        t.expect("tools/call"),
        questions(
            R"({"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}},
                "u":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://example.com/"}}})"));
    CHECK(o.kind == error_kind::unavailable);
    CHECK(o.text.find("nobody is there") != std::string::npos);
    CHECK(unwound);
    CHECK(t.silent());
    CHECK(t.client->connected());
}

TEST_CASE("ELI-18: an answer that does not match its form is not sent") {
    client_options options;
    options.on_form = [](form_question) -> task<form_answer> { co_return form_answer(json::object({{"n", "seven"}})); };
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions(R"({"a":{"method":"elicitation/create","params":{"message":"?",
        "requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}}})"));
    CHECK(o.kind == error_kind::unavailable);
    CHECK(t.silent());
}

TEST_CASE("CAN-01, STD-04: cancelling a call between two rounds stops the handler, and cancels no request") {
    for (bool by_token : {false, true}) {
        event never;
        std::stop_token token;
        bool unwound = false;
        client_options options;
        options.on_form = [&](asked_by who, form_question) -> task<form_answer> {
            token = who.stop_token();
            try {
                co_await never;
            } catch (const cancelled&) {
                unwound = true;
                throw;
            }
            co_return form_answer(elicit_action::accept);
        };
        client_under_test t(options);
        t.connect(modern);
        std::stop_source stop;
        call_options how;
        if (by_token) how.stop = stop.get_token();
        outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
        t.answer(t.expect("tools/call"), questions(one_form));
        CHECK(!o.done());
        if (by_token) {
            stop.request_stop();
            t.loop->run();
            CHECK(o.kind == error_kind::cancelled);
        } else {
            t.abandon(o);
            CHECK(o.text == "cancelled");
        }
        CHECK(unwound);
        CHECK(token.stop_requested());
        CHECK(t.silent());
    }
}

TEST_CASE("CAN-01, STD-04: cancelling in the second round cancels the second request") {
    client_options options;
    options.roots.emplace();
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions(R"({"r":{"method":"roots/list"}})"));
    json::value second = t.expect("tools/call");
    t.abandon(o);
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == second["id"]);
    t.answer(second, questions(R"({"r":{"method":"roots/list"}})"));
    CHECK(t.silent());
    CHECK(o.text == "cancelled");
}

TEST_CASE("D1: a connection that ends while an input request is being answered ends the call") {
    event gate;
    client_options options;
    options.on_form = [&](form_question) -> task<form_answer> {
        co_await gate;
        co_return form_answer(elicit_action::decline);
    };
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions(one_form));
    t.wire().eof();
    t.loop->run();
    gate.set();
    t.loop->run();
    CHECK(o.kind == error_kind::closed);
}

TEST_CASE(
    "MRTR-09, MRTR-10, MRTR-12, ELI-21: with request_once, one round is one request, and the program answers "
    "its input requests") {
    client_options options;
    options.roots.emplace();
    client_under_test t(options);
    t.connect(modern);
    json::value params = json::object({{"name", "x"}});
    request_round round;
    auto keep = [&](const request_round& r) {
        round = r;
        return std::string(r.result ? "result" : "questions");
    };
    outcome_of_task& one = t.run(t.client->request_once("tools/call", params), keep);
    json::value first = t.expect("tools/call");
    t.answer(first, questions(form_and_roots, "st\"ate"));
    CHECK(one.text == "questions");
    CHECK(round.questions.size() == 3);
    CHECK(round.questions["u"].params["url"].if_string() == "https://example.com/");
    CHECK(round.questions["a"].method == "elicitation/create");
    CHECK(round.questions["a"].params["message"].if_string() == "?");
    CHECK(round.state == "st\"ate");
    CHECK(t.silent());
    round_answers answers;
    answers.state = round.state;
    answers.answers["a"] = json::object({{"action", "decline"}});
    answers.answers["u"] = json::object({{"action", "accept"}});  // after the user has answered
    answers.answers["r"] = json::parse(R"({"roots":[]})");
    outcome_of_task& two = t.run(t.client->request_once("tools/call", params, answers), keep);
    json::value second = t.expect("tools/call");
    CHECK(second["id"] != first["id"]);
    CHECK(second["params"]["requestState"].if_string() == "st\"ate");
    CHECK(second["params"]["inputResponses"]["a"]["action"].if_string() == "decline");
    t.answer(second, text_result(modern, "ok"));
    CHECK(two.text == "result");
    CHECK((*round.result)["content"].items()[0]["text"].if_string() == "ok");
}

TEST_CASE("with request_once in older revisions there is one round") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision);
        outcome_of_task& o =
            t.run(t.client->request_once("tools/call", json::object({{"name", "x"}})),
                  [](const request_round& r) { return std::string(r.result ? "result" : "questions"); });
        t.answer(t.expect("tools/call"), text_result(revision, "ok"));
        CHECK(o.text == "result");
    }
}

TEST_CASE("D1: a retry delay ends when the connection ends") {
    for (int rounds : {1, 4}) {
        client_under_test t;
        t.connect(modern);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        for (int i = 1; i < rounds; ++i) {
            t.answer(t.expect("tools/call"), questions("", "s"));
            t.advance(1s);
        }
        t.answer(t.expect("tools/call"), questions("", "s"));
        CHECK(!o.done());
        t.wire().eof();
        t.loop->run();  // the clock does not advance
        CHECK(o.kind == error_kind::closed);
        CHECK(t.silent());
    }
}
