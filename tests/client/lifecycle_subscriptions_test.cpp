// Subscriptions of 2026-07-28 from start to end, and the end of those of the older revisions (docs/rules/lifecycle.md,
// I8 to I12).

#include "client/lifecycle_messages.hpp"

using namespace keel;
using namespace keel::test;

namespace {

struct subscriber {
    explicit subscriber(client_options options = {}) : t(std::move(options)) {}

    outcome_of_task& begin(subscription_request what) {
        return t.run(t.client->subscribe(std::move(what)), [this](subscription& s) {
            held.push_back(std::move(s));
            return std::string("subscribed");
        });
    }
    static subscription_request tools() {
        subscription_request what;
        what.tools = true;
        return what;
    }
    /// Starts and acknowledges; returns the listen request.
    json::value listen(subscription_request what = tools()) {
        outcome_of_task& o = begin(std::move(what));
        json::value request = t.expect("subscriptions/listen");
        acknowledge(request);
        CHECK(o.text == "subscribed");
        return request;
    }
    void acknowledge(const json::value& request) {
        json::value params = stamped(request);
        params.set("notifications", request["params"]["notifications"]);
        t.notify("notifications/subscriptions/acknowledged", params);
    }
    static json::value stamped(const json::value& request) {
        json::value meta;
        meta.set("io.modelcontextprotocol/subscriptionId", request["id"]);
        json::value params;
        params.set("_meta", meta);
        return params;
    }
    void change_tools(const json::value& request) { t.notify("notifications/tools/list_changed", stamped(request)); }
    void end(const json::value& request) {
        json::value result = stamped(request);
        result.set("resultType", "complete");
        t.answer(request, result);
    }
    /// The next change, or the end.
    outcome_of_task& next(std::size_t which = 0) {
        return t.run(held.at(which).next(), [this, which](const std::optional<change>& c) -> std::string {
            if (!c) return held.at(which).how_ended() == subscription_end::lost ? "lost" : "ended";
            if (c->what == change::kind::resource) return c->uri;
            return c->what == change::kind::tools ? "tools" : "other";
        });
    }

    std::vector<subscription> held;
    client_under_test t;
};

}  // namespace

TEST_CASE("I8: changes before the acknowledgement are not lost, and changes for other subscriptions are ignored") {
    subscriber s;
    s.t.connect("2026-07-28");
    outcome_of_task& o = s.begin(subscriber::tools());
    json::value request = s.t.expect("subscriptions/listen");
    CHECK(!o.done());
    s.change_tools(request);
    s.acknowledge(request);
    CHECK(o.text == "subscribed");
    CHECK(s.held.at(0).agreed().tools);
    CHECK(s.next().text == "tools");
    json::value second = s.listen();
    for (const char* id : {"\"1\"", "null", "4711", "1.5", "{}"}) {
        s.t.send_text(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":
            {"io.modelcontextprotocol/subscriptionId":)" +
                      std::string(id) + "}}}");
    }
    s.t.notify("notifications/tools/list_changed");
    outcome_of_task& first_waits = s.next(0);
    outcome_of_task& second_waits = s.next(1);
    CHECK(!first_waits.done());
    s.change_tools(second);
    CHECK(!first_waits.done());
    CHECK(second_waits.text == "tools");
    s.change_tools(request);
    CHECK(first_waits.text == "tools");
}

TEST_CASE("I9: a dropped subscription is cancelled once, and later changes for it are ignored") {
    for (bool stopped : {true, false}) {
        subscriber s;
        s.t.connect("2026-07-28");
        json::value request = s.listen();
        outcome_of_task* waits = stopped ? &s.next() : nullptr;
        if (stopped) s.held.at(0).stop();
        else s.held.clear();
        s.t.loop->run();
        expect_cancel(s.t, request);
        if (waits) CHECK(waits->text == "ended");
        s.change_tools(request);
        s.end(request);
        CHECK(s.t.silent());
    }
}

TEST_CASE("I9, D4: a subscription that is cancelled, or not acknowledged in time, sends a cancel") {
    for (bool in_time : {true, false}) {
        subscriber s;
        s.t.connect("2026-07-28");
        outcome_of_task& o = s.begin(subscriber::tools());
        json::value request = s.t.expect("subscriptions/listen");
        if (in_time) {
            s.t.abandon(o);
            CHECK(o.text == "cancelled");
        } else {
            s.t.advance(61s);
            CHECK(o.kind == error_kind::timed_out);
        }
        expect_cancel(s.t, request);
        s.acknowledge(request);
        CHECK(s.t.silent());
    }
}

TEST_CASE("I10: a subscription that the server ends has ended, with or without an extra cancel, in either order") {
    for (int how = 0; how < 4; ++how) {
        subscriber s;
        s.t.connect("2026-07-28");
        json::value request = s.listen();
        s.change_tools(request);
        if (how == 1) s.t.notify("notifications/cancelled", cancel_params(request["id"]));
        if (how != 3) s.end(request);
        if (how >= 2) s.t.notify("notifications/cancelled", cancel_params(request["id"]));
        INFO(how);
        CHECK(s.next().text == "tools");  // changes before the end are still delivered
        CHECK(s.next().text == "ended");
        CHECK(s.next().text == "ended");
        CHECK(s.held.at(0).why_lost().empty());
        CHECK(s.t.silent());
        CHECK(s.t.client->connected());
    }
}

TEST_CASE("I11: when the connection drops, a subscription is lost with the reason; after close() it has ended") {
    for (const char* version : both_eras) {
        for (bool ours : {false, true}) {
            subscriber s;
            s.t.connect(version);
            if (s.t.client->server().modern) s.listen();
            else s.begin(subscriber::tools());
            REQUIRE(s.held.size() == 1);
            outcome_of_task& waits = s.next();
            if (ours) s.t.run(s.t.client->close());
            else s.t.wire().eof();
            s.t.loop->run();
            INFO(version << (ours ? " we" : " they"));
            CHECK(waits.text == (ours ? "ended" : "lost"));
            CHECK(s.held.at(0).why_lost().empty() == ours);
        }
    }
}

TEST_CASE("I11, G8: after a restart nothing is subscribed automatically") {
    client_options options;
    options.restart.attempts = 3;
    subscriber s(options);
    s.t.connect("2026-07-28");
    s.listen();
    s.t.wire().eof();
    s.t.loop->run();
    CHECK(s.next().text == "lost");
    outcome_of_task& o = s.t.run(s.t.client->call_tool("x"));
    s.t.play_opening("2026-07-28");
    s.t.answer(s.t.expect("tools/call"), text_result("fine"));
    CHECK(o.text == "fine");
    CHECK(s.t.silent());
    s.listen();
}

TEST_CASE("I11: a subscription that is rejected, or answered before its acknowledgement, fails") {
    for (bool refused : {true, false}) {
        subscriber s;
        s.t.connect("2026-07-28");
        outcome_of_task& o = s.begin(subscriber::tools());
        json::value request = s.t.expect("subscriptions/listen");
        if (refused) s.t.refuse(request, -32603);
        else s.end(request);
        CHECK(o.kind == (refused ? error_kind::rejected : error_kind::bad_message));
        CHECK(s.held.empty());
        CHECK(s.t.silent());
    }
}

TEST_CASE("I12, J1: a million unread changes are stored as a few") {
    subscriber s;
    s.t.connect("2026-07-28");
    subscription_request what;
    what.uris = {"file:///d"};
    json::value request = s.listen(what);
    std::string id = json::to_string(request["id"]);
    for (int block = 0; block < 100; ++block) {
        std::string lines;
        for (int i = 0; i < 1000; ++i) {
            lines += R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///d/)" +
                     std::to_string(block * 1000 + i) + R"(","_meta":{"io.modelcontextprotocol/subscriptionId":)" + id +
                     "}}}\n";
        }
        s.t.wire().feed(std::move(lines));
        s.t.loop->run();
    }
    // All of them were coalesced into one: everything may have changed.
    CHECK(s.next().text == "other");
    outcome_of_task& waits = s.next();
    CHECK(!waits.done());
    CHECK(s.t.silent());
}
