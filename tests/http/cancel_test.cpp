// A client of an older revision cancels a call whose HTTP exchange is still open.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* cancelled_answer = "error -32800 request cancelled";

}  // namespace

TEST_CASE("B18: a stream without event ids ends without an answer") {
    web_settings how;
    std::string version = "2025-11-25";
    std::size_t said = 1;
    SUBCASE("without an event store") { how.http.limits.max_events = 0; }
    SUBCASE("no event was sent yet") {
        version = "2025-06-18";
        said = 0;
    }
    web w(how);
    http_session s = w.open_session(version);
    web_client& c = w.connect(s);
    c.send(s.call("1", said > 0 ? "talk" : "hold", R"({"at":"a"})", "\"t\""));
    w.advance(20s);
    REQUIRE(c.last().stream);
    for (const seen_event& e : c.last().events) REQUIRE(e.id.empty());
    CHECK(w.ask(s, s.post(cancel_line("1"))) == 202);
    CHECK(w.at("a").cancelled == 1);
    CHECK(c.last().complete);
    CHECK(c.said_all().size() == said);
    CHECK(w.streams() == 0);
    c.send(s.call("2", "echo", R"({"at":"goes on"})"));
    CHECK(c.said() == "goes on");
}

TEST_CASE("B18: a stream with event ids ends with one error, and so does its replay") {
    for (std::string version : {"2025-11-25", "2025-06-18"}) {
        INFO(version);
        web w;
        http_session s = w.open_session(version);
        web_client& c = w.connect(s);
        c.send(s.call("1", "talk", R"({"at":"a"})", "\"t\""));
        CHECK(w.ask(s, s.post(cancel_line("1"))) == 202);
        CHECK(w.at("a").cancelled == 1);
        CHECK(c.last().complete);
        CHECK(c.said_all() == lines{"progress 1", cancelled_answer});
        CHECK(w.streams() == 0);
        web_client& d = w.connect(s);
        d.send(s.get(c.last().events.front().id));
        CHECK(d.said() == cancelled_answer);
        CHECK(d.last().complete);
        // A second cancel, and messages of the handler, have no effect.
        CHECK(w.ask(s, s.post(cancel_line("1"))) == 202);
        w.on_loop([&w] { w.context_at("a").progress(7); });
        CHECK(c.said_all().size() == 2);
    }
}

TEST_CASE("B18: a cancel while the client is disconnected ends the stream with one error too") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "talk", R"({"at":"a"})", "\"t\""));
    std::string last = c.last().events.back().id;
    c.gone();
    CHECK(w.at("a").cancelled == 0);
    CHECK(w.ask(s, s.post(cancel_line("1"))) == 202);
    CHECK(w.at("a").cancelled == 1);
    web_client& d = w.connect(s);
    d.send(s.get(last));
    CHECK(d.said_all() == lines{cancelled_answer});
    CHECK(d.last().complete);
}

TEST_CASE("B18: a cancelled request with a JSON answer is answered with that error") {
    web_settings how;
    SUBCASE("before the response is a stream") {}
    SUBCASE("JSON only") { how.http.answers = http_options::answer_form::json; }
    web w(how);
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", R"({"at":"a"})"));
    web_client& d = w.connect(s);
    d.send(s.call("2", "tidy", R"({"at":"a"})"));
    CHECK(w.ask(s, s.post(cancel_line("1"))) == 202);
    CHECK(w.ask(s, s.post(cancel_line("2"))) == 202);
    for (web_client* each : {&c, &d}) {
        CHECK(each->status() == 200);
        CHECK(!each->last().stream);
        CHECK(each->said() == cancelled_answer);
        CHECK(each->last().complete);
    }
    CHECK(w.handlers.here() == 1);  // it is still cleaning up
    // A9: its id can be used again, and does not affect the old handler.
    d.send(s.call("2", "hold", R"({"at":"b"})"));
    w.open("tidying");
    CHECK(w.handlers.here() == 1);
    CHECK(d.answers() == 1);
    w.open("b");
    CHECK(d.said() == "held b");
}

TEST_CASE("I5: a cancel notification posted in 2026-07-28 is ignored") {
    web w;
    web_client& c = w.connect();
    c.send(modern_call("1", "hold", R"({"at":"a"})"));
    web_client& d = w.connect();
    d.send(modern_call("1", "hold", R"({"at":"a"})"));
    web_client& e = w.connect();
    e.send(modern_post(notification_line("notifications/cancelled", R"({"requestId":1,)" + modern_meta() + "}")));
    CHECK(e.status() == 202);
    w.open("a");
    CHECK(c.said() == "held a");
    CHECK(d.said() == "held a");
}
