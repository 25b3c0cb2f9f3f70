#include "support/harness.hpp"

#include <doctest/doctest.h>

namespace keel::test {

namespace {

constexpr const char* versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

server_settings every_minute() {
    server_settings s;
    s.configure = [](server_options& o) { o.keep_alive = 60s; };
    return s;
}

/// The id of the ping that was sent, as JSON; "" if none was sent.
std::string pinged(server_under_test& s) {
    std::string id;
    for (const std::string& line : s.seen.take()) {
        json::value m = json::parse(line);
        if (m["method"].if_string() == std::string_view("ping")) id = json::to_string(m["id"]);
    }
    return id;
}

}  // namespace

TEST_CASE("LIFE-14: an idle client is pinged, and closed if it does not answer") {
    for (const char* version : versions) {
        CAPTURE(version);
        server_under_test s(every_minute());
        s.start(version);
        s.advance(59s);
        CHECK(pinged(s).empty());
        // The handshake counts as activity in the first minute.
        s.advance(1s);
        CHECK(pinged(s).empty());
        s.advance(60s);
        std::string id = pinged(s);
        REQUIRE_FALSE(id.empty());
        s.send(result_line(id));
        s.advance(60s);
        id = pinged(s);
        REQUIRE_FALSE(id.empty());
        CHECK(s.ends.empty());
        s.advance(60s);
        CHECK(s.ends.size() == 1);
        CHECK(s.logged("did not answer a ping"));
    }
}

TEST_CASE("LIFE-14: an active client is not pinged, and an error counts as an answer") {
    server_under_test s(every_minute());
    s.start("2025-11-25");
    for (int i = 0; i < 5; ++i) {
        s.advance(40s);
        s.send(request_line(std::to_string(i), "ping"));
    }
    CHECK(pinged(s).empty());
    s.advance(120s);
    std::string id = pinged(s);
    REQUIRE_FALSE(id.empty());
    s.send(error_line(id, -32601, "no pings here"));
    s.advance(59s);
    CHECK(s.ends.empty());
}

TEST_CASE("LIFE-14: no pings are sent by default, and never in 2026-07-28 (BASE-16)") {
    server_under_test quiet;
    quiet.start("2025-11-25");
    quiet.advance(1h);
    CHECK(pinged(quiet).empty());
    server_under_test modern(every_minute());
    modern.start();
    modern.send(modern_line("1", "tools/list"));
    modern.advance(1h);
    CHECK(pinged(modern).empty());
}

TEST_CASE("a connection that ends during a ping leaves nothing behind") {
    server_under_test s(every_minute());
    s.start("2025-11-25");
    s.advance(120s);
    CHECK_FALSE(pinged(s).empty());
    s.eof();
    CHECK(s.ends.size() == 1);
}

}  // namespace keel::test
