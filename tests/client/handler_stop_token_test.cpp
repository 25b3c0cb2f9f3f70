// The stop token of a handler in a round is triggered before the handler is cancelled, whatever ends the round.

#include "revisions.hpp"

#include <keel/async.hpp>

using namespace keel;
using namespace keel::test;

namespace {

constexpr std::string_view form_request =
    R"({"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}})";

json::value questions_named(std::initializer_list<std::string_view> keys) {
    std::string all;
    for (std::string_view key : keys) {
        all.append(all.empty() ? "{\"" : ",\"").append(key).append("\":").append(form_request);
    }
    return questions(all + "}", "state");
}

/// A handler that waits until it is cancelled, and then ends only if its token was triggered.
struct patient {
    client_options options() {
        client_options o;
        o.on_form = [this](asked_by who, form_question) -> task<form_answer> {
            ++begun;
            if (begun == fails) throw std::runtime_error("no idea");
            event told;
            std::stop_callback watch(who.stop_token(), [&told] { told.set(); });
            event never;
            bool stopped = false;
            try {
                co_await never;
            } catch (const cancelled&) {
                stopped = true;
                fired_first = fired_first && who.cancelled();
            }
            if (stopped) co_await told;
            ++ended;
            co_return form_answer(elicit_action::cancel);
        };
        return o;
    }
    int fails = 0;  // index of the handler that fails
    int begun = 0;
    int ended = 0;
    bool fired_first = true;
};

}  // namespace

TEST_CASE("B15, D1: a handler that waits for its stop token ends with the connection, and so does the call") {
    patient p;
    client_under_test t(p.options());
    t.connect(modern);
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions_named({"a", "b"}));
    CHECK(p.begun == 2);
    t.wire().eof();
    t.advance(3s);
    CHECK(p.ended == 2);
    CHECK(p.fired_first);
    CHECK(call.kind == error_kind::closed);
}

TEST_CASE("B15: a handler that waits for its stop token ends when the caller cancels") {
    patient p;
    client_under_test t(p.options());
    t.connect(modern);
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions_named({"a", "b", "c"}));
    t.abandon(call);
    CHECK(p.ended == 3);
    CHECK(p.fired_first);
    CHECK(call.text == "cancelled");
    CHECK(t.silent());
}

TEST_CASE("B15: a handler that waits for its stop token ends when another of its round fails") {
    for (int which : {1, 2, 3}) {
        CAPTURE(which);
        patient p;
        p.fails = which;
        client_under_test t(p.options());
        t.connect(modern);
        outcome_of_task& call = t.run(t.client->call_tool("x"));
        t.answer(t.expect("tools/call"), questions_named({"a", "b", "c"}));
        CHECK(p.ended == p.begun - 1);
        CHECK(p.fired_first);
        CHECK(call.kind == error_kind::unavailable);
        CHECK(call.text.find("no idea") != std::string::npos);
    }
}

TEST_CASE("D1: a handler that answers after the connection is closed does not save its call") {
    client_options o;
    o.on_form = [](asked_by, form_question) -> task<form_answer> {
        event never;
        try {
            co_await never;
        } catch (const cancelled&) {
        }
        co_return form_answer(elicit_action::cancel);
    };
    client_under_test t(o);
    t.connect(modern);
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions_named({"a"}));
    t.wire().eof();
    t.advance(3s);
    CHECK(call.kind == error_kind::closed);
}

TEST_CASE("the stop token of an answered elicitation has fired by the next round") {
    std::stop_token seen;
    client_options o;
    o.on_form = [&](asked_by who, form_question) -> task<form_answer> {
        seen = who.stop_token();
        co_return form_answer(elicit_action::decline);
    };
    client_under_test t(o);
    t.connect(modern);
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), questions_named({"a"}));
    json::value retry = t.expect("tools/call");
    CHECK(seen.stop_requested());
    t.answer(retry, text_result(modern, "thanks"));
    CHECK(call.text == "thanks");
}
