// Requests of a client: each ends exactly once, whatever its server does (docs/rules/lifecycle.md, D).

#include "client/lifecycle_messages.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("D1: however the connection ends, a hundred calls end once, with the cause, before on_disconnected runs") {
    for (const char* version : both_eras) {
        for (int how = 0; how < 4; ++how) {
            std::vector<outcome_of_task*> calls;
            std::size_t told = 0;
            std::size_t ended_before = 0;
            client_options options;
            options.on_disconnected = [&](const disconnection&) {
                ++told;
                for (outcome_of_task* each : calls) ended_before += each->done();
            };
            client_under_test t(options);
            t.connect(version);
            t.connector->exit_description = "it exited with status 3";
            for (int i = 0; i < 100; ++i) calls.push_back(&t.run(t.client->call_tool("x")));
            if (how == 0) t.wire().eof();
            if (how == 1) t.wire().fail_read(ECONNRESET);
            if (how == 2) t.wire().hangup();
            if (how == 3) {
                t.wire().fail_write_after(0, EPIPE);
                t.run(t.client->call_tool("x"));
            }
            t.loop->run();
            INFO(version << " " << how);
            for (outcome_of_task* each : calls) {
                CHECK(each->kind == error_kind::closed);
                CHECK(each->text.find("exited with status 3") != std::string::npos);
            }
            CHECK(told == 1);
            CHECK(ended_before == 100);
        }
    }
}

TEST_CASE("D1: a call made while another one fails is rejected immediately") {
    client_under_test t;
    t.connect("2025-11-25");
    auto twice = [&]() -> task<std::string> {
        std::string first;
        try {
            co_await t.client->call_tool("x");
        } catch (const keel::error& e) {
            first = name_of(e.kind());
        }
        try {
            co_await t.client->call_tool("x");
        } catch (const keel::error& e) {
            co_return first + " " + std::string(name_of(e.kind()));
        }
        co_return "answered";
    };
    outcome_of_task& o = t.run(twice(), [](const std::string& s) { return s; });
    t.expect("tools/call");
    t.wire().eof();
    t.loop->run();
    CHECK(o.text == "connection closed connection closed");
    CHECK(t.silent());
}

TEST_CASE("D3: before connecting and after closing, every call fails immediately and nothing is written") {
    auto try_all = [](client_under_test& t, std::string_view expected) {
        auto nothing = [](const auto&) { return std::string("answered"); };
        std::vector<outcome_of_task*> all = {
            &t.run(t.client->call_tool("x")),
            &t.run(t.client->ping()),
            &t.run(t.client->request("x/y")),
            &t.run(t.client->list_tools(), nothing),
            &t.run(t.client->list_tools_page({}), nothing),
            &t.run(t.client->list_resources(), nothing),
            &t.run(t.client->list_resources_page({}), nothing),
            &t.run(t.client->list_resource_templates(), nothing),
            &t.run(t.client->list_resource_templates_page({}), nothing),
            &t.run(t.client->list_prompts(), nothing),
            &t.run(t.client->list_prompts_page({}), nothing),
            &t.run(t.client->read_resource("file:///x"), nothing),
            &t.run(t.client->get_prompt("p"), nothing),
            &t.run(t.client->complete_prompt("p", "a", ""), nothing),
            &t.run(t.client->complete_resource("file:///{x}", "x", ""), nothing),
            &t.run(t.client->request_once("tools/call", json::object({{"name", "x"}})), nothing),
        };
        subscription_request tools;
        tools.tools = true;
        all.push_back(&t.run(t.client->subscribe(tools), nothing));
        for (outcome_of_task* each : all) {
            CHECK(each->kind == error_kind::closed);
            CHECK(each->text.find(expected) != std::string::npos);
        }
    };
    for (const char* version : both_eras) {
        client_under_test t;
        try_all(t, "not connected");
        CHECK(t.connector->wires.empty());
        t.connect(version);
        t.run(t.client->close());
        t.client->notify("notifications/of/ours");
        try_all(t, "no longer connected");
        CHECK(t.run(t.client->set_log_level(log_level::info)).kind == error_kind::closed);
        CHECK(t.silent());
        CHECK(t.connector->wires.size() == 1);
    }
}

TEST_CASE("D6: a call cancelled before its write has begun sends nothing") {
    for (const char* version : both_eras) {
        for (int how = 0; how < 3; ++how) {
            client_under_test t;
            t.connect(version);
            t.wire().stall();
            outcome_of_task& first = t.run(t.client->call_tool("first"));  // its write was attempted
            std::stop_source stop;
            call_options options;
            options.stop = stop.get_token();
            if (how == 2) options.idle = 5s;
            outcome_of_task& second = t.run(t.client->call_tool("second", {}, options));
            if (how == 0) t.abandon(second);
            if (how == 1) {
                stop.request_stop();
                t.loop->run();
            }
            if (how == 2) t.advance(6s);
            CHECK(second.failed);
            CHECK(!first.done());
            t.wire().resume();
            t.loop->run();
            json::value written = t.expect("tools/call");
            CHECK(written["params"]["name"].if_string() == "first");
            CHECK(t.silent());
            t.answer(written, text_result("1"));
            CHECK(first.text == "1");
        }
    }
}

TEST_CASE(
    "D7: a call cancelled after its write has begun sends one cancel notification, and a stalled server "
    "delays nobody") {
    for (const char* version : both_eras) {
        for (bool stalled : {false, true}) {
            client_under_test t;
            t.connect(version);
            std::stop_source stop;
            call_options options;
            options.stop = stop.get_token();
            outcome_of_task& by_token = t.run(t.client->call_tool("a", {}, options));
            outcome_of_task& by_task = t.run(t.client->call_tool("b"));
            json::value a = t.expect("tools/call");
            json::value b = t.expect("tools/call");
            if (stalled) t.wire().stall();
            stop.request_stop();
            t.loop->run();
            t.abandon(by_task);
            CHECK(by_token.kind == error_kind::cancelled);
            CHECK(by_task.text == "cancelled");
            stop.request_stop();
            t.abandon(by_task);
            if (stalled) {
                CHECK(t.silent());
                t.wire().resume();
                t.loop->run();
            }
            expect_cancel(t, a);
            expect_cancel(t, b);
            CHECK(t.silent());
        }
    }
}

TEST_CASE("D7: a call with a partial write is completed and then cancelled") {
    client_under_test t;
    t.connect("2025-11-25");
    t.wire().accept(20);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.abandon(o);
    CHECK(o.text == "cancelled");
    t.wire().resume();
    t.loop->run();
    json::value request = t.expect("tools/call");
    expect_cancel(t, request);
}

TEST_CASE("D6: a stop token that has already fired prevents the request") {
    client_under_test t;
    t.connect();
    std::stop_source stop;
    stop.request_stop();
    call_options options;
    options.stop = stop.get_token();
    outcome_of_task& o = t.run(t.client->call_tool("x", {}, options));
    CHECK(o.kind == error_kind::cancelled);
    CHECK(t.silent());
}

TEST_CASE("D8, D9, D14: late responses, unknown responses and unknown progress are ignored") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        outcome_of_task& gone = t.run(t.client->call_tool("gone"));
        json::value late = t.expect("tools/call");
        t.abandon(gone);
        t.next();
        outcome_of_task& waits = t.run(t.client->call_tool("waits"));
        json::value request = t.expect("tools/call");
        t.notify("notifications/progress", progress_params(late, 1));
        t.answer(late, text_result("too late"));
        t.answer(late, text_result("again"));
        t.refuse(late, -1);
        for (const char* id : {"4711", "0", "-1", "\"x\"", "\"\"", "null", "1.5", "[]"}) {
            t.send_text(R"({"jsonrpc":"2.0","result":{},"id":)" + std::string(id) + "}");
        }
        for (const char* token : {"4711", "\"x\"", "null", "{}", "-1"}) {
            t.send_text(
                R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":)" +
                std::string(token) + "}}");
        }
        CHECK(!waits.done());
        CHECK(gone.settled == 1);
        CHECK(t.silent());
        t.answer(request, text_result("here"));
        CHECK(waits.text == "here");
    }
}

TEST_CASE("D10: an invalid response fails its call only") {
    const char* shapes[] = {
        R"("result":{},"error":{"code":1,"message":"x"})",
        R"("x":1)",
        R"("result":7)",
        R"("result":null)",
        R"("result":[])",
        R"("error":{})",
        R"("error":7)",
        R"("error":{"code":"1","message":"x"})",
        R"("result":{"content":7})",
        R"("result":{"content":[{"type":"text"}]})",
    };
    for (const char* version : both_eras) {
        for (const char* shape : shapes) {
            INFO(version << " " << shape);
            client_under_test t;
            t.connect(version);
            outcome_of_task& bad = t.run(t.client->call_tool("bad"));
            json::value request = t.expect("tools/call");
            outcome_of_task& other = t.run(t.client->call_tool("other"));
            json::value second = t.expect("tools/call");
            t.send_text(R"({"jsonrpc":"2.0","id":)" + json::to_string(request["id"]) + "," + shape + "}");
            CHECK(bad.kind == error_kind::bad_message);
            CHECK(!other.done());
            CHECK(t.silent());
            t.answer(second, text_result("fine"));
            CHECK(other.text == "fine");
        }
    }
}

TEST_CASE("D11: an error without an id is reported once and fails no call") {
    for (const char* version : both_eras) {
        for (const char* id : {"", R"("id":null,)"}) {
            client_under_test t;
            t.connect(version);
            outcome_of_task& o = t.run(t.client->call_tool("x"));
            json::value request = t.expect("tools/call");
            std::size_t before = t.log.size();
            t.send_text(R"({"jsonrpc":"2.0",)" + std::string(id) + R"("error":{"code":-32700,"message":"what?"}})");
            REQUIRE(t.log.size() == before + 1);
            CHECK(t.log.back().find("what?") != std::string::npos);
            CHECK(!o.done());
            CHECK(t.silent());
            t.answer(request, text_result("fine"));
            CHECK(o.text == "fine");
        }
    }
}

TEST_CASE("D13: progress and response in one read: the callbacks run first, in order") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        std::vector<double> seen;
        bool ended = false;
        bool ended_early = false;
        call_options options;
        options.on_progress = [&](const progress_report& r) {
            seen.push_back(r.progress);
            ended_early = ended_early || ended;
        };
        outcome_of_task& o = t.run(t.client->call_tool("x", {}, options), [&](const tool_result& r) {
            ended = true;
            return r.content.at(0).text();
        });
        json::value request = t.expect("tools/call");
        std::string all;
        for (double p : {1.0, 2.0, 3.0}) all += line_of("notifications/progress", progress_params(request, p));
        t.wire().feed(all + json::to_string(response(request, text_result("done"))) + "\n");
        t.loop->run();
        CHECK(seen == std::vector<double>{1, 2, 3});
        CHECK(!ended_early);
        CHECK(o.text == "done");
    }
}

TEST_CASE("D17: of a response and a cancellation, the first counts and the other is discarded") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        // The answer is read, and the caller cancels before the loop has delivered it; then the opposite order.
        outcome_of_task& answered = t.run(t.client->call_tool("x"));
        json::value first = t.expect("tools/call");
        t.wire().feed(json::to_string(response(first, text_result("in time"))) + "\n");
        t.loop->post([&] { answered.line.stop(); });
        t.loop->run();
        CHECK(answered.text == "in time");
        CHECK(t.silent());

        outcome_of_task& given_up = t.run(t.client->call_tool("x"));
        json::value second = t.expect("tools/call");
        t.loop->post([&] { given_up.line.stop(); });
        t.wire().feed(json::to_string(response(second, text_result("too late"))) + "\n");
        t.loop->run();
        CHECK(given_up.text == "cancelled");
        expect_cancel(t, second);
        CHECK(t.silent());
    }
}

TEST_CASE("A5: an id that is returned as text is accepted in its canonical form only") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        std::string id = json::to_string(t.expect("tools/call")["id"]);
        std::string end = R"(,"result":)" + json::to_string(text_result("mine")) + "}";
        for (const std::string& text : {"0" + id, " " + id, id + ".0", "0x" + id, std::string()}) {
            t.send_text(R"({"jsonrpc":"2.0","id":")" + text + "\"" + end);
        }
        CHECK(!o.done());
        t.send_text(R"({"jsonrpc":"2.0","id":")" + id + "\"" + end);
        CHECK(o.text == "mine");
    }
}
