// Options of connecting, subscribing and the log level.

#include "http_client_under_test.hpp"

#include <keel/blocking_client.hpp>
#include <keel/server.hpp>

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* own_key = "com.example/who";

call_options with_meta() {
    call_options how;
    how.meta.set(own_key, "me");
    return how;
}

std::string who(const json::value& request) {
    return std::string(request["params"]["_meta"][own_key].if_string().value_or("nobody"));
}

subscription_request for_uris(std::vector<std::string> uris) {
    subscription_request what;
    what.uris = std::move(uris);
    return what;
}

auto subscribed = [](subscription&) { return std::string("subscribed"); };

}  // namespace

TEST_CASE("connecting ends within the caller's timeout, and can be retried") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect(1s));
    t.expect("server/discover");
    t.advance(999ms);
    CHECK(!o.done());
    t.advance(1ms);
    CHECK(o.kind == error_kind::timed_out);
    t.connect();
    CHECK(t.connector->wires.size() == 2);
}

TEST_CASE("a timeout longer than connect_timeout does not extend it") {
    client_options options;
    options.connect_timeout = 1s;
    options.mode = protocol_mode::modern;
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect(1h));
    t.expect("server/discover");
    t.advance(1s);
    CHECK(o.kind == error_kind::timed_out);
}

TEST_CASE("cancelling a connect with a stop token throws as for any call, and concurrent callers still connect") {
    client_under_test t;
    std::stop_source stop;
    outcome_of_task& mine = t.run(t.client->connect(stop.get_token()));
    outcome_of_task& other = t.run(t.client->connect());
    t.expect("server/discover");
    stop.request_stop();
    t.loop->run();
    CHECK(mine.kind == error_kind::cancelled);
    CHECK(!other.done());
    t.play_opening(modern);
    CHECK(other.text == "done");
    CHECK(t.client->connected());
}

TEST_CASE("a stop token that has already fired starts nothing") {
    client_under_test t;
    std::stop_source stop;
    stop.request_stop();
    CHECK(t.run(t.client->connect(stop.get_token())).kind == error_kind::cancelled);
    CHECK(t.connector->wires.empty());
}

TEST_CASE("D12: logging/setLevel uses the timeout and metadata of its options") {
    client_under_test t;
    t.connect("2025-11-25");
    call_options how = with_meta();
    how.idle = 2s;
    outcome_of_task& late = t.run(t.client->set_log_level(log_level::error, how));
    json::value request = t.expect("logging/setLevel");
    CHECK(who(request) == "me");
    t.advance(2s);
    CHECK(late.kind == error_kind::timed_out);
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == request["id"]);

    std::stop_source stop;
    outcome_of_task& stopped = t.run(t.client->set_log_level(log_level::error, stop.get_token()));
    t.expect("logging/setLevel");
    stop.request_stop();
    t.loop->run();
    CHECK(stopped.kind == error_kind::cancelled);
    t.expect("notifications/cancelled");
}

TEST_CASE("D12: a subscription of 2026-07-28 uses the timeout and metadata of its options") {
    client_under_test t;
    t.connect(modern);
    call_options how = with_meta();
    how.idle = 2s;
    outcome_of_task& late = t.run(t.client->subscribe(for_uris({"a:b"}), how), subscribed);
    json::value request = t.expect("subscriptions/listen");
    CHECK(who(request) == "me");
    CHECK(request["params"]["_meta"].contains("io.modelcontextprotocol/protocolVersion"));
    t.advance(2s);
    CHECK(late.kind == error_kind::timed_out);
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == request["id"]);

    std::stop_source stop;
    outcome_of_task& stopped = t.run(t.client->subscribe(for_uris({"a:b"}), stop.get_token()), subscribed);
    request = t.expect("subscriptions/listen");
    stop.request_stop();
    t.loop->run();
    CHECK(stopped.kind == error_kind::cancelled);
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == request["id"]);

    call_options wrong;
    wrong.meta.set("progressToken", 1);
    CHECK(t.run(t.client->subscribe(for_uris({"a:b"}), wrong), subscribed).failed);
    CHECK(t.silent());
}

TEST_CASE("D12: before 2026-07-28 the total timeout covers all requests of a subscription") {
    client_under_test t;
    t.connect("2025-11-25");
    call_options how = with_meta();
    how.total = 3s;
    outcome_of_task& o = t.run(t.client->subscribe(for_uris({"a:b", "a:c"}), how), subscribed);
    json::value first = t.expect("resources/subscribe");
    CHECK(who(first) == "me");
    t.advance(2s);
    t.answer(first, json::object());
    json::value second = t.expect("resources/subscribe");
    CHECK(who(second) == "me");
    t.advance(999ms);
    CHECK(!o.done());
    t.advance(1ms);
    CHECK(o.kind == error_kind::timed_out);
    CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == second["id"]);
    // The resource that was already subscribed is unsubscribed.
    json::value given_back = t.expect("resources/unsubscribe");
    CHECK(given_back["params"]["uri"].if_string() == "a:b");
}

TEST_CASE("over HTTP the headers of a subscription are sent with its request") {
    web_client t;
    call_options how;
    how.headers.emplace_back("X-Who", "me");
    std::string& o =
        t.run(t.client->subscribe(for_uris({"a:b"}), how), [](subscription&) { return std::string("ok"); });
    CHECK(t.last("subscriptions/listen").header("X-Who") == "me");
    CHECK(o.empty());
}

TEST_CASE("a blocking client has the same options") {
    server s({.name = "test", .version = "1"});
    resource boat;
    boat.uri = "test://boat";
    boat.name = "boat";
    s.add_resource(std::move(boat), [] { return "a boat"; }, {.quick = true});
    blocking_client client(s);
    client.connect(10s);
    client.set_log_level(log_level::warning, call_options(10s));
    blocking_subscription changes = client.subscribe(for_uris({"test://boat"}), call_options(10s));
    CHECK(changes.agreed().uris.size() == 1);
    std::stop_source stop;
    stop.request_stop();
    try {
        client.subscribe(for_uris({"test://boat"}), stop.get_token());
        FAIL("not cancelled");
    } catch (const error& e) {
        CHECK(e.kind() == error_kind::cancelled);
    }
}
