// Connections that break: while a request arrives, while it runs, and after every byte of its response. On 2026-07-28
// that cancels the request; on older revisions it does not.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

enum class way : unsigned char { eof, reset, hangup };
constexpr way all_ways[] = {way::eof, way::reset, way::hangup};

void break_off(web_client& c, way how) {
    switch (how) {
        case way::eof: return c.wire->eof();
        case way::reset: return c.wire->fail_read(104);
        case way::hangup: return c.wire->hangup();
    }
}

/// Names of the same length, so that responses have the same length.
std::string place_of(std::size_t n) { return "p" + std::to_string(10000 + n); }
std::string at_place(const std::string& place) { return R"({"at":")" + place + R"("})"; }

web_settings json_only() {
    web_settings how;
    how.http.answers = http_options::answer_form::json;
    return how;
}

}  // namespace

TEST_CASE("E14: a truncated request leaves nothing behind") {
    web w;
    http_session s = w.open_session();
    std::size_t came = w.handlers.came();
    for (bool modern : {true, false}) {
        std::string request =
            modern ? modern_call("1", "hold", at_place("never")) : s.call("1", "hold", at_place("never"));
        for (std::size_t n = 0; n < request.size(); ++n) {
            for (way how : all_ways) {
                web_client& c = w.connect(s);
                if (n > 0) c.feed(request.substr(0, n));
                w.run();
                break_off(c, how);
                w.run();
                REQUIRE(c.wire->destroyed());
                REQUIRE(c.wire->bytes_taken() == 0);
            }
            w.forget_clients();
        }
    }
    CHECK(w.handlers.came() == came);
    CHECK(w.sessions() == 1);
    CHECK(!w.logged("error"));
    CHECK(!w.logged("warning"));
}

TEST_CASE("I2, HTTP-11: a 2026-07-28 call is cancelled when its client closes the stream, at any point") {
    web w;
    web_client& bystander = w.connect();
    bystander.send(modern_call("1", "hold", at_place("bystander")));
    std::size_t n = 0;
    for (way how : all_ways) {
        for (int point = 0; point < 4; ++point) {
            INFO("point " << point);
            std::string place = place_of(++n);
            web_client& c = w.connect();
            c.later(modern_call("1", "hold", at_place(place), "\"t\""));
            if (point == 0) break_off(c, how);  // before the handler has sent anything
            w.run();
            if (point >= 1) {
                if (point >= 2) w.on_loop([&] { w.context_at(place).progress(1); });
                if (point >= 3) w.on_loop([&] { w.context_at(place).progress(2); });
                break_off(c, how);
                w.run();
            }
            CHECK(w.at(place).cancelled == w.at(place).came);
            CHECK(c.wire->destroyed());
            CHECK(c.last().complete == false);
            std::size_t written = c.wire->bytes_taken();
            if (w.at(place).came > 0) w.on_loop([&] { w.context_at(place).progress(9); });
            w.open(place);
            CHECK(c.wire->bytes_taken() == written);
            CHECK(w.handlers.here() == 1);
        }
    }
    w.open("bystander");
    CHECK(bystander.said() == "held bystander");
}

TEST_CASE("I3: closing the connection cancels a 2026-07-28 call that would be answered as JSON") {
    for (bool only_json : {false, true}) {
        web w(only_json ? json_only() : web_settings());
        for (way how : all_ways) {
            std::string place = place_of(static_cast<std::size_t>(how));
            web_client& c = w.connect();
            c.send(modern_call("1", "hold", at_place(place)));
            break_off(c, how);
            w.run();
            CHECK(w.at(place).cancelled == 1);
            CHECK(c.wire->bytes_taken() == 0);
            CHECK(c.wire->destroyed());
            CHECK(w.in_flight() == 0);
        }
        web_client& next = w.connect();
        next.send(modern_call("1", "echo", at_place("served as before")));
        CHECK(next.said() == "served as before");
    }
}

TEST_CASE("I2, B15: the cleanup of a cancelled 2026-07-28 handler is awaited, within the grace time") {
    web w;
    web_client& c = w.connect();
    c.send(modern_call("1", "tidy", at_place("a")));
    c.gone();
    CHECK(w.at("a").cancelled == 1);
    CHECK(w.handlers.here() == 1);
    SUBCASE("in time") {
        w.open("tidying");
        CHECK(w.handlers.here() == 0);
        CHECK(w.host->health().abandoned == 0);
    }
    SUBCASE("not in time") {
        w.advance(2s);
        CHECK(w.in_flight() == 0);
        CHECK(w.host->health().abandoned == 1);
        w.open("tidying");
        CHECK(w.handlers.here() == 0);
    }
    web_client& next = w.connect();
    next.send(modern_call("1", "echo", at_place("served as before")));
    CHECK(next.said() == "served as before");
}

TEST_CASE("I11: a listen ends in the turn in which its connection breaks") {
    for (way how : all_ways) {
        web w;
        web_client& c = w.connect();
        c.send(modern_listen("1", R"({"toolsListChanged":true})"));
        CHECK(w.streams() == 1);
        break_off(c, how);
        w.run();
        CHECK(c.wire->destroyed());
        CHECK(w.streams() == 0);
        CHECK(w.in_flight() == 0);
        std::size_t written = c.wire->bytes_taken();
        w.host->add_tool("late", "", [] { return "x"; }, {.quick = true});
        w.advance(1s);
        CHECK(c.wire->bytes_taken() == written);
    }
}

TEST_CASE("C6, I2: a write error after any byte of a 2026-07-28 answer is handled") {
    for (std::string tool : {"talk", "hold"}) {  // a stream, and JSON
        web w;
        web_client& dry = w.connect();
        dry.send(modern_call("1", tool, at_place(place_of(9999)), "\"t\""));
        std::size_t first = dry.wire->bytes_taken();  // written before the handler continues
        w.open(place_of(9999));
        CHECK(dry.last().complete);
        std::size_t size = dry.wire->bytes_taken();
        for (std::size_t n = 0; n <= size; ++n) {
            INFO(tool << " after " << n << " of " << size);
            std::string place = place_of(n);
            web_client& c = w.connect();
            c.wire->fail_write_after(n, 32);
            c.send(modern_call("1", tool, at_place(place), "\"t\""));
            bool early = n < first;
            CHECK(w.at(place).cancelled == (early ? 1 : 0));
            CHECK(c.wire->destroyed() == early);
            w.open(place);
            CHECK(w.at(place).cancelled == (early ? 1 : 0));
            CHECK(c.wire->destroyed() == (n < size));
            CHECK(c.wire->bytes_taken() == n);
            CHECK(c.last().complete == (n == size));
            CHECK(w.handlers.here() == 0);
            CHECK(w.in_flight() == 0);
            if (n < size) w.forget_clients();
        }
    }
}

TEST_CASE("C6, H6, H7: a write error after any byte of a legacy answer is handled") {
    for (std::string tool : {"talk", "hold"}) {
        web_settings how;
        how.http.limits.max_events = 0;  // resume_test.cpp tests the other case
        web w(how);
        http_session s = w.open_session();
        web_client& dry = w.connect(s);
        dry.send(s.call("1", tool, at_place(place_of(9999)), "\"t\""));
        w.open(place_of(9999));
        CHECK(dry.last().complete);
        std::size_t size = dry.wire->bytes_taken();
        for (std::size_t n = 0; n <= size; ++n) {
            INFO(tool << " after " << n << " of " << size);
            std::string place = place_of(n);
            web_client& c = w.connect(s);
            c.wire->fail_write_after(n, 32);
            c.send(s.call("1", tool, at_place(place), "\"t\""));
            CHECK(w.at(place).cancelled == 0);
            w.open(place);
            CHECK(w.at(place).cancelled == 0);
            CHECK(c.wire->destroyed() == (n < size));
            CHECK(c.wire->bytes_taken() == n);
            CHECK(w.handlers.here() == 0);
            CHECK(w.in_flight() == 0);
            if (n < size) w.forget_clients();
        }
        CHECK(w.sessions() == 1);
    }
}

TEST_CASE("H6: a legacy call continues when its connection breaks, at any point") {
    web w;
    std::size_t n = 0;
    for (way how : all_ways) {
        for (int point = 0; point < 4; ++point) {
            INFO("point " << point);
            http_session s = w.open_session();
            std::string place = place_of(++n);
            web_client& c = w.connect(s);
            c.later(s.call("1", "hold", at_place(place), "\"t\""));
            if (point == 0) break_off(c, how);
            w.run();
            if (point >= 1) {
                if (point >= 2) w.on_loop([&] { w.context_at(place).progress(1); });
                if (point >= 3) w.on_loop([&] { w.context_at(place).progress(2); });
                break_off(c, how);
                w.run();
            }
            CHECK(w.at(place).cancelled == 0);
            if (point == 0 && w.at(place).came == 0) continue;  // it disconnected before the request was read
            auto undeliverable = w.core->counters.undeliverable.load();
            w.open(place);
            CHECK(w.handlers.here() == 0);
            seen_answer got = c.last();
            if (how == way::eof) {
                // After a half-close it still gets its response.
                CHECK(got.complete);
                CHECK(c.said() == "held " + place);
                CHECK(c.wire->destroyed());
            } else if (got.events.empty()) {
                CHECK(w.core->counters.undeliverable == undeliverable + 1);
            } else {
                web_client& d = w.connect(s);
                d.send(s.get(got.events.back().id));
                CHECK(d.said() == "held " + place);
            }
        }
    }
}

TEST_CASE("C1, I4: a legacy client that half-closes after several requests gets all answers, however slowly it reads") {
    web w;
    http_session s = w.open_session();
    for (std::size_t room : {std::size_t(0), std::size_t(10), std::size_t(400)}) {
        INFO("it takes " << room << " bytes at first");
        std::string place = place_of(room);
        web_client& c = w.connect(s);
        c.wire->accept(room);
        c.later(s.call("1", "hold", at_place(place)));
        c.later(s.call("2", "echo", R"({"at":"second"})"));
        c.later(s.call("3", "echo", R"({"at":"third"})"));
        c.wire->eof();
        w.run();
        w.open(place);
        c.wire->resume();
        w.run();
        CHECK(c.said_all() == lines{"held " + place, "second", "third"});
        CHECK(c.wire->destroyed());
    }
}
