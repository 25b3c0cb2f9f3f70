// Event streams: keep-alive comments, who gets which message, and GET streams.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// Advances the clock in small steps; returns the longest time without output.
duration longest_silence(web& w, const web_client& c, duration all) {
    duration longest{};
    duration quiet{};
    for (duration passed{}; passed < all; passed += 250ms) {
        std::size_t before = c.wire->bytes_taken();
        w.advance(250ms);
        quiet = c.wire->bytes_taken() > before ? duration{} : quiet + duration(250ms);
        longest = std::max(longest, quiet);
    }
    return longest;
}

/// A notification that every session gets.
void change_something(web& w) {
    static int n = 0;
    w.host->add_tool("new" + std::to_string(++n), "", [] { return "x"; }, {.quick = true});
    w.advance(100ms);
}

}  // namespace

TEST_CASE("HTTP-18: a call without output becomes a stream with keep-alive comments") {
    web w;
    web_client& c = w.connect();
    c.send(modern_call("1", "hold", R"({"at":"a"})"));
    w.advance(14s);
    CHECK(c.wire->bytes_taken() == 0);
    w.advance(1s + w.tick());
    REQUIRE(c.last().stream);
    CHECK(c.status() == 200);
    CHECK(c.last().header("x-accel-buffering") == "no");
    CHECK(c.last().comments == 1);
    CHECK(c.last().events.empty());
    CHECK(longest_silence(w, c, 150s) <= 15s + w.tick());
    CHECK(c.last().comments >= 9);
    CHECK(c.last().comments <= 12);
    w.open("a");
    CHECK(c.said() == "held a");
    CHECK(c.last().complete);
    CHECK(w.streams() == 0);
    c.send(modern_call("2", "echo", R"({"at":"same connection"})"));
    CHECK(c.said() == "same connection");
}

TEST_CASE("HTTP-18: a listen sends a comment at once, and keep-alive comments later") {
    web w;
    web_client& c = w.connect();
    c.send(modern_listen("1", R"({"toolsListChanged":true})"));
    REQUIRE(c.last().stream);
    CHECK(c.last().comments == 1);
    CHECK(c.last().header("x-accel-buffering") == "no");
    CHECK(c.said_all() == lines{"notifications/subscriptions/acknowledged"});
    CHECK(longest_silence(w, c, 120s) <= 15s + w.tick());
    change_something(w);
    CHECK(c.said() == "notifications/tools/list_changed");
    c.gone();
    CHECK(w.streams() == 0);
}

TEST_CASE("H19: every legacy stream sends a comment at once, and keep-alive comments later") {
    for (std::string version : {"2025-11-25", "2025-06-18", "2025-03-26"}) {
        INFO(version);
        web w;
        http_session s = w.open_session(version);
        web_client& general = w.connect(s);
        general.send(s.get());
        CHECK(general.last().stream);
        CHECK(general.last().header("x-accel-buffering") == "no");
        CHECK(general.last().comments == 1);
        web_client& call = w.connect(s);
        call.send(s.call("1", "hold", R"({"at":"a"})"));
        w.advance(14s);
        CHECK(call.wire->bytes_taken() == 0);
        w.advance(1s + w.tick());
        CHECK(call.last().stream);
        CHECK(call.last().comments == 1);
        CHECK(longest_silence(w, call, 90s) <= 15s + w.tick());
        CHECK(longest_silence(w, general, 90s) <= 15s + w.tick());
        w.open("a");
        CHECK(call.said() == "held a");
        CHECK(call.last().complete);
    }
}

TEST_CASE("H19: with JSON-only answers, a call without output sends no comments") {
    web_settings how;
    how.http.answers = http_options::answer_form::json;
    web w(how);
    http_session s = w.open_session();
    web_client& old = w.connect(s);
    old.send(s.call("1", "talk", R"({"at":"a"})", "1"));
    web_client& c = w.connect();
    c.send(modern_call("1", "talk", R"({"at":"a"})", "1"));
    w.advance(300s);
    CHECK(old.wire->bytes_taken() == 0);
    CHECK(c.wire->bytes_taken() == 0);
    w.open("a");
    CHECK(old.said_all() == lines{"talked"});
    CHECK(c.said_all() == lines{"talked"});
    CHECK(!c.last().stream);
}

TEST_CASE("H12, H15: only the newest of several GET streams gets messages") {
    web w;
    http_session s = w.open_session();
    std::vector<web_client*> all;
    for (int i = 0; i < 6; ++i) {
        all.push_back(&w.connect(s));
        all.back()->send(s.get());
        CHECK(all.back()->status() == 200);
    }
    auto heard = [&](std::size_t i) { return all[i]->last().messages().size(); };
    CHECK(w.streams() == 5);
    CHECK(all[0]->last().complete);
    for (std::size_t i = 1; i < 6; ++i) CHECK(!all[i]->last().complete);
    change_something(w);
    for (std::size_t i = 0; i < 5; ++i) CHECK(heard(i) == 0);
    CHECK(heard(5) == 1);
    // If the newest closes, the previous one takes over. If one in the middle closes, nothing changes.
    all[5]->gone();
    all[2]->gone();
    change_something(w);
    CHECK(heard(4) == 1);
    CHECK(heard(3) == 0);
    CHECK(heard(1) == 0);
    all[4]->gone();
    all[3]->gone();
    change_something(w);
    CHECK(heard(1) == 1);
    // The first connection can be used for other requests.
    all[0]->send(s.call("1", "echo", R"({"at":"free"})"));
    CHECK(all[0]->said() == "free");
    CHECK(w.streams() == 1);
}

TEST_CASE("H13: messages without an open stream are stored, or dropped if no events are stored") {
    web_settings how;
    bool kept = true;
    SUBCASE("with an event store") {}
    SUBCASE("without an event store") {
        how.http.limits.max_events = 0;
        kept = false;
    }
    web w(how);
    http_session s = w.open_session();
    change_something(w);
    web_client& c = w.connect(s);
    c.send(s.get());
    CHECK(c.last().messages().empty());
    std::string last = kept ? c.last().events.front().id : "0-1";
    c.gone();
    change_something(w);
    change_something(w);
    web_client& d = w.connect(s);
    d.send(s.get(last));
    if (kept) {
        CHECK(d.said_all() == lines{"notifications/tools/list_changed", "notifications/tools/list_changed"});
        change_something(w);
        CHECK(d.said_all().size() == 3);
    } else {
        CHECK(d.status() == 400);
    }
    CHECK(w.sessions() == 1);
}

TEST_CASE("H20: the answer to a server request is accepted although the stream of the request is closed") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "ask"));
    seen_answer asked = c.last();
    REQUIRE(asked.stream);
    REQUIRE(asked.events.size() == 2);  // the first has only an id
    json::value question = json::parse(asked.events[1].data);
    CHECK(question["method"].as_string() == "roots/list");
    c.gone();
    std::string answer =
        result_line(json::to_string(question["id"]), R"({"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]})");
    CHECK(w.ask(s, s.post(answer)) == 202);
    CHECK(w.handlers.here() == 0);
    CHECK(w.ask(s, s.post(answer)) == 202);  // a second answer is ignored
    web_client& d = w.connect(s);
    d.send(s.get(asked.events[1].id));
    CHECK(d.said() == "2 roots");
    CHECK(d.last().complete);
}

TEST_CASE("H20: an answer in another session is ignored") {
    web w;
    http_session s = w.open_session();
    http_session other = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "ask"));
    json::value question = json::parse(c.last().events.at(1).data);
    std::string answer = result_line(json::to_string(question["id"]), R"({"roots":[]})");
    CHECK(w.ask(other, other.post(answer)) == 202);
    CHECK(w.handlers.here() == 1);
    CHECK(w.ask(s, s.post(answer)) == 202);
    CHECK(c.said() == "0 roots");
}
