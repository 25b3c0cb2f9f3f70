// Slow readers and overload.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

constexpr int many = 100000;

void say_much(web& w, const std::string& place) {
    w.on_loop([&w, place] {
        for (int i = 1; i <= many; ++i) w.context_at(place).progress(i);
    });
}

}  // namespace

TEST_CASE("J1, J2: a stalled reader costs little memory, and then gets the newest progress and the answer") {
    enum class then : unsigned char { reads_first, ends_first, reads_little };
    for (bool modern : {true, false}) {
        for (then what : {then::reads_first, then::ends_first, then::reads_little}) {
            INFO((modern ? "2026-07-28, " : "2025-11-25, ") << static_cast<int>(what));
            web_settings how;
            how.bounds.out_queue_soft = 64 * 1024;
            web w(how);
            http_session s = w.open_session();
            web_client& c = modern ? w.connect() : w.connect(s);
            web_client& other = modern ? w.connect() : w.connect(s);
            auto call = [&](const char* id, const char* place) {
                std::string arguments = std::string(R"({"at":")") + place + R"("})";
                return modern ? modern_call(id, "hold", arguments, "\"t\"") : s.call(id, "hold", arguments, "\"t\"");
            };
            c.send(call("1", "a"));
            other.send(call("2", "b"));
            c.wire->stall();
            say_much(w, "a");
            // Another stream, of the same session if there is one, is not delayed.
            w.on_loop([&w] { w.context_at("b").progress(1); });
            CHECK(other.said() == "progress 1");
            w.open("b");
            CHECK(other.said() == "held b");
            CHECK(w.ask(s, s.call("3", "echo")) == 200);

            std::size_t before = c.wire->bytes_taken();
            if (what == then::reads_first) {
                c.wire->resume();
                w.run();
                CHECK(c.said() == "progress " + std::to_string(many));
            }
            w.open("a");
            if (what == then::ends_first) {
                c.wire->resume();
                w.run();
            }
            for (int i = 0; i < 200 && !c.last().complete; ++i) {
                c.wire->accept(1000);
                w.advance(1s);
            }
            lines all = c.said_all();
            REQUIRE(all.size() >= 3);
            CHECK(all.back() == "held a");
            CHECK(all[all.size() - 2] == "progress " + std::to_string(many));
            CHECK(c.last().complete);
            // It now got what was queued for it.
            CHECK(c.wire->bytes_taken() - before < how.bounds.out_queue_soft + 2000);
        }
    }
}

TEST_CASE("J1: a reader that stalls forever costs little memory until the write timeout") {
    web w;
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("1", "hold", R"({"at":"a"})", "\"t\""));
    c.wire->stall();
    say_much(w, "a");
    w.advance(30s + 2 * w.tick());
    CHECK(c.wire->destroyed());
    CHECK(w.at("a").cancelled == 0);
    w.open("a");
    CHECK(w.handlers.here() == 0);
}

TEST_CASE("F8, A12: calls beyond the limit of a session are refused at once, and nothing else is affected") {
    web_settings how;
    how.bounds.max_in_flight = 3;
    web w(how);
    http_session s = w.open_session();
    http_session other = w.open_session();
    std::vector<web_client*> running;
    for (const char* id : {"1", "2", "3"}) {
        running.push_back(&w.connect(s));
        running.back()->send(s.call(id, "hold", R"({"at":"a"})"));
    }
    web_client& c = w.connect(s);
    for (int i = 0; i < 1000; ++i) {
        std::string id = std::to_string(100 + i);
        c.send(s.call(id, "hold", R"({"at":"b"})"));
        REQUIRE(c.status() == 503);
        REQUIRE(c.last().header("retry-after") == "1");
        REQUIRE(c.last().body.find("overloaded") != std::string::npos);
        c.check();
        c.wire->take_output();
    }
    CHECK(w.at("b").came == 0);
    c.send(s.post(request_line("7", "ping")));
    CHECK(c.status() == 200);
    CHECK(w.ask(other, other.call("1", "echo")) == 200);
    CHECK(w.ask(s, s.post(cancel_line("2"))) == 202);
    CHECK(running[1]->said() == "error -32800 request cancelled");
    CHECK(w.ask(s, s.call("8", "echo")) == 200);
    w.open("a");
    CHECK(running[0]->said() == "held a");
    CHECK(running[2]->said() == "held a");
}

TEST_CASE("F8: calls beyond the limit of the server are refused, in all revisions") {
    web_settings how;
    how.bounds.max_in_flight_total = 2;
    web w(how);
    http_session s = w.open_session();
    web_client& a = w.connect();
    a.send(modern_call("1", "hold", R"({"at":"a"})"));
    web_client& b = w.connect(s);
    b.send(s.call("1", "hold", R"({"at":"a"})"));
    web_client& c = w.connect();
    c.send(modern_call("1", "hold", R"({"at":"b"})"));
    CHECK(c.status() == 503);
    CHECK(c.last().header("retry-after") == "1");
    CHECK(w.ask(s, s.call("2", "hold", R"({"at":"b"})")) == 503);
    CHECK(w.at("b").came == 0);
    a.gone();
    c.send(modern_call("2", "hold", R"({"at":"a"})"));
    w.open("a");
    CHECK(c.said() == "held a");
    CHECK(b.said() == "held a");
}

TEST_CASE("J4: sessions and streams beyond their limits are refused with 503") {
    web_settings how;
    how.http.limits.max_sessions = 2;
    how.http.limits.max_streams = 2;
    web w(how);
    http_session s = w.open_session();
    http_session second = w.open_session();
    web_client& c = w.connect();
    c.send(http_post(initialize_body("2025-11-25")));
    CHECK(c.status() == 503);
    CHECK(!c.last().header("retry-after").empty());
    CHECK(w.ask(second, second.end()) == 200);
    http_session third = w.open_session();
    web_client& one = w.connect(s);
    one.send(s.get());
    web_client& two = w.connect();
    two.send(modern_listen("1", R"({"toolsListChanged":true})"));
    CHECK(w.streams() == 2);
    CHECK(w.ask(s, s.get()) == 503);
    web_client& three = w.connect();
    three.send(modern_listen("1", R"({"toolsListChanged":true})"));
    CHECK(three.status() == 503);
    two.gone();
    three.send(modern_listen("1", R"({"toolsListChanged":true})"));
    CHECK(three.last().stream);
}

TEST_CASE("H14, J4: clients that only initialize cannot take all sessions") {
    web_settings how;
    how.http.limits.max_sessions = 3;
    how.http.limits.unused_session = 60s;
    web w(how);
    http_session used = w.open_session();
    auto initialize_only = [&] {
        web_client& c = w.connect();
        c.send(http_post(initialize_body("2025-11-25")));
        REQUIRE(c.status() == 200);
        return c.last().header("mcp-session-id");
    };
    auto status_of_ping = [&](const std::string& id) {
        http_session s{id, "2025-11-25"};
        web_client& c = w.connect();
        c.send(s.post(request_line("1", "ping", "{}")));
        return c.status();
    };
    std::string oldest = initialize_only();
    w.advance(2s);
    std::string newer = initialize_only();
    SUBCASE("the oldest unused session makes room for a new one") {
        std::string newest = initialize_only();
        CHECK(w.sessions() == 3);
        CHECK(status_of_ping(oldest) == 404);
        for (const std::string& each : {used.id, newer, newest}) CHECK(status_of_ping(each) == 200);
        web_client& c = w.connect();
        c.send(http_post(initialize_body("2025-11-25")));
        CHECK(c.status() == 503);  // all are in use
        for (const std::string& each : {newer, newest}) {
            c.send(http_session{each, "2025-11-25"}.end());
            CHECK(c.status() == 200);
        }
    }
    SUBCASE("unused sessions expire soon") {
        w.advance(61s);
        CHECK(w.sessions() == 1);
        CHECK(status_of_ping(used.id) == 200);
    }
}
