// The GET stream of the older era.

#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

const char* const note = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

}  // namespace

TEST_CASE("LHTTP-02: the GET stream is requested with its media type after the handshake") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        CHECK(t.on->all("GET").empty());
        t.link->session_opened();
        t.link->session_opened();
        REQUIRE(t.on->all("GET").size() == 1);
        seen_request& get = t.on->last();
        CHECK(get.header("Accept") == "text/event-stream");
        CHECK(get.header("Mcp-Session-Id") == "s-1");
        CHECK_FALSE(get.has("Last-Event-ID"));
        t.on->open_stream(get);
        t.on->event(get, "");
        t.on->event(get, note);
        CHECK(t.heard.size() == 1);
        t.on->event(get, R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})");
        CHECK(t.on->last().shown() == "POST result");
        t.on->accept(t.on->last());
        t.loop->advance(10min);  // the stream may stay open
        CHECK(get.open());
    }
}

TEST_CASE("LHTTP-01: a server without a GET stream is not asked again") {
    for (int status : {405, 404, 400, 401, 406}) {
        link_under_test t(legacy());
        t.shake_hands();
        t.link->session_opened();
        CHECK(t.link->has_notifications());
        t.on->reply(t.on->last(), status, "text/plain", "no");
        CHECK_FALSE(t.link->has_notifications());
        t.loop->advance(10min);
        CHECK(t.on->all("GET").size() == 1);
        CHECK(t.reports.empty());
        CHECK(t.sessions_lost == 0);
    }
}

TEST_CASE("no GET stream is opened in the modern era") {
    link_under_test t;
    t.link->session_opened();
    CHECK(t.on->requests.empty());
}

TEST_CASE("LHTTP-07, LHTTP-19: after its end the GET stream is resumed after the last event, after the retry time") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        t.link->session_opened();
        for (int i = 0; i < 20; ++i) {
            seen_request& get = t.on->last();
            CHECK(get.header("Last-Event-ID") == (i == 0 ? "" : "e" + std::to_string(i - 1)));
            t.on->open_stream(get);
            t.on->event(get, note, "retry: 3000\nid: e" + std::to_string(i) + "\n");
            if (i % 2) t.on->end(get);
            else t.on->fail(get);
            t.loop->advance(2999ms);
            CHECK(t.on->all("GET").size() == static_cast<std::size_t>(i) + 1);
            t.loop->advance(1ms);
            REQUIRE(t.on->all("GET").size() == static_cast<std::size_t>(i) + 2);
        }
        CHECK(t.heard.size() == 20);
    }
}

TEST_CASE("a GET stream without events is reopened with growing delays, as long as it exists") {
    link_under_test t(legacy());
    t.shake_hands();
    t.link->session_opened();
    for (int i = 0; i < 12; ++i) {
        t.on->open_stream(t.on->last());
        t.on->end(t.on->last());
        std::size_t gets = t.on->all("GET").size();
        t.loop->advance(30s);
        CHECK(t.on->all("GET").size() == gets + 1);
    }
    // A stream that stays open resets the retry delay.
    t.on->open_stream(t.on->last());
    t.loop->advance(1min);
    t.on->end(t.on->last());
    std::size_t gets = t.on->all("GET").size();
    t.loop->advance(1s);
    CHECK(t.on->all("GET").size() == gets + 1);
}

TEST_CASE("a server that cannot provide the GET stream is asked a few times, not forever") {
    link_under_test t(legacy());
    t.shake_hands();
    t.link->session_opened();
    for (int i = 0; i < 20; ++i) {
        if (!t.on->last().open()) break;
        t.on->reply(t.on->last(), 503, "", "");
        t.loop->advance(1min);
    }
    CHECK(t.on->all("GET").size() == 6);
}

TEST_CASE("E3: an event on the GET stream that is too large is skipped and reported, and the stream continues") {
    for (const char* version : legacy_versions) {
        link_settings_for_test how = legacy(version);
        how.options.max_body = 1000;
        link_under_test t(how);
        t.shake_hands();
        t.link->session_opened();
        seen_request& get = t.on->last();
        t.on->open_stream(get);
        auto call = t.ask("a");
        seen_request& post = t.on->last();
        t.on->event(get, "{}" + std::string(2000, ' '), "id: 7\n");
        CHECK(get.open());
        CHECK(t.reports.size() == 1);
        CHECK(call->ends == 0);
        t.on->event(get, R"({"jsonrpc":"2.0","id":)" + post.id() + R"(,"result":")" + std::string(2000, 'x') + "\"}",
                    "id: 8\n");
        CHECK(call->outcome == "bad message");
        t.on->event(get, note);
        CHECK(t.heard.size() == 1);
        t.on->end(get);
        t.loop->advance(1s);
        CHECK(t.on->last().shown() == "GET");
        CHECK(t.on->last().header("Last-Event-ID") == "8");
    }
}

TEST_CASE("I11: a GET stream that is reopened without its position is reported as a gap") {
    link_under_test t(legacy());
    t.shake_hands();
    t.link->session_opened();
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), note);
    CHECK(t.gaps == 0);
    t.on->end(t.on->last());
    t.loop->advance(1s);
    CHECK(t.gaps == 0);  // not before the stream is open again
    t.on->open_stream(t.on->last());
    CHECK(t.gaps == 1);
    t.on->event(t.on->last(), note, "id: 7\n");
    t.on->end(t.on->last());
    t.loop->advance(1s);
    CHECK(t.on->last().header("Last-Event-ID") == "7");
    t.on->open_stream(t.on->last());
    CHECK(t.gaps == 1);
}

TEST_CASE("H16: a server that no longer knows the position is asked for new events") {
    link_under_test t(legacy());
    t.shake_hands();
    t.link->session_opened();
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), note, "id: 7\n");
    t.on->end(t.on->last());
    t.loop->advance(1s);
    t.on->reply(t.on->last(), 400, "text/plain", "no such event");
    t.loop->advance(10s);
    REQUIRE(t.on->all("GET").size() == 3);
    CHECK_FALSE(t.on->last().has("Last-Event-ID"));
    t.on->open_stream(t.on->last());
    CHECK(t.gaps == 1);
    CHECK(t.silences.empty());
}

TEST_CASE("H11: a GET stream that worked and is temporarily rejected is retried") {
    for (int status : {408, 409, 425, 429, 503}) {
        link_under_test t(legacy());
        t.shake_hands();
        t.link->session_opened();
        t.on->open_stream(t.on->last());
        for (int i = 0; i < 20; ++i) {
            t.on->end(t.on->last());
            t.loop->advance(1min);
            t.on->reply(t.on->last(), status, "", "");
            t.loop->advance(1min);
            REQUIRE(t.on->last().open());
            t.on->open_stream(t.on->last());
        }
        CHECK(t.silences.empty());
    }
}

TEST_CASE("I11: a GET stream that worked and is rejected for good is reported") {
    for (int status : {400, 401, 403, 405, 410}) {
        link_under_test t(legacy());
        t.shake_hands();
        t.link->session_opened();
        t.on->open_stream(t.on->last());
        t.on->end(t.on->last());
        t.loop->advance(1s);
        t.on->reply(t.on->last(), status, "", "");
        t.loop->advance(1h);
        CHECK(t.on->all("GET").size() == 2);
        REQUIRE(t.silences.size() == 1);
        CHECK(t.silences[0].find(std::to_string(status)) != std::string::npos);
    }
}

TEST_CASE(
    "D18, LHTTP-11: a 404 for a GET stream that worked means that the session is lost, and a new one gets a "
    "new stream") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        t.link->session_opened();
        t.on->open_stream(t.on->last());
        t.on->event(t.on->last(), note, "id: 7\n");
        t.on->end(t.on->last());
        t.loop->advance(1s);
        t.on->reply(t.on->last(), 404, "", "");
        CHECK(t.sessions_lost == 1);
        auto opening = t.ask("initialize");
        t.on->answer(t.on->last(), "{}", {{"mcp-session-id", "s-2"}});
        t.peer->notify("notifications/initialized", "{}", false);
        t.link->session_renewed(true);
        CHECK(t.on->all("GET").size() == 2);
        t.on->accept(t.on->last());
        REQUIRE(t.on->all("GET").size() == 3);
        CHECK(t.on->last().header("Mcp-Session-Id") == "s-2");
        CHECK_FALSE(t.on->last().has("Last-Event-ID"));
    }
}

TEST_CASE("D18: the GET stream of a lost session is dropped with it") {
    link_under_test t(legacy());
    t.shake_hands();
    t.link->session_opened();
    seen_request& get = t.on->last();
    t.on->open_stream(get);
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "");
    CHECK(get.cancelled);
    t.link->session_renewed(false);
    CHECK(call->outcome == "session lost");
}

TEST_CASE("the link may be closed in an event of the GET stream, with more events behind it") {
    link_under_test t(legacy());
    t.shake_hands();
    t.link->session_opened();
    seen_request& get = t.on->last();
    t.on->open_stream(get);
    t.when_heard = [&](std::string_view) { t.peer->close(); };
    std::string text = "data: " + std::string(note) + "\n\n";
    t.on->body(get, text + text);
    CHECK(t.heard.size() == 1);
    CHECK(get.cancelled);
}

TEST_CASE("an event id that is invalid in a header is not sent back, and the stream is opened nevertheless") {
    for (std::size_t length : {8u * 1024, 8u * 1024 + 1, 1024u * 1024}) {
        link_under_test t(legacy());
        t.shake_hands();
        t.link->session_opened();
        const std::string id(length, 'x');
        t.on->open_stream(t.on->last());
        t.on->event(t.on->last(), note, "id: " + id + "\n");
        t.on->end(t.on->last());
        t.loop->advance(1s);
        REQUIRE(t.on->all("GET").size() == 2);
        CHECK(t.on->last().header("Last-Event-ID") == (length <= 8 * 1024 ? id : ""));
        t.on->open_stream(t.on->last());
        t.on->event(t.on->last(), note, "id: short\n");
        t.on->end(t.on->last());
        t.loop->advance(1s);
        CHECK(t.on->last().header("Last-Event-ID") == "short");
        CHECK(t.heard.size() == 2);
    }
}

TEST_CASE("LHTTP-07: a server with a retry time of zero is not reconnected in a busy loop") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        t.link->session_opened();
        auto bring_one_event = [&] {
            seen_request& get = t.on->last();
            t.on->open_stream(get);
            t.on->event(get, note, "retry: 0\n");
            t.on->end(get);
            t.loop->advance(0ms);
        };
        for (std::size_t i = 0; i < 10; ++i) {
            bring_one_event();
            REQUIRE(t.on->all("GET").size() == i + 2);
        }
        for (std::size_t i = 10; i < 20; ++i) {
            bring_one_event();
            CHECK(t.on->all("GET").size() == i + 1);
            t.loop->advance(1s);
            REQUIRE(t.on->all("GET").size() == i + 2);
        }
        CHECK(t.heard.size() == 20);
    }
}
