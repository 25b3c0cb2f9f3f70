// Quotas per address and per principal: 429. Limits of the server: 503.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// The principal is the value of the header Who.
std::optional<std::string> by_header(const http_request& r) { return std::string(r.header("Who").value_or("")); }

std::string with(std::string request, std::string_view header) {
    return request.insert(request.find("\r\n") + 2, std::string(header) + "\r\n");
}

std::string opening(std::string_view header = "X: y") { return with(http_post(initialize_body("2025-11-25")), header); }

/// Opens a session; a used one if `used`, otherwise the client has not returned to it.
http_session open_from(web& w, std::string_view address, bool used) {
    web_client& c = w.connect_from(address);
    c.send(opening());
    REQUIRE(c.status() == 200);
    http_session s = w.session_of(c);
    if (used) c.send(s.post(notification_line("notifications/initialized")));
    return s;
}

/// The status of an `initialize` from this address.
int try_to_open(web& w, std::string_view address, std::string_view header = "X: y") {
    web_client& c = w.connect_from(address);
    c.send(opening(header));
    if (c.status() == 200) w.session_of(c);
    return c.status();
}

}  // namespace

TEST_CASE("F8: the sessions of one address are limited with 429; other addresses are not affected") {
    web_settings how;
    how.http.limits.max_sessions_per_client = 2;
    web w(how);
    const http_session first = open_from(w, "192.0.2.1", true);
    open_from(w, "192.0.2.1", true);
    web_client& third = w.connect_from("192.0.2.1");
    third.send(opening());
    CHECK(third.status() == 429);
    CHECK(third.last().header("retry-after") == "10");
    CHECK(third.said() == "error -32603 too many sessions of this client are open");
    CHECK(try_to_open(w, "192.0.2.2") == 200);
    CHECK(w.ask(first, first.end()) == 200);
    CHECK(try_to_open(w, "192.0.2.1") == 200);
}

TEST_CASE("a client that reaches its quota of sessions replaces its own unused sessions, not those of others") {
    web_settings how;
    how.http.limits.max_sessions_per_client = 2;
    web w(how);
    const http_session other = open_from(w, "192.0.2.2", false);
    for (int i = 0; i < 50; ++i) {
        REQUIRE(try_to_open(w, "192.0.2.1") == 200);
        CHECK(w.sessions() <= 3);
    }
    CHECK(w.ask(other, other.call("1", "echo")) == 200);
    // A used session is never replaced.
    const http_session used = open_from(w, "192.0.2.1", true);
    for (int i = 0; i < 3; ++i) CHECK(try_to_open(w, "192.0.2.1") == 200);
    CHECK(w.ask(used, used.call("2", "echo")) == 200);
    CHECK(w.sessions() == 3);
}

TEST_CASE("F8: when max_sessions is reached, the oldest unused session of any client ends; used ones give 503") {
    web_settings how;
    how.http.limits.max_sessions = 3;
    web w(how);
    const http_session oldest = open_from(w, "192.0.2.1", false);
    open_from(w, "192.0.2.2", true);
    open_from(w, "192.0.2.2", true);
    open_from(w, "192.0.2.3", true);
    CHECK(w.sessions() == 3);
    CHECK(w.ask(oldest, oldest.call("1", "echo")) == 404);
    CHECK(try_to_open(w, "192.0.2.1") == 503);
}

TEST_CASE("F8: sessions are limited per principal too; anonymous clients have no quota of their own") {
    web_settings how;
    how.http.identify = by_header;
    how.http.limits.max_sessions_per_client = 1;
    web w(how);
    web_client& a = w.connect_from("192.0.2.1");
    a.send(opening("Who: ada"));
    const http_session s = w.session_of(a);
    a.send(with(s.post(notification_line("notifications/initialized")), "Who: ada"));
    CHECK(a.status() == 202);
    CHECK(try_to_open(w, "192.0.2.2", "Who: ada") == 429);
    CHECK(try_to_open(w, "192.0.2.3", "Who: ") == 200);
    CHECK(try_to_open(w, "192.0.2.4", "Who: ") == 200);
    a.send(with(s.end(), "Who: ada"));
    CHECK(a.status() == 200);
    web_client& b = w.connect_from("192.0.2.2");
    b.send(opening("Who: ada"));
    CHECK(b.status() == 200);
    b.send(with(w.session_of(b).end(), "Who: ada"));
}

TEST_CASE("F8: the calls of one client are limited with 429, over all of its connections and in both eras") {
    web_settings how;
    how.http.limits.max_in_flight_per_client = 2;
    web w(how);
    const http_session s = open_from(w, "2001:db8::1", true);
    web_client& legacy = w.connect(s);
    legacy.send(s.call("1", "hold", R"({"at":"a"})"));
    web_client& modern = w.connect_from("2001:db8::2");  // the same network of 64 bits
    modern.send(modern_call("1", "hold", R"({"at":"a"})"));
    CHECK(w.in_flight() == 2);
    web_client& third = w.connect_from("2001:db8::3");
    third.send(modern_call("2", "echo"));
    CHECK(third.status() == 429);
    CHECK(third.last().header("retry-after") == "1");
    CHECK(third.said() == "error -32603 too many requests of this client are in flight");
    CHECK(w.ask(s, s.call("3", "echo")) == 429);
    CHECK(w.ask(s, s.post(request_line("4", "ping"))) == 200);  // A12: ping needs no handler
    CHECK(try_to_open(w, "2001:db8::4") == 429);                // initialize is a call too
    web_client& other = w.connect_from("2001:db8:1::1");
    other.send(modern_call("4", "echo", R"({"at":"fine"})"));
    CHECK(other.said() == "fine");
    w.open("a");
    third.send(modern_call("5", "echo", R"({"at":"again"})"));
    CHECK(third.said() == "again");
    CHECK(w.ask(s, s.call("6", "echo")) == 200);
}

TEST_CASE("a call that its client cannot cancel counts until its handler ends") {
    web_settings how;
    how.http.limits.max_in_flight_per_client = 1;
    web w(how);
    web_client& c = w.connect_from("192.0.2.1");
    c.send(modern_call("1", "tidy", R"({"at":"a"})"));
    c.gone();  // cancels it
    CHECK(w.handlers.here() == 1);
    web_client& again = w.connect_from("192.0.2.1");
    again.send(modern_call("2", "echo"));
    CHECK(again.status() == 429);
    w.open("tidying");
    again.send(modern_call("3", "echo"));
    CHECK(again.status() == 200);
    CHECK(w.core->quotas.size() == 1);
    again.gone();
    CHECK(w.core->quotas.size() == 0);
}

TEST_CASE("subscriptions do not count as calls") {
    web_settings how;
    how.http.limits.max_in_flight_per_client = 1;
    web w(how);
    web_client& listening = w.connect_from("192.0.2.1");
    listening.send(modern_listen("1", R"({"toolsListChanged":true})"));
    CHECK(listening.last().stream);
    web_client& c = w.connect_from("192.0.2.1");
    c.send(modern_call("2", "echo"));
    CHECK(c.status() == 200);
}

TEST_CASE("a batch that the quota of calls can never accept is refused with 400 and the limit") {
    web_settings how;
    how.http.limits.max_in_flight_per_client = 2;
    web w(how);
    http_session s = w.open_session("2025-03-26");
    web_client& c = w.connect(s);
    c.send(s.post("[" + call_line("1", "echo") + "," + call_line("2", "echo") + "," + call_line("3", "echo") + "]"));
    CHECK(c.status() == 400);
    CHECK(c.said() == "error -32600 a batch may contain at most 2 requests");
    c.send(s.post("[" + call_line("1", "echo") + "," + call_line("2", "echo") + "]"));
    CHECK(c.status() == 200);
}

TEST_CASE("F8: behind a trusted proxy, the client of each request counts, not the proxy") {
    web_settings how;
    how.http.trusted_proxies = {"10.0.0.0/8"};
    how.http.limits.max_connections_per_client = 1;
    how.http.limits.max_in_flight_per_client = 1;
    web w(how);
    web_client& one = w.connect_from("10.0.0.1");
    one.send(with(modern_call("1", "echo"), "X-Forwarded-For: 192.0.2.1"));
    CHECK(one.status() == 200);
    // A second connection of the same client.
    web_client& two = w.connect_from("10.0.0.1");
    two.send(with(modern_call("2", "echo"), "X-Forwarded-For: 192.0.2.1"));
    CHECK(two.status() == 429);
    CHECK(two.said() == "error -32603 too many connections of this client are open");
    two.send(with(modern_call("3", "echo"), "X-Forwarded-For: 192.0.2.2"));
    CHECK(two.status() == 200);
    // The proxy uses the first connection for another client: it no longer counts for the first one.
    one.send(with(modern_call("4", "hold", R"({"at":"a"})"), "X-Forwarded-For: 192.0.2.3"));
    two.send(with(modern_call("5", "echo"), "X-Forwarded-For: 192.0.2.1"));
    CHECK(two.status() == 200);
    CHECK(w.core->quotas.size() == 2);
    w.open("a");
    CHECK(one.said() == "held a");
}

TEST_CASE("F8: sessions opened through a trusted proxy count for the forwarded address") {
    web_settings how;
    how.http.trusted_proxies = {"10.0.0.0/8"};
    how.http.limits.max_sessions_per_client = 1;
    web w(how);
    web_client& c = w.connect_from("10.0.0.1");
    c.send(opening("X-Forwarded-For: 192.0.2.3"));
    const http_session s = w.session_of(c);
    c.send(s.post(notification_line("notifications/initialized")));
    CHECK(try_to_open(w, "10.0.0.2", "X-Forwarded-For: 192.0.2.3") == 429);
    CHECK(try_to_open(w, "10.0.0.2", "X-Forwarded-For: 192.0.2.4") == 200);
    CHECK(try_to_open(w, "192.0.2.3") == 429);
}

TEST_CASE("F8: connections are limited per principal") {
    web_settings how;
    how.http.identify = by_header;
    how.http.limits.max_connections_per_client = 1;
    web w(how);
    web_client& one = w.connect_from("192.0.2.1");
    one.send(with(modern_call("1", "echo"), "Who: ada"));
    CHECK(one.status() == 200);
    web_client& two = w.connect_from("192.0.2.2");
    two.send(with(modern_call("2", "echo"), "Who: ada"));
    CHECK(two.status() == 429);
    CHECK(two.last().header("retry-after") == "5");
    two.send(with(modern_call("3", "echo"), "Who: eve"));
    CHECK(two.status() == 200);
    one.gone();
    two.send(with(modern_call("4", "echo"), "Who: ada"));
    CHECK(two.status() == 200);
}

TEST_CASE("quotas of 0 are off") {
    web_settings how;
    how.http.limits.max_sessions_per_client = 0;
    how.http.limits.max_in_flight_per_client = 0;
    how.http.limits.max_connections_per_client = 0;
    web w(how);
    for (int i = 0; i < 20; ++i) open_from(w, "192.0.2.1", false);
    CHECK(w.sessions() == 20);
    CHECK(w.core->quotas.size() == 0);
}
