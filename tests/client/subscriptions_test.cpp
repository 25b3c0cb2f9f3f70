// Change notifications in both eras.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* id_key = "io.modelcontextprotocol/subscriptionId";

subscription_request everything_and(std::vector<std::string> uris) {
    subscription_request r;
    r.tools = r.prompts = r.resources = true;
    r.uris = std::move(uris);
    return r;
}

subscription_request only(std::vector<std::string> uris) {
    subscription_request r;
    r.uris = std::move(uris);
    return r;
}

std::string shown(const subscription_request& r) {
    std::string text;
    if (r.tools) text += "tools ";
    if (r.prompts) text += "prompts ";
    if (r.resources) text += "resources ";
    for (const std::string& each : r.uris) text += each + " ";
    return text;
}

std::string shown(const std::optional<change>& c) {
    if (!c) return "over";
    switch (c->what) {
        case change::kind::tools: return "tools";
        case change::kind::prompts: return "prompts";
        case change::kind::resources: return "resources";
        case change::kind::resource: return c->uri;
    }
    return "?";
}

/// A subscription of a client under test, and a wait for its next change.
struct open_listener {
    client_under_test& t;
    subscription what = {};

    outcome_of_task& subscribe(subscription_request r) {
        return t.run(t.client->subscribe(std::move(r)), [this](subscription& s) {
            what = std::move(s);
            return shown(what.agreed());
        });
    }
    outcome_of_task& next() {
        return t.run(what.next(), [](const std::optional<change>& c) { return shown(c); });
    }
};

json::value tagged(const json::value& listen, json::value params = json::object()) {
    json::value meta;
    meta.set(id_key, listen["id"]);
    params.set("_meta", meta);
    return params;
}

void acknowledge(client_under_test& t, const json::value& listen, std::string_view filter) {
    t.notify("notifications/subscriptions/acknowledged",
             tagged(listen, json::object({{"notifications", json::parse(filter)}})));
}

constexpr const char* all = R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true})";

}  // namespace

TEST_CASE("SUB-06: a subscription is one listen request, and the accepted part can be compared with it") {
    client_under_test t;
    t.connect(modern);
    open_listener l{t};
    outcome_of_task& o = l.subscribe(everything_and({"a:b", "a:c"}));
    json::value listen = t.expect("subscriptions/listen");
    CHECK(
        json::to_string(listen["params"]["notifications"]) ==
        R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:b","a:c"]})");
    CHECK(!o.done());
    acknowledge(t, listen, R"({"toolsListChanged":true,"resourceSubscriptions":["a:c"]})");
    CHECK(o.text == "tools a:c ");
    CHECK(l.what.how_ended() == subscription_end::none);
    l.what.stop();
    t.loop->run();
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == listen["id"]);
    CHECK(l.what.how_ended() == subscription_end::ended);
    CHECK(t.silent());
}

TEST_CASE("STD-06: each of several listen requests gets the changes with its id, and no others") {
    client_under_test t;
    t.connect(modern);
    open_listener one{t};
    open_listener two{t};
    outcome_of_task& first = one.subscribe(everything_and({}));
    json::value listen_one = t.expect("subscriptions/listen");
    outcome_of_task& second = two.subscribe(everything_and({}));
    json::value listen_two = t.expect("subscriptions/listen");
    acknowledge(t, listen_two, all);
    CHECK(second.done());
    CHECK(!first.done());
    acknowledge(t, listen_one, all);
    CHECK(first.done());
    outcome_of_task& heard_one = one.next();
    outcome_of_task& heard_two = two.next();
    t.notify("notifications/tools/list_changed");
    json::value as_text = tagged(listen_one);
    json::value meta;
    meta.set(id_key, "x" + json::to_string(listen_one["id"]));
    as_text.set("_meta", meta);
    t.notify("notifications/tools/list_changed", as_text);
    CHECK(!heard_one.done());
    CHECK(!heard_two.done());
    t.notify("notifications/prompts/list_changed", tagged(listen_two));
    CHECK(heard_two.text == "prompts");
    CHECK(!heard_one.done());
    t.notify("notifications/resources/updated", tagged(listen_one, json::object({{"uri", "a:b/part"}})));
    CHECK(heard_one.text == "a:b/part");
}

TEST_CASE("SUB-05, SUB-07: the server ends a subscription by the result, a cancel, or both in any order") {
    for (const char* order : {"r", "c", "rc", "cr"}) {
        client_under_test t;
        t.connect(modern);
        open_listener l{t};
        l.subscribe(everything_and({}));
        json::value listen = t.expect("subscriptions/listen");
        acknowledge(t, listen, all);
        t.notify("notifications/tools/list_changed", tagged(listen));
        outcome_of_task& kept = l.next();
        outcome_of_task& waiting = l.next();
        for (const char* what = order; *what; ++what) {
            if (*what == 'r') t.answer(listen, tagged(listen, json::object({{"resultType", "complete"}})));
            else t.notify("notifications/cancelled", json::object({{"requestId", listen["id"]}}));
        }
        CHECK(kept.text == "tools");
        CHECK(waiting.text == "over");
        CHECK(l.what.how_ended() == subscription_end::ended);
        CHECK(t.silent());
    }
}

TEST_CASE(
    "STD-07, STD-11: a subscription is lost with the connection; the next call reconnects, and a new "
    "subscription is needed") {
    client_options options;
    options.restart.attempts = 1;
    client_under_test t(options);
    t.connect(modern);
    open_listener l{t};
    l.subscribe(everything_and({}));
    json::value listen = t.expect("subscriptions/listen");
    acknowledge(t, listen, all);
    outcome_of_task& in_flight = t.run(t.client->call_tool("x"));
    t.expect("tools/call");
    outcome_of_task& waiting = l.next();
    t.wire().eof();
    t.loop->run();
    CHECK(waiting.text == "over");
    CHECK(l.what.how_ended() == subscription_end::lost);
    CHECK(l.what.why_lost() != "");
    CHECK(in_flight.kind == error_kind::closed);
    open_listener again{t};
    outcome_of_task& o = again.subscribe(everything_and({}));
    CHECK(t.connector->wires.size() == 2);
    t.play_opening(modern);
    json::value second = t.expect("subscriptions/listen");
    acknowledge(t, second, all);
    CHECK(o.done());
    CHECK(t.silent());  // requests in flight are not repeated: the server may have executed them
    outcome_of_task& heard = again.next();
    t.notify("notifications/tools/list_changed", tagged(second));
    CHECK(heard.text == "tools");
}

TEST_CASE("SUB-06: a listen request that is rejected, or not acknowledged in time, fails") {
    client_options options;
    options.limits.request_idle = 3s;
    client_under_test t(options);
    t.connect(modern);
    open_listener refused{t};
    outcome_of_task& o = refused.subscribe(everything_and({}));
    t.refuse(t.expect("subscriptions/listen"), -32603, "too many");
    CHECK(o.kind == error_kind::rejected);
    CHECK(o.code == -32603);
    open_listener silent{t};
    outcome_of_task& late = silent.subscribe(everything_and({}));
    json::value listen = t.expect("subscriptions/listen");
    t.advance(3s);
    CHECK(late.kind == error_kind::timed_out);
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == listen["id"]);
    open_listener nothing{t};
    CHECK(nothing.subscribe({}).text.find("empty subscription request") != std::string::npos);
    CHECK(t.silent());
}

TEST_CASE("SUB-06, LIFE-04: older revisions: one request per resource, and list changes if the server supports them") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision,
                  json::parse(R"({"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}})"));
        open_listener l{t};
        outcome_of_task& o = l.subscribe(everything_and({"a:b", "a:c"}));
        json::value first = t.expect("resources/subscribe");
        CHECK(first["params"]["uri"].if_string() == "a:b");
        t.answer(first, json::object());
        t.answer(t.expect("resources/subscribe"), json::object());
        CHECK(o.text == "tools a:b a:c ");
        for (auto [method, params, expected] :
             {std::tuple("notifications/tools/list_changed", "{}", "tools"),
              std::tuple("notifications/resources/updated", R"({"uri":"a:b"})", "a:b"),
              std::tuple("notifications/resources/updated", R"({"uri":"a:c/x"})", "a:c/x")}) {
            t.notify("notifications/prompts/list_changed");
            t.notify("notifications/resources/updated", json::object({{"uri", "z:z"}}));
            t.notify(method, json::parse(params));
            CHECK(l.next().text == expected);
        }
        // A second subscription to the same resource sends no request, and keeps it subscribed when the first one ends.
        open_listener second{t};
        outcome_of_task& shared = second.subscribe(only({"a:b"}));
        CHECK(shared.text == "a:b ");
        CHECK(t.silent());
        l.what.stop();
        t.loop->run();
        json::value gone = t.expect("resources/unsubscribe");
        CHECK(gone["params"]["uri"].if_string() == "a:c");
        t.answer(gone, json::object());
        CHECK(t.silent());
        t.notify("notifications/resources/updated", json::object({{"uri", "a:b"}}));
        CHECK(second.next().text == "a:b");
        outcome_of_task& waiting = second.next();
        t.wire().eof();
        t.loop->run();
        CHECK(waiting.text == "over");
        CHECK(second.what.how_ended() == subscription_end::lost);
    }
}

TEST_CASE("older revisions: every subscriber requests a resource that has not been granted yet") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision);
        open_listener one{t};
        open_listener two{t};
        outcome_of_task& first = one.subscribe(only({"a:b"}));
        json::value asked_first = t.expect("resources/subscribe");
        outcome_of_task& second = two.subscribe(only({"a:b"}));
        CHECK(!second.done());
        json::value asked_second = t.expect("resources/subscribe");
        CHECK(asked_second["params"]["uri"].if_string() == "a:b");
        t.refuse(asked_first, -32603, "not now");
        CHECK(first.kind == error_kind::rejected);
        CHECK(!second.done());
        t.answer(asked_second, json::object());
        CHECK(second.text == "a:b ");
        t.loop->run();
        CHECK(t.silent());  // the refused subscription does not affect the other one
        t.notify("notifications/resources/updated", json::object({{"uri", "a:b"}}));
        CHECK(two.next().text == "a:b");
        // It was acknowledged, so no further request is sent.
        open_listener three{t};
        CHECK(three.subscribe(only({"a:b"})).text == "a:b ");
        CHECK(t.silent());
    }
}

TEST_CASE("older revisions: a resource that is subscribed again before the unsubscribe is kept") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision);
        open_listener one{t};
        one.subscribe(only({"a:b", "a:c"}));
        t.answer(t.expect("resources/subscribe"), json::object());
        t.answer(t.expect("resources/subscribe"), json::object());
        one.what.stop();
        t.loop->run();
        json::value gone = t.expect("resources/unsubscribe");
        CHECK(gone["params"]["uri"].if_string() == "a:b");
        open_listener two{t};
        outcome_of_task& again = two.subscribe(only({"a:c"}));
        t.answer(t.expect("resources/subscribe"), json::object());
        CHECK(again.text == "a:c ");
        t.answer(gone, json::object());
        CHECK(t.silent());
        t.notify("notifications/resources/updated", json::object({{"uri", "a:c"}}));
        CHECK(two.next().text == "a:c");
        two.what.stop();
        t.loop->run();
        gone = t.expect("resources/unsubscribe");
        CHECK(gone["params"]["uri"].if_string() == "a:c");
        t.answer(gone, json::object());
    }
}

TEST_CASE("a subscription that the program closes has ended, and is not lost") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        open_listener l{t};
        subscription_request tools;
        tools.tools = true;
        l.subscribe(tools);
        if (revision == modern) acknowledge(t, t.expect("subscriptions/listen"), all);
        outcome_of_task& waiting = l.next();
        outcome_of_task& closed = t.run(t.client->close());
        t.advance(10s);
        CHECK(closed.done());
        CHECK(waiting.text == "over");
        CHECK(l.what.how_ended() == subscription_end::ended);
    }
}
