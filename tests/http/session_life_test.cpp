// Sessions of older revisions: how they start, expire and end.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

web_settings short_lived() {
    web_settings how;
    how.http.limits.session_idle = 60s;
    return how;
}

}  // namespace

TEST_CASE("H14: a session expires only while nothing runs and no stream is open") {
    web w(short_lived());
    http_session s = w.open_session();

    SUBCASE("a call that takes ten times as long is answered, and then the timeout starts") {
        web_client& c = w.connect(s);
        c.send(s.call("1", "hold", R"({"at":"a"})"));
        w.advance(600s);
        CHECK(w.at("a").cancelled == 0);
        CHECK(w.sessions() == 1);
        w.open("a");
        CHECK(c.said() == "held a");
    }
    SUBCASE("a call whose client disconnected keeps it: the client can still resume") {
        web_client& c = w.connect(s);
        c.send(s.call("1", "hold", R"({"at":"a"})"));
        w.advance(16s);
        REQUIRE(c.last().stream);
        c.gone();
        w.advance(600s);
        CHECK(w.at("a").cancelled == 0);
        w.open("a");
        web_client& d = w.connect(s);
        d.send(s.get(c.last().events.front().id));
        CHECK(d.said() == "held a");
        CHECK(d.last().complete);
    }
    SUBCASE("an open stream keeps it, a closed stream does not") {
        web_client& c = w.connect(s);
        c.send(s.get());
        w.advance(600s);
        CHECK(w.sessions() == 1);
        c.gone();
    }
    SUBCASE("older open streams keep it too") {
        web_client& older = w.connect(s);
        older.send(s.get());
        web_client& newer = w.connect(s);
        newer.send(s.get());
        newer.gone();
        w.advance(600s);
        CHECK(w.sessions() == 1);
        older.gone();
    }
    w.advance(60s - 2 * w.tick());
    CHECK(w.sessions() == 1);
    w.advance(4 * w.tick());
    CHECK(w.sessions() == 0);
    CHECK(w.ask(s, s.call("9", "echo")) == 404);
    CHECK(w.ask(s, s.get()) == 404);
    CHECK(w.ask(s, s.end()) == 404);
}

TEST_CASE("H14: every request restarts the idle timeout of its session") {
    web w(short_lived());
    http_session s = w.open_session();
    for (int i = 0; i < 10; ++i) {
        w.advance(50s);
        CHECK(w.ask(s, s.post(notification_line("notifications/initialized"))) == 202);
    }
    CHECK(w.sessions() == 1);
    w.advance(60s + 2 * w.tick());
    CHECK(w.sessions() == 0);
}

TEST_CASE("H4: a deleted session leaves nothing behind") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    constexpr int rounds = 20000;
    std::string initialize = http_post(initialize_body("2025-11-25"));
    std::size_t timers = w.loop->timers();
    for (int i = 0; i < rounds; ++i) {
        c.wire->feed(initialize);
        w.run();
        seen_output opened = read_answers(c.wire->take_output(), false);
        REQUIRE(opened.answers.size() == 1);
        http_session one{opened.answers[0].header("mcp-session-id"), "2025-11-25"};
        c.wire->feed(one.end());
        c.wire->feed(one.call("1", "echo"));
        w.run();
        seen_output ended = read_answers(c.wire->take_output(), false);
        REQUIRE(ended.answers.size() == 2);
        REQUIRE(ended.answers[0].status == 200);
        REQUIRE(ended.answers[1].status == 404);
        REQUIRE(w.sessions() == 1);
        REQUIRE(w.loop->timers() == timers);
    }
    CHECK(w.in_flight() == 0);
    c.send(s.call("1", "echo", R"({"at":"still here"})"));
    CHECK(c.said() == "still here");
}

TEST_CASE("H1: a first request that is refused leaves nothing behind") {
    struct refused {
        std::string what;
        std::string request;
        int status;
    };
    std::string call = call_line("1", "echo");
    std::string bad_accept = http_post(initialize_body("2025-11-25"));
    bad_accept.replace(bad_accept.find("application/json, text/event-stream"), 35, "text/html");
    std::string bad_type = http_post(initialize_body("2025-11-25"));
    bad_type.replace(bad_type.find("Content-Type: application/json"), 30, "Content-Type: text/plain");
    http_session nobody{"AAAAAAAAAAAAAAAAAAAAAAAA.0", "2025-11-25"};
    http_session nonsense{"no-such-thing", "2025-11-25"};
    std::vector<refused> kinds = {
        {"method", "PUT /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n", 405},
        {"accept", bad_accept, 406},
        {"content type", bad_type, 415},
        {"origin", http_post(initialize_body("2025-11-25"), "Origin: https://evil.example\r\n"), 403},
        {"size", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999\r\n\r\n", 413},
        {"parse", http_post("{oops"), 400},
        {"not an object", http_post("17"), 400},
        {"a batch", http_post("[" + initialize_body("2025-11-25") + "]"), 400},
        {"not initialize", http_post(call), 400},
        {"a notification", http_post(notification_line("notifications/initialized")), 400},
        {"initialize without params", http_post(request_line("1", "initialize")), 200},
        {"initialize with bad params", http_post(request_line("1", "initialize", R"({"protocolVersion":7})")), 200},
        {"unknown version header", http_post(initialize_body("2025-11-25"), "MCP-Protocol-Version: 1999-01-01\r\n"),
         400},
        {"unknown session", nobody.post(call), 404},
        {"unknown session, GET", nobody.get(), 404},
        {"unknown session, DELETE", nobody.end(), 404},
        {"no such session", nonsense.post(call), 404},
        {"initialize in an unknown session", nobody.post(initialize_body("2025-11-25")), 404},
        {"GET without a session", "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", 400},
        {"DELETE without a session", "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
    };
    web w;
    http_session s = w.open_session();
    std::size_t came = w.handlers.came();
    for (const refused& kind : kinds) {
        INFO(kind.what);
        web_client* c = nullptr;
        for (int i = 0; i < 10000; ++i) {
            if (!c || c->wire->closed()) {
                w.forget_clients();
                c = &w.connect();
            }
            c->wire->feed(kind.request);
            w.run();
            std::string said = c->wire->take_output();
            REQUIRE(said.starts_with("HTTP/1.1 " + std::to_string(kind.status)));
            REQUIRE(said.find("session-id:") == std::string::npos);
            REQUIRE(said.find("Session-Id:") == std::string::npos);
            if (kind.status == 200) REQUIRE(said.find("\"error\"") != std::string::npos);
            REQUIRE(w.sessions() == 1);
            if (said.find("Connection: close") != std::string::npos && !c->wire->closed()) c->gone();
        }
        if (!c->wire->closed()) c->gone();
        CHECK(w.streams() == 0);
        CHECK(w.in_flight() == 0);
    }
    CHECK(w.handlers.came() == came);
    w.advance(2 * w.tick());
    CHECK(w.loop->timers() == 1);  // the timer of the one session
    CHECK(w.ask(s, s.call("1", "echo")) == 200);
}

TEST_CASE("H3: DELETE ends calls and streams at once, without waiting for them") {
    web_settings how;
    bool json = false;
    SUBCASE("streams and pending answers") {}
    SUBCASE("JSON only") {
        how.http.answers = http_options::answer_form::json;
        json = true;
    }
    web w(how);
    http_session s = w.open_session();
    http_session other = w.open_session();
    web_client& pending = w.connect(s);
    pending.send(s.call("1", "hold", R"({"at":"a"})"));
    web_client& talking = w.connect(s);
    talking.send(s.call("2", "talk", R"({"at":"a"})", "\"t\""));
    web_client& slow = w.connect(s);
    slow.send(s.call("3", "tidy", R"({"at":"a"})"));
    web_client& general = w.connect(s);
    general.send(s.get());
    web_client& elsewhere = w.connect(other);
    elsewhere.send(other.call("1", "hold", R"({"at":"b"})"));
    CHECK(w.at("a").came == 3);

    CHECK(w.ask(s, s.end()) == 200);
    CHECK(w.at("a").cancelled == 3);
    CHECK(w.handlers.here() == 2);  // the one that cleans up, and the one of the other session
    CHECK(pending.status() == 404);
    CHECK(pending.last().complete);
    CHECK(slow.status() == 404);
    CHECK(talking.last().complete);
    if (json) CHECK(talking.status() == 404);
    else CHECK(talking.said_all() == lines{"progress 1"});
    CHECK(general.last().complete);
    CHECK(w.ask(s, s.call("4", "echo")) == 404);
    CHECK(w.ask(s, s.get()) == 404);
    CHECK(w.ask(s, s.end()) == 404);

    w.open("tidying");
    CHECK(w.handlers.here() == 1);
    w.open("b");
    CHECK(elsewhere.said() == "held b");
    // Their connections stay open.
    pending.send(other.call("5", "echo", R"({"at":"again"})"));
    CHECK(pending.said() == "again");
}

TEST_CASE("B19: a cancel affects requests of its own session only") {
    web w;
    http_session s = w.open_session();
    http_session other = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("5", "hold", R"({"at":"a"})"));
    web_client& d = w.connect(other);
    d.send(other.call("5", "hold", R"({"at":"b"})"));
    CHECK(w.ask(s, s.post(cancel_line("6"))) == 202);
    CHECK(w.ask(s, s.post(cancel_line("\"5\""))) == 202);
    CHECK(w.at("a").cancelled == 0);
    CHECK(w.ask(s, s.post(cancel_line("5"))) == 202);
    CHECK(w.at("a").cancelled == 1);
    CHECK(w.at("b").cancelled == 0);
    CHECK(w.ask(s, s.post(cancel_line("5"))) == 202);  // it has ended
    w.open("b");
    CHECK(d.said() == "held b");
    CHECK(w.ask(other, other.post(cancel_line("5"))) == 202);
    CHECK(d.answers() == 1);
    // A request with that id is not affected by the earlier cancel.
    CHECK(w.ask(s, s.call("6", "echo")) == 200);
}

TEST_CASE("only the response to initialize has the header Mcp-Session-Id") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "echo"));
    CHECK(c.status() == 200);
    CHECK(c.last().header("mcp-session-id").empty());
    c.send(s.call("2", "steps", R"({"n":1})", "7"));  // a stream
    CHECK(c.last().stream);
    CHECK(c.last().header("mcp-session-id").empty());
}
