// Subscriptions that fail: write errors, and servers that end or refuse them.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

outcome_of_task& subscribe(client_under_test& t, subscription_request what) {
    return t.run(t.client->subscribe(std::move(what)), [](const subscription&) { return std::string("ok"); });
}

subscription_request to(std::vector<std::string> uris) {
    subscription_request r;
    r.uris = std::move(uris);
    return r;
}

}  // namespace

TEST_CASE("J3: a subscription with an invalid URI is rejected and leaks nothing") {
    for (const char* version : {"2025-11-25", modern}) {
        CAPTURE(version);
        client_under_test t;
        t.connect(version);
        auto session = client_access::engine(*t.client)->connections.in_use();
        outcome_of_task& o = subscribe(t, to({"a://b", "\xff"}));
        CHECK(o.text == "exception: keel: invalid resource URI: not UTF-8");
        t.loop->run();
        CHECK(session->listens.empty());
        CHECK(session->subscribers.empty());
        CHECK(session->subscribed_uris.empty());
        CHECK(t.silent());
    }
}

TEST_CASE(
    "I10: a listen request that the server ends before the acknowledgement fails as unavailable, not as "
    "cancelled") {
    client_under_test t;
    t.connect(modern);
    subscription_request r;
    r.tools = true;
    outcome_of_task& o = subscribe(t, r);
    json::value asked = t.expect("subscriptions/listen");
    t.notify("notifications/cancelled", json::object({{"requestId", asked["id"]}}));
    CHECK(o.kind == error_kind::unavailable);
    CHECK(client_access::engine(*t.client)->connections.in_use()->listens.empty());
}

TEST_CASE("J3: rejected URIs are not unsubscribed; accepted ones, or possibly accepted ones, are") {
    client_under_test t;
    t.connect("2025-11-25");
    outcome_of_task& refused = subscribe(t, to({"a://granted", "a://refused", "a://never"}));
    t.answer(t.expect("resources/subscribe"), json::object());
    t.refuse(t.expect("resources/subscribe"), -32002);
    CHECK(refused.kind == error_kind::rejected);
    json::value back = t.expect("resources/unsubscribe");
    CHECK(back["params"]["uri"].if_string() == "a://granted");
    t.answer(back, json::object());
    CHECK(t.silent());

    outcome_of_task& given_up = subscribe(t, to({"a://in-flight"}));
    t.expect("resources/subscribe");
    t.abandon(given_up);
    t.expect("notifications/cancelled");
    back = t.expect("resources/unsubscribe");
    CHECK(back["params"]["uri"].if_string() == "a://in-flight");
    t.answer(back, json::object());
    auto session = client_access::engine(*t.client)->connections.in_use();
    CHECK(session->asked_uris.empty());
    CHECK(session->granted_uris.empty());
    CHECK(t.silent());
}
