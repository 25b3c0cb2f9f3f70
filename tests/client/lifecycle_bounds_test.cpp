// The memory that a server can make a client use is bounded, and nothing leaks (docs/rules/lifecycle.md, J1, J3, J4, F3
// to F5, F8).

#include "client/lifecycle_messages.hpp"
#include "support/gate.hpp"

#include <cstdint>

using namespace keel;
using namespace keel::test;

namespace {

json::value sample_for_sampling() {
    return json::parse(R"({"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"?"}}]})");
}

}  // namespace

TEST_CASE("F8, J4: requests beyond the limit are answered with an error; cancels still work") {
    gate dialog;
    client_options options;
    options.limits.max_in_flight = 10;
    options.on_form = [&](form_question) -> task<form_answer> {
        co_await dialog.pass();
        co_return json::object();
    };
    client_under_test t(options);
    t.connect("2025-11-25");
    for (int i = 0; i < 1000; ++i) t.ask(i, "elicitation/create", empty_form());
    CHECK(dialog.arrived() == 10);
    std::size_t refused = 0;
    for (json::value m = t.next(); !m.is_null(); m = t.next()) {
        CHECK(m["error"]["code"].if_int() == error_code::internal);
        CHECK(m["error"]["data"]["reason"].if_string() == "overloaded");
        ++refused;
    }
    CHECK(refused == 990);
    t.notify("notifications/cancelled", cancel_params(0));
    t.ask("p", "ping");
    CHECK(t.next()["id"].if_string() == "p");
    t.ask(1000, "elicitation/create", empty_form());
    CHECK(dialog.arrived() == 11);
    t.loop->post([&] { dialog.open(); });
    t.loop->run();
    std::size_t answered = 0;
    for (json::value m = t.next(); !m.is_null(); m = t.next())
        answered += m["result"]["action"].if_string() == "accept";
    CHECK(answered == 10);
}

TEST_CASE("J4, B20: cancelled requests do not accumulate behind a busy thread") {
    auto busy = std::make_shared<thread_gate>();
    auto runs = std::make_shared<std::atomic<std::size_t>>(0);
    {
        client_options options;
        options.worker_threads = 1;
        options.on_sampling = [busy, runs](const sampling_request&) -> sampling_result {
            if (++*runs == 1) busy->pass();
            return sampling_result(content("x"), "m");
        };
        client_under_test t(options);
        t.connect("2025-11-25");
        t.ask("first", "sampling/createMessage", sample_for_sampling());
        busy->wait_arrived(1);
        for (int i = 0; i < 2000; ++i) {
            t.ask(i, "sampling/createMessage", sample_for_sampling());
            t.notify("notifications/cancelled", cancel_params(i));
        }
        while (!t.next().is_null()) {  // it may answer that there are too many
        }
        busy->open();
        CHECK(next_from_thread(t)["id"].if_string() == "first");
        // Queued handlers were dropped with their requests. Until the thread has skipped them, new ones may be refused.
        json::value answer;
        for (int n = 0; !answer.contains("result"); ++n) {
            t.ask("last " + std::to_string(n), "sampling/createMessage", sample_for_sampling());
            answer = next_from_thread(t);
        }
    }
    CHECK(*runs == 2);
}

TEST_CASE("F5: a handler that blocks its thread delays nothing else") {
    auto busy = std::make_shared<thread_gate>();
    client_options options;
    options.worker_threads = 1;
    options.on_sampling = [busy](const sampling_request&) -> sampling_result {
        busy->pass();
        return sampling_result(content("x"), "m");
    };
    client_under_test t(options);
    t.connect("2025-11-25");
    t.ask(1, "sampling/createMessage", sample_for_sampling());
    busy->wait_arrived(1);
    t.ask(2, "ping");
    CHECK(t.next()["id"].if_int() == 2);
    outcome_of_task& slow = t.run(t.client->call_tool("slow", {}, call_options(1s)));
    json::value request = t.expect("tools/call");
    t.advance(1s);
    CHECK(slow.kind == error_kind::timed_out);
    expect_cancel(t, request);
    t.notify("notifications/cancelled", cancel_params(1));
    CHECK(t.silent());
    busy->open();
}

TEST_CASE("F4: a handler that never returns is abandoned after the grace period, and may return later") {
    auto never = std::make_shared<thread_gate>();
    {
        client_options options;
        options.limits.cleanup_grace = 1ms;  // on the real clock, for the thread
        options.on_sampling = [never](const sampling_request&) -> sampling_result {
            never->pass();
            return sampling_result(content("x"), "m");
        };
        client_under_test t(options);
        t.connect("2025-11-25");
        t.ask(1, "sampling/createMessage", sample_for_sampling());
        never->wait_arrived(1);
        outcome_of_task& closed = t.run(t.client->close());
        t.advance(3s);
        CHECK(closed.text == "done");
        CHECK(t.next()["error"]["message"].if_string() == "client shutting down");
    }
    never->open();
}

TEST_CASE("F3: an answer that is not representable as JSON is an error response") {
    client_options options;
    options.on_sampling = [](sampling_request) -> task<sampling_result> {
        co_return sampling_result(content("\xff\xfe"), "m");
    };
    client_under_test t(options);
    t.connect("2025-11-25");
    t.ask(1, "sampling/createMessage", sample_for_sampling());
    json::value m = t.next();
    CHECK(m["id"].if_int() == 1);
    CHECK(m["error"]["code"].if_int() == error_code::internal);
}

TEST_CASE("J1: if a server sends requests but does not read, the client stops reading, and no response is lost") {
    client_options options;
    options.limits.out_queue = 10000;
    options.limits.out_queue_soft = 5000;
    options.roots.emplace();
    for (int i = 0; i < 20; ++i) options.roots->push_back(root{.uri = "file:///" + std::string(50, 'x'), .name = {}});
    client_under_test t(options);
    t.connect("2025-11-25");
    t.wire().stall();
    for (int i = 0; i < 1000; ++i) t.ask(i, "roots/list");
    CHECK(t.wire().paused());
    CHECK(t.wire().unread() > 900);
    t.wire().resume();
    t.loop->run();
    CHECK(t.wire().unread() == 0);
    for (int i = 0; i < 1000; ++i) CHECK(t.next()["id"].if_int() == i);
}

TEST_CASE("J1: calls to a server that does not read are rejected before memory grows") {
    for (const char* version : both_eras) {
        client_options options;
        options.limits.out_queue = 100000;
        client_under_test t(options);
        t.connect(version);
        t.wire().stall();
        std::vector<outcome_of_task*> calls;
        json::value much = json::object({{"x", std::string(1000, 'x')}});
        for (int i = 0; i < 500; ++i) calls.push_back(&t.run(t.client->call_tool("x", much)));
        std::size_t refused = 0;
        for (outcome_of_task* each : calls) refused += each->kind == error_kind::unavailable;
        CHECK(refused > 300);
        CHECK(refused < 450);
    }
}

TEST_CASE("J3: after calls with every outcome the client holds as much as before") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        t.advance(1h);  // ends the timers of the handshake
        std::size_t timers = t.loop->timers();
        auto& engine = *client_access::engine(*t.client);
        for (int round = 0; round < 2000; ++round) {
            outcome_of_task& o = t.run(t.client->call_tool("x", {}, call_options(1s)));
            json::value request = t.expect("tools/call");
            switch (round % 4) {
                case 0: t.answer(request, text_result("x")); break;
                case 1: t.refuse(request, -1); break;
                case 2: t.abandon(o); break;
                case 3: t.advance(2s); break;
            }
            CHECK(o.done());
            t.next();
        }
        t.advance(1h);
        CHECK(t.loop->timers() == timers);
        CHECK(t.loop->ready() == 0);
        CHECK(engine.shared.connected());
        CHECK(t.silent());
    }
}

TEST_CASE("J3: closed connections leak nothing") {
    for (const char* version : both_eras) {
        client_options options;
        options.mode = std::string_view(version) == "2026-07-28" ? protocol_mode::modern : protocol_mode::legacy;
        client_under_test t(options);
        for (int i = 0; i < 200; ++i) {
            t.connect(version);
            if (i % 2 == 0) t.run(t.client->close());
            else t.wire().eof();
            t.loop->run();
            t.advance(5s);
            CHECK(t.wire().closed());
        }
        for (std::size_t i = 0; i + 1 < t.connector->wires.size(); ++i) CHECK(t.connector->wires[i]->destroyed());
        CHECK(t.loop->timers() == 0);
    }
}

TEST_CASE("J4: endless and circular pages end with an error") {
    for (const char* version : both_eras) {
        for (bool circle : {true, false}) {
            client_options options;
            options.max_pages = 20;
            client_under_test t(options);
            t.connect(version);
            outcome_of_task& o =
                t.run(t.client->list_tools(), [](const auto& all) { return std::to_string(all.size()); });
            int pages = 0;
            while (!o.done() && pages < 100) {
                json::value result =
                    json::parse(R"({"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"})");
                result.set("nextCursor", "c" + std::to_string(circle ? pages % 3 : pages));
                ++pages;
                t.answer(t.expect("tools/list"), result);
            }
            CHECK(o.kind == (circle ? error_kind::bad_message : error_kind::unavailable));
            CHECK(pages == (circle ? 4 : 20));
        }
    }
}

TEST_CASE("J4: endless rounds of input requests end with an error") {
    client_options options;
    options.max_rounds = 5;
    options.on_form = [](form_question) -> task<form_answer> { co_return json::object(); };
    for (bool only_state : {false, true}) {
        client_under_test t(options);
        t.connect("2026-07-28");
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        int rounds = 0;
        while (!o.done() && rounds < 100) {
            json::value result = json::object({{"resultType", "input_required"}, {"requestState", "s"}});
            if (!only_state) {
                result.set("inputRequests", json::parse(R"({"q":{"method":"elicitation/create","params":{"mode":"form",
                    "message":"?","requestedSchema":{"type":"object","properties":{}}}}})"));
            }
            ++rounds;
            t.answer(t.expect("tools/call"), result);
            t.advance(1s);
        }
        CHECK(rounds == 5);
        CHECK(o.kind == error_kind::unavailable);
    }
}

TEST_CASE("J3, J4: elicitations that are never completed are dropped in the end, and do not block new ones") {
    std::vector<std::string> complete;
    client_options options;
    options.on_url = [](url_question) -> task<elicit_action> { co_return elicit_action::accept; };
    options.on_elicitation_complete = [&](std::string_view id) { complete.emplace_back(id); };
    client_under_test t(options);
    t.connect("2025-11-25");
    for (int i = 0; i < 5000; ++i) {
        json::value params = json::object({{"mode", "url"}, {"message", "?"}, {"url", "https://example.com/"}});
        params.set("elicitationId", "e" + std::to_string(i));
        t.ask(i, "elicitation/create", params);
        CHECK(t.next()["result"]["action"].if_string() == "accept");
    }
    t.notify("notifications/elicitation/complete", json::object({{"elicitationId", "e4999"}}));
    CHECK(complete == std::vector<std::string>{"e4999"});
}
