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
        CHECK(o.text == (how == 0   ? "timed out: a script did not complete the handshake within the connect timeout"
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
