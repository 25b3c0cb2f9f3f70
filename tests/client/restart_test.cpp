// Connecting and restarting with several callers, cancelled callers, and a previous connection that is still ending.

#include "lifecycle_slow_link.hpp"
#include "revisions.hpp"

#include <keel/async.hpp>

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* older = "2025-11-25";

client_options with_restarts(unsigned attempts) {
    client_options o;
    o.restart.attempts = attempts;
    return o;
}

/// Connected once, then disconnected.
void lose(client_under_test& t) {
    t.connect(older);
    t.wire().eof();
    t.loop->run();
}

void answer_next(client_under_test& t) { t.answer(t.expect("tools/call"), text_result(older, "ok")); }

}  // namespace

TEST_CASE(
    "G8, B15: a connection whose handlers are still cleaning up is not connected: connect and restart open a "
    "new one") {
    for (bool by_hand : {true, false}) {
        CAPTURE(by_hand);
        event cleanup;
        client_options o = with_restarts(3);
        o.on_form = [&](asked_by, form_question) -> task<form_answer> {
            bool stopped = false;
            event never;
            try {
                co_await never;
            } catch (const cancelled&) {
                stopped = true;
            }
            if (stopped) co_await cleanup;
            co_return form_answer(elicit_action::cancel);
        };
        client_under_test t(o);
        t.connect(older);
        t.ask(1, "elicitation/create",
              json::parse(R"({"message":"?","requestedSchema":{"type":"object","properties":{}}})"));
        t.wire().eof();
        t.loop->run();
        CHECK_FALSE(t.client->connected());
        CHECK(t.next()["error"]["message"].if_string() == "client shutting down");
        if (by_hand) t.connect(older);
        outcome_of_task& call = t.run(t.client->call_tool("x"));
        CHECK(t.connector->wires.size() == 2);
        if (!by_hand) t.play_opening(older);
        CHECK(t.client->connected());
        cleanup.set();
        t.advance(3s);
        CHECK(t.client->connected());
        answer_next(t);
        CHECK(call.text == "ok");
    }
}

TEST_CASE("G8: a restart that its caller cancels does not count as failed") {
    client_under_test t(with_restarts(1));
    lose(t);
    outcome_of_task& first = t.run(t.client->call_tool("x"));
    CHECK(t.connector->wires.size() == 2);
    t.abandon(first);
    CHECK(first.text == "cancelled");
    while (!t.next().is_null()) {
    }
    outcome_of_task& second = t.run(t.client->call_tool("x"));
    REQUIRE(t.connector->wires.size() == 3);
    t.play_opening(older);
    answer_next(t);
    CHECK(second.text == "ok");
}

TEST_CASE("G8: a waiting caller takes over a restart that another caller cancels") {
    client_under_test t(with_restarts(1));
    lose(t);
    outcome_of_task& first = t.run(t.client->call_tool("x"));
    outcome_of_task& second = t.run(t.client->call_tool("y"));
    t.abandon(first);
    while (!t.next().is_null()) {
    }
    CHECK_FALSE(second.done());
    CHECK(t.connector->wires.size() == 3);
    t.wire().eof();
    t.loop->run();
    CHECK(second.kind == error_kind::closed);
}

TEST_CASE("G8: calls during the delay before a restart wait for it, and use up no attempt") {
    client_under_test t(with_restarts(3));
    lose(t);
    t.connector->refusal = "nobody";
    std::vector<outcome_of_task*> calls;
    for (int i = 0; i < 5; ++i) calls.push_back(&t.run(t.client->call_tool("x")));
    for (outcome_of_task* each : calls) CHECK_FALSE(each->done());
    t.connector->refusal.clear();
    t.advance(200ms);
    CHECK(t.connector->wires.size() == 2);
    t.play_opening(older);
    for (int i = 0; i < 5; ++i) answer_next(t);
    for (outcome_of_task* each : calls) CHECK(each->text == "ok");
}

TEST_CASE("G8: a caller that waits for a failing attempt waits for the next one, and fails with the last") {
    for (bool last_works : {true, false}) {
        CAPTURE(last_works);
        client_under_test t(with_restarts(2));
        lose(t);
        outcome_of_task& a = t.run(t.client->call_tool("x"));
        outcome_of_task& b = t.run(t.client->call_tool("x"));
        t.connector->refusal = "nobody";
        t.expect("initialize");
        t.wire().eof();
        t.loop->run();
        CHECK_FALSE(a.done());
        CHECK_FALSE(b.done());
        if (last_works) t.connector->refusal.clear();
        t.advance(200ms);
        if (!last_works) {
            CHECK(a.text == "unavailable: nobody");
            CHECK(b.text == "unavailable: nobody");
            CHECK(t.run(t.client->call_tool("x")).kind == error_kind::closed);
            continue;
        }
        t.play_opening(older);
        answer_next(t);
        answer_next(t);
        CHECK(a.text == "ok");
        CHECK(b.text == "ok");
    }
}

TEST_CASE("G8: connect() and any response reset the count of restarts") {
    for (bool by_hand : {true, false}) {
        CAPTURE(by_hand);
        std::vector<bool> will;
        client_options o = with_restarts(1);
        o.on_disconnected = [&](const disconnection& d) { will.push_back(d.will_restart); };
        client_under_test t(o);
        lose(t);
        if (by_hand) {
            t.connector->refusal = "nobody";
            CHECK(t.run(t.client->call_tool("x")).kind == error_kind::unavailable);
            t.connector->refusal.clear();
            t.connect(older);
        } else {
            outcome_of_task& refused = t.run(t.client->call_tool("x"));
            t.play_opening(older);
            t.refuse(t.expect("tools/call"), error_code::invalid_params);
            CHECK(refused.kind == error_kind::rejected);
        }
        t.wire().eof();
        t.loop->run();
        CHECK(will == std::vector<bool>{true, true});
        outcome_of_task& again = t.run(t.client->call_tool("x"));
        t.advance(200ms);
        t.play_opening(older);
        answer_next(t);
        CHECK(again.text == "ok");
    }
}

TEST_CASE("G8: connect() ends the delay before a restart for all waiting callers") {
    client_under_test t(with_restarts(3));
    lose(t);
    t.connector->refusal = "nobody";
    outcome_of_task& a = t.run(t.client->call_tool("x"));
    outcome_of_task& b = t.run(t.client->call_tool("x"));
    t.connector->refusal.clear();
    t.connect(older);
    answer_next(t);
    answer_next(t);
    CHECK(a.text == "ok");
    CHECK(b.text == "ok");
    CHECK(t.connector->wires.size() == 2);
}

TEST_CASE("G1: close() ends the delay before a restart for all waiting callers") {
    client_under_test t(with_restarts(3));
    lose(t);
    t.connector->refusal = "nobody";
    outcome_of_task& a = t.run(t.client->call_tool("x"));
    outcome_of_task& b = t.run(t.client->call_tool("x"));
    CHECK(t.run(t.client->close()).text == "done");
    CHECK(a.kind == error_kind::closed);
    CHECK(b.kind == error_kind::closed);
}

TEST_CASE("D1: a lost connection is not connected, even if its child process is still running") {
    client_under_test t;
    auto slow = make_slow(t);
    slow->slow_to_go = true;
    t.connect(older);
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.expect("tools/call");
    CHECK(t.client->connected());
    t.wire().eof();
    t.loop->run();
    CHECK_FALSE(t.client->connected());
    t.advance(3s);
    CHECK(call.kind == error_kind::closed);
    slow->go->set();
    t.loop->run();
}

TEST_CASE("G1: a connect after a close does not fail because of the closed attempt") {
    client_under_test t;
    outcome_of_task& first = t.run(t.client->connect());
    t.expect("server/discover");
    detail::activity closing(*t.loop);
    bool closed = false;
    t.loop->post([&] { detail::start(closing, t.client->close(), [&](detail::outcome<void>) { closed = true; }); });
    outcome_of_task& second = t.run(t.client->connect());
    CHECK(first.text == "connection closed: closed while connecting");
    REQUIRE(t.connector->wires.size() == 2);
    t.play_opening(older);
    CHECK(second.text == "done");
    t.advance(3s);
    CHECK(closed);
    CHECK(t.client->connected());
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    answer_next(t);
    CHECK(call.text == "ok");
}

TEST_CASE("D3: a call that waits for another caller's connect does not connect when that is cancelled") {
    client_under_test t;
    outcome_of_task& connecting = t.run(t.client->connect());
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.abandon(connecting);
    CHECK(connecting.text == "cancelled");
    CHECK(call.text == "connection closed: not connected: call connect() first");
    CHECK(t.connector->wires.size() == 1);
}
