// close() and the destructor of a client (docs/rules/lifecycle.md, G1 to G4).

#include "client/closing_helpers.hpp"
#include "client/lifecycle_callbacks.hpp"
#include "client/lifecycle_slow_link.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("G1: close() is idempotent: repeated, concurrent, before connecting and after the end") {
    for (const char* version : both_eras) {
        std::size_t ends = 0;
        client_options options;
        options.on_disconnected = [&](const disconnection& d) {
            ++ends;
            CHECK(d.cause.empty());
            CHECK(!d.will_restart);
        };
        client_under_test t(options);
        CHECK(t.run(t.client->close()).text == "done");
        CHECK(t.run(t.client->close()).text == "done");
        t.connect(version);
        std::vector<std::shared_ptr<started_task>> all;
        t.loop->post([&] {
            for (int i = 0; i < 10; ++i) all.push_back(start_close(t));
        });
        t.loop->run();
        for (const auto& each : all) CHECK(each->done);
        CHECK(t.run(t.client->close()).text == "done");
        CHECK(ends == 1);
        CHECK(t.wire().closed());
    }
}

TEST_CASE("G1: concurrent close() calls all wait until everything behind the connection has ended") {
    client_under_test t;
    auto slow = make_slow(t);
    slow->slow_to_go = true;
    t.connect("2025-11-25");
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.expect("tools/call");
    outcome_of_task& first = t.run(t.client->close());
    outcome_of_task& second = t.run(t.client->close());
    CHECK(!first.done());
    CHECK(!second.done());
    CHECK(t.wire().closed());
    t.advance(2s);  // the call does not wait longer for the cause of the end
    CHECK(call.kind == error_kind::closed);
    t.loop->post([&] { slow->go->set(); });
    t.loop->run();
    CHECK(first.text == "done");
    CHECK(second.text == "done");
}

TEST_CASE(
    "G2: the order of a close: calls and handlers end, queued output is written, on_disconnected runs, close "
    "returns") {
    std::vector<std::string> order;
    gate dialog;
    client_options options;
    options.on_form = [&](form_question) -> task<form_answer> {
        try {
            co_await dialog.pass();
        } catch (const cancelled&) {
            order.push_back("handler");
            throw;
        }
        co_return json::object();
    };
    options.on_disconnected = [&](const disconnection&) { order.push_back("told"); };
    client_under_test t(options);
    t.connect("2025-11-25");
    t.ask(1, "elicitation/create", empty_form());
    t.run(t.client->call_tool("x"), [](const tool_result&) { return std::string("answered"); });
    auto watched = [&]() -> task<void> {
        try {
            co_await t.client->call_tool("y");
        } catch (const keel::error&) {
            order.push_back("call");
        }
    };
    t.run(watched());
    t.wire().stall();
    t.client->notify("x/last");
    t.loop->run();
    auto closing = [&]() -> task<void> {
        co_await t.client->close();
        order.push_back("closed");
    };
    outcome_of_task& o = t.run(closing());
    CHECK(!o.done());
    CHECK(!t.wire().closed());
    t.wire().resume();
    t.loop->run();
    CHECK(o.text == "done");
    std::vector<std::string> methods;
    for (json::value m = t.next(); !m.is_null(); m = t.next()) {
        methods.emplace_back(m["method"].if_string().value_or(m.contains("error") ? "error" : "?"));
    }
    CHECK(methods == std::vector<std::string>{"tools/call", "tools/call", "x/last", "error"});
    REQUIRE(order.size() == 4);
    CHECK(order[3] == "closed");
    CHECK(order[2] == "told");
}

TEST_CASE("G2: final writes that the server does not read are dropped after final_write") {
    client_under_test t;
    t.connect("2025-11-25");
    t.wire().stall();
    t.client->notify("x/y");
    t.loop->run();
    outcome_of_task& o = t.run(t.client->close());
    CHECK(!o.done());
    t.advance(1s);
    CHECK(o.text == "done");
}

TEST_CASE("G3: close() inside any callback neither deadlocks nor ends twice") {
    for_each_callback([](const std::string& version, const std::string& name) {
        INFO(version << " " << name);
        callback_options c;
        client_under_test t(c.make());
        t.connect(version);
        std::vector<std::shared_ptr<started_task>> closes;
        c.act = [&] {
            if (closes.size() < 3) closes.push_back(start_close(t));
        };
        bring_about(t, c, name);
        t.loop->run();
        t.advance(5s);
        REQUIRE(!closes.empty());
        for (const auto& each : closes) CHECK(each->done);
        CHECK(c.called == (name == "disconnected" ? 1u : 2u));  // the callback itself, and on_disconnected
        CHECK(t.wire().closed());
        CHECK(!t.client->connected());
    });
}

TEST_CASE(
    "G3, F6: a handler that waits for its own client to close gets an error or is cancelled, but does not "
    "wait forever") {
    for (bool modern : {true, false}) {
        client_under_test* at = nullptr;
        bool ended = false;
        client_options options;
        options.on_form = [&](form_question) -> task<form_answer> {
            try {
                co_await at->client->close();
            } catch (const std::exception&) {
                ended = true;
                throw;
            }
            ended = true;
            co_return json::object();
        };
        client_under_test t(options);
        at = &t;
        t.connect(modern ? "2026-07-28" : "2025-11-25");
        callback_options unused;
        outcome_of_task* call = bring_about(t, unused, "question");
        t.advance(5s);
        CHECK(ended);
        if (call) CHECK(call->done());
        CHECK(t.wire().closed());
    }
}

TEST_CASE("G4: a client that is destroyed inside any of its callbacks ends like a closed one") {
    for_each_callback([](const std::string& version, const std::string& name) {
        INFO(version << " " << name);
        callback_options c;
        client_under_test t(c.make());
        t.connect(version);
        c.act = [&] { t.client.reset(); };
        bring_about(t, c, name);
        c.act = nullptr;
        t.loop->run();
        t.advance(5s);
        CHECK(c.called >= 1);
        CHECK(t.wire().destroyed());
        CHECK(t.loop->timers() == 0);
    });
}

TEST_CASE("G4: a client that is destroyed without close, with calls, requests and subscriptions open, leaks nothing") {
    for (const char* version : both_eras) {
        gate dialog;
        client_options options;
        options.on_form = [&](form_question) -> task<form_answer> {
            co_await dialog.pass();
            co_return json::object();
        };
        client_under_test t(options);
        t.connect(version);
        std::vector<outcome_of_task*> calls;
        for (int i = 0; i < 10; ++i) calls.push_back(&t.run(t.client->call_tool("x")));
        t.ask(1, "elicitation/create", empty_form());
        subscription_request what;
        what.tools = true;
        std::optional<subscription> held;
        t.run(t.client->subscribe(what), [&](subscription& s) {
            held = std::move(s);
            return std::string("subscribed");
        });
        t.client.reset();
        t.loop->run();
        t.advance(5s);
        for (outcome_of_task* each : calls) CHECK(each->kind == error_kind::closed);
        CHECK(t.wire().destroyed());
        CHECK(t.loop->timers() == 0);
    }
}

TEST_CASE("G4: a client whose loop ends before its cleanup could run leaks nothing") {
    for (const char* version : both_eras) {
        for (bool loop_first : {false, true}) {
            CAPTURE(loop_first);
            client_under_test t;
            t.connect(version);
            std::weak_ptr<detail::client_engine> engine = client_access::engine(*t.client);
            std::weak_ptr<client_side::client_session> session = client_access::engine(*t.client)->connections.in_use();
            if (loop_first) t.loop->end();
            t.client.reset();
            t.loop->end();
            CHECK(engine.expired());
            CHECK(session.expired());
            CHECK(t.wire().destroyed());
        }
    }
}

TEST_CASE("G4: a client can be destroyed at every point of connecting") {
    for (int when = 0; when < 4; ++when) {
        INFO(when);
        client_under_test t;
        auto slow = make_slow(t);
        slow->slow_to_come = when == 0;
        outcome_of_task& o = t.run(t.client->connect());
        outcome_of_task& waits_too = t.run(t.client->connect());
        outcome_of_task& call = t.run(t.client->call_tool("x"));
        if (when >= 2) t.refuse(t.expect("server/discover"), -32601);
        if (when >= 3) t.expect("initialize");
        t.client.reset();
        t.loop->run();
        t.advance(10s);
        CHECK(o.kind == error_kind::closed);
        CHECK(waits_too.kind == error_kind::closed);
        CHECK(call.kind == error_kind::closed);
        if (when > 0) CHECK(t.wire().destroyed());
    }
}

TEST_CASE("G1: a call or a close during the close of a connection attempt does not undo the close") {
    client_options options;
    options.restart.attempts = 5;
    client_under_test t(options);
    auto slow = make_slow(t, options);
    t.connect("2025-11-25");
    t.wire().eof();
    t.loop->run();
    slow->slow_to_come = true;
    outcome_of_task& restarting = t.run(t.client->call_tool("x"));
    CHECK(slow->attempts == 2);
    t.loop->post([&] { start_close(t); });
    outcome_of_task& late = t.run(t.client->call_tool("y"));
    t.loop->run();
    CHECK(restarting.kind == error_kind::closed);
    CHECK(late.kind == error_kind::closed);
    CHECK(t.run(t.client->call_tool("z")).kind == error_kind::closed);
    CHECK(slow->attempts == 2);
}

TEST_CASE("G1, C12: under a shuffled loop, calls, closes, ends and responses in any order end once") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        INFO(seed);
        auto shuffled = std::make_shared<manual_loop>(seed);
        auto connector = std::make_shared<script_connector>(shuffled);
        std::size_t ends = 0;
        client_options options;
        options.mode = protocol_mode::modern;
        options.on_disconnected = [&](const disconnection&) { ++ends; };
        std::optional<keel::client> client;
        client.emplace(shuffled, server_target(std::shared_ptr<client_side::connector>(connector)), options);
        std::size_t settled = 0;
        std::size_t started = 0;
        auto begin = [&](task<void> work) {
            auto s = std::make_shared<started_task>(*shuffled);
            ++started;
            auto held = std::make_shared<task<void>>(std::move(work));
            shuffled->post([s, held, &settled] {
                detail::start(s->line, std::move(*held), [s, &settled](detail::outcome<void>) { ++settled; });
            });
        };
        begin(client->connect());
        shuffled->run();
        connector->wires.back()->feed(
            R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}})"
            "\n");
        shuffled->run();
        for (int i = 0; i < 5; ++i) begin(client->ping());
        if (seed % 2 == 0) shuffled->run();
        for (int id = 2; id < 5; ++id) {
            connector->wires.back()->feed(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{}})" + "\n");
        }
        if (seed % 3 == 0) connector->wires.back()->eof();
        if (seed % 3 == 1) connector->wires.back()->hangup();
        begin(client->close());
        if (seed % 5 == 0) begin(client->close());
        if (seed % 7 == 0) shuffled->post([&] { client.reset(); });
        shuffled->run();
        shuffled->advance(10s);
        client.reset();
        shuffled->advance(1s);
        CHECK(settled == started);
        CHECK(ends == 1);
        CHECK(connector->wires.back()->destroyed());
        CHECK(shuffled->timers() == 0);
    }
}
