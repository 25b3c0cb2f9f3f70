// Timeouts of a client (docs/rules/lifecycle.md, D4, D5, D12, B10).

#include "client/lifecycle_messages.hpp"
#include "client/lifecycle_slow_link.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("D4: a call without a response in time fails as timed out, and is cancelled once") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        json::value request = t.expect("tools/call");
        t.advance(59s);
        CHECK(!o.done());
        t.advance(2s);
        CHECK(o.kind == error_kind::timed_out);
        CHECK(o.code == 0);  // not a code that a server could have sent
        expect_cancel(t, request);
        t.advance(1h);
        CHECK(t.silent());
    }
}

TEST_CASE("D4: a call may have its own timeouts, or none") {
    client_under_test t;
    t.connect("2025-11-25");
    call_options quick(1s);
    call_options patient(duration::max());
    patient.total = duration::max();
    outcome_of_task& first = t.run(t.client->call_tool("quick", {}, quick));
    outcome_of_task& second = t.run(t.client->call_tool("patient", {}, patient));
    json::value quick_request = t.expect("tools/call");
    json::value patient_request = t.expect("tools/call");
    t.advance(1s);
    CHECK(first.kind == error_kind::timed_out);
    expect_cancel(t, quick_request);
    t.advance(1000h);
    CHECK(!second.done());
    t.answer(patient_request, text_result("at last"));
    CHECK(second.text == "at last");
}

TEST_CASE("D4: every kind of call has a timeout") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        auto nothing = [](const auto&) { return std::string("answered"); };
        subscription_request all;
        all.tools = true;
        all.uris = {"file:///x"};
        std::vector<outcome_of_task*> calls = {
            &t.run(t.client->call_tool("x")),
            &t.run(t.client->ping()),
            &t.run(t.client->request("x/y")),
            &t.run(t.client->list_tools(), nothing),
            &t.run(t.client->list_resources(), nothing),
            &t.run(t.client->list_resource_templates(), nothing),
            &t.run(t.client->list_prompts(), nothing),
            &t.run(t.client->read_resource("file:///x"), nothing),
            &t.run(t.client->get_prompt("p"), nothing),
            &t.run(t.client->complete_prompt("p", "a", ""), nothing),
            &t.run(t.client->request_once("tools/call", json::object({{"name", "x"}})), nothing),
            &t.run(t.client->subscribe(all), nothing),
        };
        t.advance(61s);
        for (outcome_of_task* each : calls) CHECK(each->kind == error_kind::timed_out);
        // A request and its cancel for each; in the older era a subscription is cancelled with an unsubscribe request.
        std::size_t requests = 0;
        std::size_t cancels = 0;
        for (json::value m = t.next(); !m.is_null(); m = t.next()) {
            bool cancel = m["method"].if_string() == "notifications/cancelled";
            (cancel ? cancels : requests) += m["method"].if_string() != "resources/unsubscribe";
        }
        CHECK(requests == calls.size());
        CHECK(cancels == calls.size());
    }
}

TEST_CASE("D12: progress keeps a call alive, but not forever") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        outcome_of_task& o = t.run(t.client->call_tool("x"));  // without a callback a progress token is still sent
        json::value request = t.expect("tools/call");
        REQUIRE(!request["params"]["_meta"]["progressToken"].is_null());
        int reports = 0;
        for (; reports < 30; ++reports) {
            t.advance(59s);
            t.notify("notifications/progress", progress_params(request, reports));
        }
        CHECK(!o.done());
        for (; !o.done() && reports < 100; ++reports) {
            t.advance(59s);
            t.notify("notifications/progress", progress_params(request, reports));
        }
        CHECK(reports == 31);  // 30 minutes in total
        CHECK(o.kind == error_kind::timed_out);
        expect_cancel(t, request);
        CHECK(t.silent());
    }
}

TEST_CASE("B10, D5: an initialize without a response is not cancelled, and its connection is closed") {
    for (int how = 0; how < 3; ++how) {
        client_options options;
        options.mode = protocol_mode::legacy;
        client_under_test t(options);
        outcome_of_task& o = t.run(t.client->connect());
        t.expect("initialize");
        spoke("2025-11-25");
        if (how == 0) t.advance(31s);
        if (how == 1) t.abandon(o);
        if (how == 2) t.run(t.client->close());
        INFO(how);
        CHECK(o.done());
        CHECK(o.text == (how == 0   ? "timed out: a script: no handshake within 30 s (client_options::connect_timeout)"
                         : how == 1 ? "cancelled"
                                    : "connection closed: closed while connecting"));
        CHECK(t.silent());
        t.advance(10s);
        CHECK(t.wire().closed());
        CHECK(!t.client->connected());
    }
}

TEST_CASE("B10: a cancel of the handshake by the server is ignored") {
    client_options options;
    options.mode = protocol_mode::legacy;
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect());
    json::value init = t.expect("initialize");
    t.notify("notifications/cancelled", cancel_params(init["id"]));
    CHECK(!o.done());
    t.answer(
        init,
        json::parse(R"({"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}})"));
    spoke("2025-11-25");
    CHECK(o.text == "done");
    t.expect("notifications/initialized");
}

TEST_CASE("D4: connecting has one timeout for everything, also with a silent server") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.expect("server/discover");
    t.advance(5s);
    t.expect("initialize");  // no answer means an older server
    t.advance(24s);
    CHECK(!o.done());
    t.advance(2s);
    CHECK(o.kind == error_kind::timed_out);
    t.advance(10s);
    CHECK(t.wire().closed());
}

TEST_CASE("D4: a connection attempt that never completes times out") {
    client_under_test t;
    auto slow = make_slow(t);
    slow->slow_to_come = true;
    outcome_of_task& o = t.run(t.client->connect());
    t.advance(29s);
    CHECK(!o.done());
    t.advance(2s);
    CHECK(o.kind == error_kind::timed_out);
}

TEST_CASE("D4: without a keep-alive response the connection is lost; with any message it is not") {
    client_options options;
    options.keep_alive = 10s;
    client_under_test t(options);
    t.connect("2025-11-25");
    for (int i = 0; i < 5; ++i) {
        t.advance(10s);
        t.answer(t.expect("ping"), json::object());
    }
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.expect("tools/call");
    t.advance(10s);
    t.expect("ping");
    CHECK(t.client->connected());
    t.advance(10s);
    CHECK(!t.client->connected());
    CHECK(o.kind == error_kind::closed);
    CHECK(o.text.find("keep-alive timeout") != std::string::npos);
}

// ---- what the errors say ----

namespace {

/// The name of the server in errors: 2026-07-28 servers need not have one.
std::string server_in(std::string_view version) {
    return version == std::string_view("2026-07-28") ? "a script" : "the test";
}

call_options idle_of(duration idle) {
    call_options how;
    how.idle = idle;
    return how;
}

}  // namespace

TEST_CASE("D4, D12: a bare duration is the total timeout, which progress does not extend") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        outcome_of_task& o = t.run(t.client->call_tool("add", {}, 5s));
        json::value request = t.expect("tools/call");
        for (int i = 1; i <= 4; ++i) {
            t.advance(1s);
            t.notify("notifications/progress", progress_params(request, i));
        }
        CHECK(!o.done());
        t.advance(1s);
        CHECK(o.text ==
              "timed out: " + server_in(version) + ": tools/call \"add\": no answer within 5 s (call_options::total)");
        expect_cancel(t, request);
    }
}

TEST_CASE("D4: a bare duration may be longer than the idle limit of the client") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        outcome_of_task& o = t.run(t.client->call_tool("slow", {}, 5min));
        json::value request = t.expect("tools/call");
        t.advance(4min);
        CHECK(!o.done());
        t.advance(1min);
        CHECK(o.text == "timed out: " + server_in(version) +
                            ": tools/call \"slow\": no answer within 5 min (call_options::total)");
        expect_cancel(t, request);
    }
}

TEST_CASE("D4, D12: a timeout names the server, the method, the tool and the limit") {
    for (const char* version : both_eras) {
        client_under_test t;
        t.connect(version);
        auto nothing = [](const auto&) { return std::string("answered"); };
        const std::string server = "timed out: " + server_in(version) + ": ";
        auto late = [&](outcome_of_task& o, duration after) {
            t.advance(after);
            while (!t.silent()) t.next();
            return o.text.starts_with(server) ? o.text.substr(server.size()) : o.text;
        };
        CHECK(late(t.run(t.client->call_tool("x", {}, idle_of(10s))), 10s) ==
              "tools/call \"x\": no answer or progress within 10 s (call_options::idle)");
        CHECK(late(t.run(t.client->call_tool("x")), 60s) ==
              "tools/call \"x\": no answer or progress within 60 s (limits::request_idle)");
        CHECK(late(t.run(t.client->call_tool("x", {}, idle_of(duration::max()))), 30min) ==
              "tools/call \"x\": no answer within 30 min (limits::request_total)");
        CHECK(late(t.run(t.client->list_tools(1500ms), nothing), 1500ms) ==
              "tools/list: no answer within 1500 ms (call_options::total)");
        CHECK(late(t.run(t.client->read_resource("file:///x", 1s), nothing), 1s) ==
              "resources/read \"file:///x\": no answer within 1 s (call_options::total)");
        CHECK(late(t.run(t.client->get_prompt("p", {}, 1s), nothing), 1s) ==
              "prompts/get \"p\": no answer within 1 s (call_options::total)");
        CHECK(late(t.run(t.client->request("com.example/do", {}, 1s)), 1s) ==
              "com.example/do: no answer within 1 s (call_options::total)");
        CHECK(late(t.run(t.client->ping(1s)), 1s) ==
              (version == std::string_view("2026-07-28") ? "server/discover" : "ping") +
                  std::string(": no answer within 1 s (call_options::total)"));
        subscription_request tools;
        tools.uris = {"file:///x"};
        std::string subscribing = late(t.run(t.client->subscribe(tools, 1s), nothing), 1s);
        CHECK(subscribing.ends_with(" within 1 s (call_options::total)"));
        std::string waiting = late(t.run(t.client->subscribe(tools, idle_of(2s)), nothing), 2s);
        CHECK(waiting.ends_with(" within 2 s (call_options::idle)"));
    }
}

TEST_CASE("D4: a timeout of connect names the server and the limit") {
    client_options options;
    options.mode = protocol_mode::legacy;
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect(2s));
    t.expect("initialize");
    t.advance(2s);
    CHECK(o.text == "timed out: a script: no connection within 2 s (connect_options::timeout)");
}

TEST_CASE("D4: text of the server in a timeout is printable and short") {
    client_options options;
    options.mode = protocol_mode::legacy;
    client_under_test t(options);
    t.run(t.client->connect());
    json::value result = json::parse(R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}}})");
    result.set("serverInfo", json::object("name", "\x1b[2J" + std::string(10'000, 'x'), "version", "1"));
    t.answer(t.expect("initialize"), std::move(result));
    spoke("2025-11-25");
    t.expect("notifications/initialized");
    outcome_of_task& o = t.run(t.client->call_tool("x", {}, 1s));
    t.expect("tools/call");
    t.advance(1s);
    CHECK(o.text.starts_with("timed out: \\x1b[2Jxxx"));
    CHECK(o.text.size() < 300);
    t.expect("notifications/cancelled");
}
