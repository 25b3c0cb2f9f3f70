// What handlers can do to their connection, and when they cannot ask.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

std::string place_of_handler(const std::string& place) { return R"({"at":")" + place + R"("})"; }

}  // namespace

TEST_CASE("F6: a 2026-07-28 handler can close its own connection, and only that") {
    web w;
    web_client& c = w.connect();
    web_client& other = w.connect();
    other.send(modern_call("1", "hold", place_of_handler("b")));
    bool streaming = false;
    SUBCASE("before any output") {}
    SUBCASE("on a stream") { streaming = true; }
    c.send(modern_call("1", streaming ? "talk" : "hold", place_of_handler("a"), "\"t\""));
    w.on_loop([&w] { w.context_at("a").close_connection(); });
    CHECK(w.at("a").cancelled == 1);
    CHECK(c.wire->destroyed());
    CHECK(!c.last().complete);
    CHECK(c.said_all() == (streaming ? lines{"progress 1"} : lines{}));
    w.on_loop([&w] { w.context_at("a").close_connection(); });
    w.open("b");
    CHECK(other.said() == "held b");
}

TEST_CASE("F6: a legacy handler can end its session, and its own request gets no result") {
    web w;
    http_session s = w.open_session();
    http_session other = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", place_of_handler("a")));
    web_client& same = w.connect(s);
    same.send(s.call("2", "talk", place_of_handler("c"), "\"t\""));
    web_client& elsewhere = w.connect(other);
    elsewhere.send(other.call("1", "hold", place_of_handler("b")));
    w.on_loop([&w] { w.context_at("a").close_connection(); });
    CHECK(w.at("a").cancelled == 1);
    CHECK(w.at("c").cancelled == 1);
    CHECK(c.last().complete);
    CHECK(c.said().starts_with("error "));
    CHECK(same.last().complete);
    CHECK(w.sessions() == 1);
    CHECK(w.ask(s, s.call("3", "echo")) == 404);
    w.open("b");
    CHECK(elsewhere.said() == "held b");
}

TEST_CASE("F7: a context may outlive its request, its connection and its server") {
    std::vector<context> kept;
    {
        web w;
        http_session s = w.open_session();
        web_client& c = w.connect(s);
        c.send(s.call("1", "talk", place_of_handler("a"), "\"t\""));
        web_client& d = w.connect();
        d.send(modern_call("1", "talk", place_of_handler("a"), "\"t\""));
        web_client& e = w.connect();
        e.send(modern_call("1", "talk", place_of_handler("b"), "\"t\""));
        kept = w.at("a").contexts;
        kept.push_back(w.context_at("b"));
        REQUIRE(kept.size() == 3);
        w.open("a");
        e.gone();
        std::size_t said = c.wire->bytes_taken() + d.wire->bytes_taken() + e.wire->bytes_taken();
        auto use = [&] {
            for (context& each : kept) {
                each.progress(50);
                each.log(log_level::error, "late");
                each.release_stream(1s);
                CHECK(each.method() == "tools/call");
                CHECK(!each.protocol_version().empty());
            }
        };
        w.on_loop(use);
        CHECK(c.wire->bytes_taken() + d.wire->bytes_taken() + e.wire->bytes_taken() == said);
        CHECK(kept[2].cancelled());
        // An ended request cannot close the connection.
        w.on_loop([&] { kept[1].close_connection(); });
        d.send(modern_call("2", "echo", place_of_handler("still")));
        if (!d.wire->closed()) CHECK(d.said() == "still");
        CHECK(w.ask(s, s.end()) == 200);
        w.on_loop(use);
        w.stop();
        w.on_loop(use);
    }
    for (context& each : kept) {
        each.progress(99);
        each.close_connection();
        CHECK(!each.protocol_version().empty());
    }
}

TEST_CASE("F10: asking the client fails at once if no request can be delivered") {
    web_settings how;
    SUBCASE("JSON only") {
        how.http.answers = http_options::answer_form::json;
        web w(how);
        http_session s = w.open_session();
        web_client& c = w.connect(s);
        c.send(s.call("1", "ask"));
        CHECK(c.last().complete);
        CHECK(c.said() != "0 roots");
        CHECK(w.handlers.here() == 0);
    }
    SUBCASE("without sessions") {
        how.http.stateless = true;
        web w(how);
        web_client& c = w.connect();
        c.send(http_post(call_line("1", "ask"), "MCP-Protocol-Version: 2025-11-25\r\n"));
        CHECK(c.last().complete);
        CHECK(c.said() != "0 roots");
        CHECK(w.handlers.here() == 0);
        CHECK(w.sessions() == 0);
        c.send("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n");
        CHECK(c.status() == 405);
    }
    SUBCASE("2026-07-28, a client that cannot be asked") {
        web w;
        web_client& c = w.connect();
        c.send(modern_call("1", "ask"));
        CHECK(c.last().complete);
        CHECK(c.said() != "0 roots");
        CHECK(w.handlers.here() == 0);
    }
    SUBCASE("2025-11-25, a client that cannot be asked") {
        web w;
        http_session s = w.open_session("2025-11-25", "{}");
        web_client& c = w.connect(s);
        c.send(s.call("1", "ask"));
        CHECK(c.last().complete);
        CHECK(c.said() != "0 roots");
    }
}

TEST_CASE("F10, H6: a call whose stream cannot be resumed cannot ask the client") {
    web_settings how;
    how.http.limits.max_events = 0;
    web w(how);
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", place_of_handler("a")));
    c.gone();
    std::string outcome;
    detail::activity line(*w.loop);
    w.on_loop([&] {
        detail::start(line, w.context_at("a").list_roots(),
                      [&](detail::outcome<std::vector<root>> o) { outcome = o.index() == 1 ? "answered" : "failed"; });
    });
    CHECK(outcome == "failed");
    w.open("a");
}

TEST_CASE("LHTTP-21, H9: a handler releases its stream, and the client resumes it") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "talk", place_of_handler("a"), "\"t\""));
    w.on_loop([&w] { w.context_at("a").release_stream(1500ms); });
    CHECK(c.last().complete);
    CHECK(c.last().events.back().retry == "1500");
    CHECK(w.at("a").cancelled == 0);
    std::string last = c.last().events[1].id;
    c.send(s.get(last));
    w.open("a");
    CHECK(c.last().complete);
    CHECK(c.said_all() == lines{"progress 1", "progress 2", "talked"});
}
