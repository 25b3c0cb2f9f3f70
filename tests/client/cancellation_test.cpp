// The server cancels its requests (docs/rules/lifecycle.md, B20: rules B with the roles swapped), or requests that are
// not its own (B21).

#include "client/lifecycle_messages.hpp"
#include "support/gate.hpp"

#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

/// A client with a form handler that waits at a gate.
struct asked_client {
    asked_client() {
        client_options options;
        options.on_form = [this](asked_by who, form_question q) -> task<form_answer> {
            std::string message = q.message;
            begun.push_back(message);
            tokens.push_back(who.stop_token());
            gate& here = gates[message];
            try {
                co_await here.pass();
            } catch (const cancelled&) {
                stopped.push_back(message);
                if (!cleanup) throw;
                ++cleaning;  // cleanup is below: co_await is not allowed here
            }
            if (cleaning > 0) {
                co_await cleanup->pass();
                cleaned.push_back(message);
                throw cancelled();
            }
            if (thrown) throw std::runtime_error("the dialog is broken");
            co_return json::object();
        };
        t.emplace(options);
        t->connect("2025-11-25");
    }
    void open(const std::string& which) {
        t->loop->post([this, which] { gates[which].open(); });
        t->loop->run();
    }
    void cancel(json::value id, std::string_view reason = {}) {
        t->notify("notifications/cancelled", cancel_params(std::move(id), reason));
    }
    void ask(json::value id, std::string_view message) {
        t->ask(std::move(id), "elicitation/create", empty_form(message));
    }
    void expect_answer(const json::value& id) {
        json::value m = t->next();
        CHECK(json::to_string(m["id"]) == json::to_string(id));
        CHECK(m["result"]["action"].if_string() == "accept");
    }

    std::map<std::string, gate> gates;
    std::vector<std::string> begun;
    std::vector<std::string> stopped;
    std::vector<std::string> cleaned;
    std::vector<std::stop_token> tokens;
    gate* cleanup = nullptr;
    int cleaning = 0;
    bool thrown = false;
    std::optional<client_under_test> t;  // last member: its tasks use the members above
};

}  // namespace

TEST_CASE(
    "B2, B20: a cancel ends the handler's wait in the same turn, nothing is written, and the next request is "
    "served") {
    asked_client c;
    c.ask(1, "a");
    CHECK(c.begun == std::vector<std::string>{"a"});
    c.cancel(1);
    CHECK(c.stopped == std::vector<std::string>{"a"});
    CHECK(c.tokens.at(0).stop_requested());
    CHECK(c.t->silent());
    c.ask(2, "b");
    c.open("b");
    c.expect_answer(2);
    CHECK(c.t->silent());
}

TEST_CASE("B1, B20: a request that is cancelled before a thread is free never reaches the handler") {
    thread_gate busy;
    std::vector<std::string> seen;  // written by one worker thread; read after it has ended
    {
        client_options options;
        options.worker_threads = 1;
        options.on_form = [&](const form_question& q) -> form_answer {
            seen.push_back(q.message);
            if (q.message == "first") busy.pass();
            return json::object();
        };
        client_under_test t(options);
        t.connect("2025-11-25");
        t.ask(1, "elicitation/create", empty_form("first"));
        busy.wait_arrived(1);
        t.ask(2, "elicitation/create", empty_form("taken back"));
        t.notify("notifications/cancelled", cancel_params(2));
        t.ask(3, "elicitation/create", empty_form("third"));
        CHECK(t.silent());
        busy.open();
        for (int id : {1, 3}) {
            CHECK(next_from_thread(t)["id"].if_int() == id);
        }
        CHECK(t.silent());
    }
    CHECK(seen == std::vector<std::string>{"first", "third"});
}

TEST_CASE("B2, B20: a handler on a thread sees its stop token fire, and its result is discarded") {
    thread_gate here;
    thread_gate go_on;
    bool cancelled_inside = false;
    {
        client_options options;
        options.on_form = [&](const asked_by& who, const form_question&) -> form_answer {
            std::stop_callback wake(who.stop_token(), [&] { go_on.open(); });
            std::thread([&] { here.pass(); }).join();
            go_on.pass();
            cancelled_inside = who.cancelled();
            return json::object();
        };
        client_under_test t(options);
        t.connect("2025-11-25");
        t.ask("q", "elicitation/create", empty_form());
        here.wait_arrived(1);
        here.open();
        t.notify("notifications/cancelled", cancel_params("q"));
        CHECK(t.silent());
    }
    CHECK(cancelled_inside);
}

TEST_CASE("B3, B4, B20: a cancel withdraws a response that is still queued") {
    asked_client c;
    c.ask(1, "a");
    c.ask(2, "b");
    c.t->wire().stall();
    c.open("a");
    c.open("b");
    c.cancel(1);
    c.t->wire().resume();
    c.t->loop->run();
    c.expect_answer(2);
    CHECK(c.t->silent());
    // The end of the handler and the cancel in either order: no answer or one answer, never two.
    for (bool cancel_first : {true, false}) {
        asked_client race;
        race.ask(1, "a");
        auto let_go = [&] { race.t->loop->post([&] { race.gates["a"].open(); }); };
        if (!cancel_first) let_go();
        race.t->wire().feed(line_of("notifications/cancelled", cancel_params(1)));
        if (cancel_first) let_go();
        race.t->loop->run();
        if (!cancel_first) race.expect_answer(1);
        CHECK(race.t->silent());
    }
}

TEST_CASE("B5, B20: a response whose write has begun is completed, at every byte") {
    for (std::size_t n = 1; n < 60; ++n) {
        asked_client c;
        c.ask(1, "a");
        c.t->wire().accept(n);
        c.open("a");
        c.t->wire().feed(line_of("notifications/cancelled", cancel_params(1)));  // bypasses client_check
        c.t->loop->run();
        c.t->wire().resume();
        c.t->loop->run();
        c.expect_answer(1);
        CHECK(c.t->silent());
    }
}

TEST_CASE("B6, B7, B8, B9, B20: late, repeated, unknown and malformed cancels are ignored") {
    asked_client c;
    c.cancel(7);  // an unknown id; it can still be used later
    c.ask(7, "a");
    c.open("a");
    c.expect_answer(7);
    c.cancel(7);
    CHECK(c.t->silent());
    c.ask(1, "b");
    for (const char* id : {"null", "true", "1.5", "{}", "[]", "\"1\"", "1e300"}) {
        c.t->send_text(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                       std::string(id) + "}}");
    }
    c.t->notify("notifications/cancelled");
    c.t->notify("notifications/cancelled", json::object());
    CHECK(c.stopped.empty());
    for (int i = 0; i < 1000; ++i) c.cancel(1);
    CHECK(c.stopped.size() == 1);
    CHECK(c.t->silent());
}

TEST_CASE("B11, B14, B20: the result of a handler that ignores its stop token for an hour is discarded") {
    auto go_on = std::make_shared<thread_gate>();
    client_options options;
    options.on_sampling = [go_on](const sampling_request&) -> sampling_result {
        go_on->pass();
        return sampling_result(content("late"), "m");
    };
    client_under_test t(options);
    t.connect("2025-11-25");
    t.ask(1, "sampling/createMessage",
          json::parse(R"({"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"?"}}]})"));
    go_on->wait_arrived(1);
    t.notify("notifications/cancelled", cancel_params(1));
    t.advance(1h);
    go_on->open();
    t.loop->wait_for_work();
    t.loop->run();
    CHECK(t.silent());
    t.ask(2, "ping");
    CHECK(t.next()["id"].if_int() == 2);
}

TEST_CASE("B13, B20: a handler that throws after the cancel writes nothing; before it, an error without its text") {
    asked_client c;
    c.thrown = true;
    c.ask(1, "a");
    c.ask(2, "b");
    c.cancel(1);
    CHECK(c.t->silent());
    c.open("b");
    json::value m = c.t->next();
    CHECK(m["error"]["code"].if_int() == error_code::internal);
    CHECK(json::to_string(m).find("dialog") == std::string::npos);
    bool logged = false;
    for (const std::string& each : c.t->log) logged = logged || each.find("the dialog is broken") != std::string::npos;
    CHECK(logged);
}

TEST_CASE("B15, B20: close() waits for the cleanup of handlers within its grace period") {
    for (bool in_time : {true, false}) {
        asked_client c;
        gate cleanup;
        c.cleanup = &cleanup;
        c.ask(1, "a");
        c.cancel(1);
        CHECK(c.cleaning == 1);
        outcome_of_task& closed = c.t->run(c.t->client->close());
        CHECK(!closed.done());
        if (in_time) {
            c.t->loop->post([&] { cleanup.open(); });
            c.t->loop->run();
            CHECK(c.cleaned.size() == 1);
        } else {
            c.t->advance(2s);
        }
        CHECK(closed.done());
        CHECK(c.t->silent());
        c.t->loop->post([&] { cleanup.open(); });  // an abandoned handler may still end
        c.t->loop->run();
        CHECK(c.cleaned.size() == 1);
    }
}

TEST_CASE("B16, B20: if every other one of a hundred requests is cancelled, fifty are answered") {
    asked_client c;
    for (int i = 0; i < 100; ++i) c.ask(i, "all");
    for (int i = 0; i < 100; i += 2) c.cancel(i);
    CHECK(c.stopped.size() == 50);
    c.open("all");
    for (int i = 1; i < 100; i += 2) c.expect_answer(i);
    CHECK(c.t->silent());
}

TEST_CASE("B17, B20: the reason of a cancel is logged, truncated and escaped") {
    asked_client c;
    c.ask(1, "a");
    c.cancel(1, "the user\n\x1b[31m left " + std::string(10000, 'x'));
    REQUIRE(!c.t->log.empty());
    const std::string& said = c.t->log.back();
    CHECK(said.find("the user") != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.find('\x1b') == std::string::npos);
    CHECK(said.size() < 2000);
}

TEST_CASE("A3, A4, A10, B20: ids are compared with their type, and ids of the two directions are independent") {
    asked_client c;
    outcome_of_task& ours = c.t->run(c.t->client->call_tool("x"));
    json::value request = c.t->expect("tools/call");
    c.ask(request["id"], "same number");
    c.ask(json::to_string(request["id"]), "its text");
    c.ask("", "empty");
    c.cancel(json::to_string(request["id"]));
    CHECK(c.stopped == std::vector<std::string>{"its text"});
    c.cancel("");
    CHECK(c.stopped.size() == 2);
    CHECK(!ours.done());
    c.t->answer(request, text_result("mine"));
    CHECK(ours.text == "mine");
    c.open("same number");
    c.expect_answer(request["id"]);
    CHECK(c.t->silent());
}

TEST_CASE(
    "A7, A8, A9, B20: a second request with an id in flight is rejected; after a response or cancel the id "
    "may be reused") {
    asked_client c;
    c.ask(5, "first");
    c.ask(5, "second");
    CHECK(c.begun.size() == 1);
    CHECK(c.t->silent());
    c.open("first");
    c.expect_answer(5);
    c.ask(5, "third");
    c.cancel(5);
    c.ask(5, "fourth");
    CHECK(c.stopped == std::vector<std::string>{"third"});
    c.open("fourth");
    c.expect_answer(5);
    CHECK(c.t->silent());
}

TEST_CASE("B21: a modern server can cancel only an open subscription") {
    client_under_test t;
    t.connect("2026-07-28");
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value request = t.expect("tools/call");
    t.notify("notifications/cancelled", cancel_params(request["id"]));
    CHECK(!o.done());
    CHECK(t.silent());
    t.answer(request, text_result("fine"));
    CHECK(o.text == "fine");
}

TEST_CASE("B21, D17: a cancel by an older server for a request of the client is ignored") {
    client_under_test t;
    t.connect("2025-11-25");
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value request = t.expect("tools/call");
    t.notify("notifications/cancelled", cancel_params(request["id"]));
    CHECK(!o.done());
    t.answer(request, text_result("fine"));
    CHECK(o.text == "fine");
}

TEST_CASE("I1, B2: input requests of a modern server are cancelled together with the call") {
    gate dialog;
    bool stopped = false;
    std::stop_token token;
    client_options options;
    options.on_form = [&](asked_by who, form_question) -> task<form_answer> {
        token = who.stop_token();
        try {
            co_await dialog.pass();
        } catch (const cancelled&) {
            stopped = true;
            throw;
        }
        co_return json::object();
    };
    client_under_test t(options);
    t.connect("2026-07-28");
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value questions =
        json::parse(R"({"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create",
        "params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}}})");
    t.answer(t.expect("tools/call"), questions);
    CHECK(dialog.arrived() == 1);
    t.abandon(o);
    CHECK(o.text == "cancelled");
    CHECK(stopped);
    CHECK(token.stop_requested());
    CHECK(t.silent());  // the server has no open requests of this client
}

TEST_CASE("I1, D7: a modern call on a byte stream is cancelled with a notification, and a late response is dropped") {
    client_under_test t;
    t.connect("2026-07-28");
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value request = t.expect("tools/call");
    t.abandon(o);
    expect_cancel(t, request);
    t.notify("notifications/progress", progress_params(request, 1));
    t.answer(request, text_result("late"));
    CHECK(o.settled == 1);
    CHECK(t.silent());
}
