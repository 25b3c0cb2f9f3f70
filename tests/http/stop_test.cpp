// An HTTP server that stops: in which order, and how long it takes whatever clients do.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// Advances the clock until the server has stopped; returns how long that took.
duration time_to_stop(web& w) {
    duration passed{};
    while (!w.stopped() && passed < 120s) {
        w.advance(50ms);
        passed += 50ms;
    }
    return passed;
}

std::string place_at_stop(const std::string& place) { return R"({"at":")" + place + R"("})"; }
constexpr const char* shutting_down = "error -32603 server shutting down";

}  // namespace

TEST_CASE("G5, G2: a server stops within its time limits, whatever its clients do") {
    duration drain = 0s;
    SUBCASE("at once") {}
    SUBCASE("after a drain") { drain = 5s; }
    web w;
    std::vector<http_session> sessions;
    std::vector<web_client*> stalled;
    for (int i = 0; i < 20; ++i) {
        sessions.push_back(w.open_session());
        const http_session& s = sessions.back();
        web_client& general = w.connect(s);
        general.send(s.get());
        web_client& call = w.connect(s);
        call.send(s.call("1", "talk", place_at_stop("a"), "\"t\""));
        web_client& pending = w.connect(s);
        pending.send(s.call("2", "hold", place_at_stop("a")));
        web_client& deaf = w.connect(s);
        deaf.send(s.call("3", "tidy", place_at_stop("a")));
        web_client& modern = w.connect();
        modern.send(modern_call("1", "talk", place_at_stop("a"), "\"t\""));
        web_client& modern_deaf = w.connect();
        modern_deaf.send(modern_call("1", "tidy", place_at_stop("a")));
        web_client& listen = w.connect();
        listen.send(modern_listen("1", R"({"toolsListChanged":true})"));
        web_client& half = w.connect();
        half.feed("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        web_client& idle = w.connect();
        for (web_client* each : {&general, &call, &pending, &deaf, &modern, &modern_deaf, &listen, &half, &idle}) {
            each->wire->stall();
            stalled.push_back(each);
        }
    }
    w.run();
    CHECK(w.handlers.here() == 100);
    w.stop(drain);
    w.stop(drain);  // no effect
    const limits& bounds = w.settings.bounds;
    CHECK(time_to_stop(w) <= drain + bounds.cleanup_grace + bounds.final_write + w.core->tick + 50ms);
    CHECK(w.stopped());
    for (web_client* each : stalled) CHECK(each->wire->destroyed());
    CHECK(w.sessions() == 0);
    CHECK(w.streams() == 0);
    CHECK(w.handlers.here() == 40);  // they do not end by themselves
    CHECK(w.host->health().abandoned == 40);
    w.open("tidying");
    CHECK(w.handlers.here() == 0);
}

TEST_CASE("G5, I10: listens are ended with their result, and the server then stops at once") {
    web w;
    http_session s = w.open_session();
    web_client& general = w.connect(s);
    general.send(s.get());
    web_client& talking = w.connect(s);
    talking.send(s.call("1", "talk", place_at_stop("a"), "\"t\""));
    web_client& pending = w.connect(s);
    pending.send(s.call("2", "hold", place_at_stop("a")));
    web_client& modern = w.connect();
    modern.send(modern_call("1", "hold", place_at_stop("a")));
    web_client& modern_talking = w.connect();
    modern_talking.send(modern_call("1", "talk", place_at_stop("a"), "\"t\""));
    web_client& listen = w.connect();
    listen.send(modern_listen("\"l\"", R"({"toolsListChanged":true})"));
    web_client& idle = w.connect();
    idle.send(modern_call("1", "echo", place_at_stop("x")));
    w.stop();
    CHECK(w.stopped());
    CHECK(w.handlers.here() == 0);
    CHECK(w.at("a").cancelled == 4);
    CHECK(pending.said() == shutting_down);
    CHECK(talking.said_all() == lines{"progress 1", shutting_down});
    CHECK(talking.last().complete);
    CHECK(modern.said() == shutting_down);
    CHECK(modern_talking.said_all() == lines{"progress 1", shutting_down});
    CHECK(modern_talking.last().complete);
    CHECK(general.last().complete);
    CHECK(general.said_all().empty());
    CHECK(idle.answers() == 1);
    // I10 over HTTP: only the result.
    std::vector<std::string> heard = listen.last().messages();
    REQUIRE(heard.size() == 2);
    json::value end = json::parse(heard[1]);
    CHECK(end["id"].as_string() == "l");
    CHECK(end.contains("result"));
    CHECK(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_string() == "l");
    CHECK(listen.last().complete);
    for (auto& c : w.clients) CHECK(c->wire->destroyed());
    w.stop();
}

TEST_CASE("G5: during a drain running calls may finish, and new ones are refused") {
    web w;
    http_session s = w.open_session();
    web_client& old = w.connect(s);
    old.send(s.call("1", "talk", place_at_stop("a"), "\"t\""));
    web_client& modern = w.connect();
    modern.send(modern_call("1", "hold", place_at_stop("a")));
    web_client& late = w.connect();
    late.send(modern_call("1", "hold", place_at_stop("b")));
    web_client& busy = w.connect();
    busy.send(modern_call("1", "hold", place_at_stop("a")));
    busy.later(modern_call("2", "echo", place_at_stop("x")));
    web_client& listen = w.connect();
    listen.send(modern_listen("1", R"({"toolsListChanged":true})"));
    w.stop(10s);
    CHECK(!w.stopped());
    CHECK(listen.last().complete);  // a drain does not wait for a listen
    CHECK(w.at("a").cancelled == 0);
    web_client& fresh = w.connect();
    fresh.send(modern_call("1", "echo", place_at_stop("x")));
    CHECK(fresh.status() == 503);
    CHECK(w.ask(s, s.call("9", "echo")) == 503);
    CHECK(w.ask(s, s.get()) == 503);
    w.advance(5s);
    w.open("a");
    CHECK(old.said() == "talked");
    CHECK(modern.said() == "held a");
    CHECK(busy.answer(0).messages().size() == 1);
    CHECK(modern.last().header("connection") == "close");
    CHECK(!w.stopped());
    CHECK(w.at("b").cancelled == 0);
    w.advance(5s + w.tick());
    CHECK(w.at("b").cancelled == 1);
    CHECK(late.said() == shutting_down);
    CHECK(w.stopped());
}

TEST_CASE("G2, B15: a server waits for the cleanup of its handlers before it has stopped") {
    web w;
    http_session s = w.open_session();
    bool modern = false;
    SUBCASE("2025-11-25") {}
    SUBCASE("2026-07-28") { modern = true; }
    web_client& c = modern ? w.connect() : w.connect(s);
    c.send(modern ? modern_call("1", "tidy", place_at_stop("a")) : s.call("1", "tidy", place_at_stop("a")));
    w.stop();
    CHECK(c.said() == shutting_down);
    CHECK(w.handlers.here() == 1);
    CHECK(!w.stopped());
    w.advance(1s);
    CHECK(!w.stopped());
    w.open("tidying");
    CHECK(w.handlers.here() == 0);
    CHECK(w.stopped());
    CHECK(w.host->health().abandoned == 0);
}

TEST_CASE("G1: a server can be stopped twice, with another drain, and while idle") {
    web w;
    SUBCASE("no connections") {
        w.stop();
        CHECK(w.stopped());
        w.stop(5s);
    }
    SUBCASE("a connection without a request") {
        web_client& c = w.connect();
        w.stop();
        CHECK(c.wire->destroyed());
        CHECK(w.stopped());
    }
    SUBCASE("the server stops, and its HTTP transport with it") {
        http_session s = w.open_session();
        web_client& c = w.connect(s);
        c.send(s.call("1", "hold", place_at_stop("a")));
        w.on_loop([&w] { w.host->request_stop(); });
        CHECK(c.said() == shutting_down);
        CHECK(w.stopped());
        w.stop();
    }
}

TEST_CASE("G5, H6: a stateless call whose client has disconnected does not delay the shutdown") {
    web_settings how;
    how.http.stateless = true;
    web w(how);
    web_client& c = w.connect();
    c.send(http_post(call_line("1", "hold", place_at_stop("a")), "MCP-Protocol-Version: 2025-11-25\r\n"));
    CHECK(w.handlers.here() == 1);
    c.gone();
    CHECK(w.at("a").cancelled == 0);
    CHECK(w.handlers.here() == 1);
    w.stop();
    CHECK(time_to_stop(w) <= w.settings.bounds.cleanup_grace + w.settings.bounds.final_write + w.core->tick + 50ms);
    CHECK(w.at("a").cancelled == 1);
    CHECK(w.handlers.here() == 0);
}
