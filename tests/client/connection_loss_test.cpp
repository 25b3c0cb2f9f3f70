// How a client's connection ends by the server or by an error, and reconnecting (docs/rules/lifecycle.md, C, G8, G9).

#include "client/closing_helpers.hpp"
#include "client/lifecycle_slow_link.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE(
    "C1, C13: at the end of input handlers are cancelled immediately, and the server gets error responses for"
    " its requests") {
    client_with_forms c;
    c.ask(2);
    c.t->wire().eof();
    c.t->loop->run();
    CHECK(c.stopped == 2);
    for (int i = 0; i < 2; ++i) {
        json::value m = c.t->next();
        CHECK(m["id"].if_int() == i);
        CHECK(m["error"]["code"].if_int() == error_code::internal);
    }
    CHECK(c.t->silent());
    CHECK(c.t->wire().closed());
    CHECK(c.ends.size() == 1);
}

TEST_CASE("C1: all input before the end is processed, and finished responses are sent") {
    client_with_forms c;
    outcome_of_task& o = c.t->run(c.t->client->call_tool("x"));
    json::value request = c.t->expect("tools/call");
    c.t->answer(request, text_result("just in time"));
    c.t->wire().stall();
    c.t->ask("p", "ping");
    c.t->wire().eof();
    c.t->loop->run();
    c.t->wire().resume();
    c.t->loop->run();
    CHECK(o.text == "just in time");
    CHECK(c.t->next()["id"].if_string() == "p");
}

TEST_CASE("C2: a handler that waits for the server is woken at the end of input") {
    client_under_test* at = nullptr;
    std::string heard;
    client_options options;
    options.on_form = [&](form_question) -> task<form_answer> {
        try {
            co_await at->client->call_tool("inside");
        } catch (const cancelled&) {
            heard = "cancelled";
            throw;
        } catch (const keel::error& e) {
            heard = name_of(e.kind());
            throw;
        }
        co_return json::object();
    };
    client_under_test t(options);
    at = &t;
    t.connect("2025-11-25");
    t.ask(1, "elicitation/create", empty_form());
    t.expect("tools/call");
    t.wire().eof();
    t.loop->run();
    CHECK((heard == "cancelled" || heard == "connection closed"));
}

TEST_CASE("C3, D1: ten thousand calls end in linear time") {
    std::size_t steps[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        client_under_test t;
        t.connect("2025-11-25");
        t.wire().discard_output();
        std::vector<outcome_of_task*> calls;
        for (int n = 0; n < (i == 0 ? 1000 : 10000); ++n) calls.push_back(&t.run(t.client->call_tool("x")));
        t.wire().eof();
        steps[i] = t.loop->run();
        for (outcome_of_task* each : calls) CHECK(each->kind == error_kind::closed);
    }
    CHECK(steps[1] <= 11 * steps[0]);
}

TEST_CASE("C4: if the server exits during the handshake, connecting fails with the exit status") {
    for (int when = 0; when < 3; ++when) {
        client_options options;
        options.mode = protocol_mode::legacy;
        client_under_test t(options);
        t.connector->exit_description = "it exited with status 3";
        if (when == 0) t.connector->on_connect = [](script& s) { s.eof(); };
        outcome_of_task& o = t.run(t.client->connect());
        if (when == 1) {
            t.expect("initialize");
            t.wire().eof();
            t.loop->run();
        }
        if (when == 2) {
            t.expect("initialize");
            t.send_text(R"({"jsonrpc":"2.0","id":)");
            t.wire().fail_read(ECONNRESET);
            t.loop->run();
        }
        INFO(when);
        CHECK(o.kind == error_kind::closed);
        CHECK(o.text.find("exited with status 3") != std::string::npos);
        CHECK(!t.client->connected());
    }
}

TEST_CASE("C5, C6, C7: a connection failure of any kind ends both directions once, with its cause") {
    for (int how = 0; how < 3; ++how) {
        client_with_forms c;
        c.ask(2);
        outcome_of_task& o = c.t->run(c.t->client->call_tool("x"));
        c.t->expect("tools/call");
        if (how == 0) c.t->wire().fail_read(ECONNRESET);
        if (how == 1) {
            c.t->wire().fail_write_after(0, EPIPE);
            c.t->client->notify("x/y");
        }
        if (how == 2) c.t->wire().hangup();
        c.t->loop->run();
        INFO(how);
        CHECK(o.kind == error_kind::closed);
        CHECK(c.stopped == 2);
        CHECK(c.t->silent());
        CHECK(c.ends.size() == 1);
        CHECK(!c.ends.at(0).empty());
        CHECK(!c.t->client->connected());
    }
}

TEST_CASE("C6: a write error at any byte of a request ends the call and the connection") {
    for (std::size_t n = 0; n < 80; n += 7) {
        client_with_forms c;
        c.t->wire().fail_write_after(n, EPIPE);
        outcome_of_task& o = c.t->run(c.t->client->call_tool("x"));
        CHECK(o.kind == error_kind::closed);
        CHECK(c.ends.size() == 1);
    }
}

TEST_CASE("C9: after the end, all operations have no effect") {
    for (const char* version : both_eras) {
        client_options options;
        options.roots.emplace();
        client_under_test t(options);
        t.connect(version);
        t.wire().eof();
        t.loop->run();
        for (int i = 0; i < 100; ++i) {
            t.client->notify("x/y");
            t.client->set_roots({});
        }
        t.loop->run();
        CHECK(t.silent());
        CHECK(t.run(t.client->call_tool("x")).kind == error_kind::closed);
    }
}

TEST_CASE("C10: an incomplete last line is processed if it is a whole message, else dropped") {
    for (bool whole : {true, false}) {
        client_with_forms c;
        outcome_of_task& o = c.t->run(c.t->client->call_tool("x"));
        std::string last = json::to_string(response(c.t->expect("tools/call"), text_result("without a newline")));
        if (!whole) last.pop_back();
        c.t->wire().feed(last);
        c.t->wire().eof();
        c.t->loop->run();
        CHECK(o.text.starts_with(whole ? "without a newline" : "connection closed"));
    }
}

TEST_CASE("C11: a server that reads no byte for write_stall is disconnected") {
    client_with_forms c;
    c.t->wire().stall();
    call_options patient(10min);
    outcome_of_task& o = c.t->run(c.t->client->call_tool("x", {}, patient));
    c.t->advance(29s);
    CHECK(!o.done());
    c.t->advance(2s);
    CHECK(o.kind == error_kind::closed);
    CHECK(c.ends.size() == 1);
}

TEST_CASE("C12, G1: two failures of a connection are reported as one") {
    using ender = std::function<void(client_with_forms&)>;
    const std::vector<ender> ends = {
        [](client_with_forms& c) { c.t->wire().eof(); },
        [](client_with_forms& c) { c.t->wire().fail_read(EIO); },
        [](client_with_forms& c) { c.t->wire().hangup(); },
        [](client_with_forms& c) {
            c.t->wire().fail_write_after(0, EPIPE);
            c.t->client->notify("x/y");
        },
        [](client_with_forms& c) { c.t->loop->post([&] { start_close(*c.t); }); },
    };
    for (const ender& first : ends) {
        for (const ender& second : ends) {
            client_with_forms c;
            c.ask(1);
            outcome_of_task& o = c.t->run(c.t->client->call_tool("x"));
            first(c);
            second(c);
            c.t->loop->run();
            c.t->advance(10s);
            CHECK(o.kind == error_kind::closed);
            CHECK(o.settled == 1);
            CHECK(c.stopped == 1);
            CHECK(c.ends.size() == 1);
        }
    }
}

TEST_CASE(
    "G8: without a restart policy a lost connection stays lost until connect; with one the next call restarts"
    " it") {
    for (const char* version : both_eras) {
        for (bool restarts : {false, true}) {
            std::vector<bool> will;
            client_options options;
            options.restart.attempts = restarts ? 2 : 0;
            options.on_disconnected = [&](const disconnection& d) { will.push_back(d.will_restart); };
            client_under_test t(options);
            t.connect(version);
            outcome_of_task& lost = t.run(t.client->call_tool("x"));
            t.expect("tools/call");
            t.wire().eof();
            t.loop->run();
            CHECK(lost.kind == error_kind::closed);  // not repeated automatically
            CHECK(will == std::vector<bool>{restarts});
            CHECK(t.connector->wires.size() == 1);
            outcome_of_task& next = t.run(t.client->call_tool("y"));
            if (!restarts) {
                CHECK(next.kind == error_kind::closed);
                t.connect(version);
                continue;
            }
            CHECK(t.connector->wires.size() == 2);
            t.play_opening(version);
            json::value request = t.expect("tools/call");
            CHECK(request["params"]["name"].if_string() == "y");
            t.answer(request, text_result("again"));
            CHECK(next.text == "again");
            CHECK(t.silent());
        }
    }
}

TEST_CASE("G8: the end of a connection is reported even if a new one is already open") {
    std::size_t ends = 0;
    client_options options;
    options.on_disconnected = [&](const disconnection&) { ++ends; };
    client_under_test t(options);
    auto slow = make_slow(t, options);
    slow->slow_to_go = true;
    t.connect("2025-11-25");
    t.wire().eof();
    t.loop->run();
    slow->slow_to_go = false;
    t.connect("2025-11-25");
    t.loop->post([&] { slow->go->set(); });
    t.loop->run();
    CHECK(ends == 1);
    CHECK(t.client->connected());
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), text_result("on the new one"));
    CHECK(o.text == "on the new one");
}

TEST_CASE("G9: if the server is unreachable, connecting fails with the reason and can be retried") {
    client_under_test t;
    t.connector->refusal = "no such file";
    for (int i = 0; i < 3; ++i) {
        outcome_of_task& o = t.run(t.client->connect());
        CHECK(o.kind == error_kind::unavailable);
        CHECK(o.text.find("no such file") != std::string::npos);
        CHECK(!t.client->connected());
    }
    t.connector->refusal.clear();
    t.connect("2025-11-25");
    CHECK(t.client->connected());
}
