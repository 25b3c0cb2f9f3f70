// Pipelining: several requests on one connection.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

std::string echo_of(int i) { return R"({"at":"e)" + std::to_string(i) + R"("})"; }

}  // namespace

TEST_CASE("I4: pipelined requests are answered in order, and cancel nothing") {
    enum class cut : unsigned char { nowhere, everywhere, in_the_second };
    for (bool modern : {true, false}) {
        for (int k : {1, 2, 7, 30}) {
            for (cut where : {cut::nowhere, cut::everywhere, cut::in_the_second}) {
                INFO(k << " requests, cut " << static_cast<int>(where));
                web w;
                http_session s = w.open_session();
                web_client& c = modern ? w.connect() : w.connect(s);
                std::string slow = R"({"at":"a"})";
                std::string all = modern ? modern_call("0", "hold", slow) : s.call("0", "hold", slow);
                lines expected = {"held a"};
                c.expect(all);
                for (int i = 1; i <= k; ++i) {
                    std::string id = std::to_string(i);
                    std::string next = modern ? modern_call(id, "echo", echo_of(i)) : s.call(id, "echo", echo_of(i));
                    c.expect(next);
                    all += next;
                    expected.push_back("e" + std::to_string(i));
                }
                if (where == cut::nowhere) {
                    c.wire->feed(all);
                } else if (where == cut::everywhere) {
                    for (char each : all) c.wire->feed(std::string(1, each));
                } else {
                    std::size_t at = all.find("POST", 10) + 20;
                    c.wire->feed(all.substr(0, at));
                    c.wire->feed(all.substr(at));
                }
                w.run();
                CHECK(c.answers() == 0);
                CHECK(w.at("a").cancelled == 0);
                w.open("a");
                CHECK(c.said_all() == expected);
                CHECK(!c.wire->closed());
            }
        }
    }
}

TEST_CASE("I4: each pipelined request may be slow, and may be answered as a stream") {
    web w;
    web_client& c = w.connect();
    for (int i = 0; i < 10; ++i) {
        c.later(modern_call(std::to_string(i), "talk", R"({"at":"p)" + std::to_string(i) + R"("})", "\"t\""));
    }
    w.run();
    lines expected;
    for (int i = 0; i < 10; ++i) {
        std::string place = "p" + std::to_string(i);
        CHECK(w.at(place).came == 1);
        CHECK(w.at("p" + std::to_string(i + 1)).came == 0);
        w.open(place);
        expected.insert(expected.end(), {"progress 1", "progress 2", "talked"});
        CHECK(c.said_all().size() >= expected.size());
    }
    CHECK(c.said_all() == expected);
}

namespace {

/// The limit of buffered bytes behind a request is 64 KiB here.
web_settings small_bounds() {
    web_settings how;
    how.http.limits.max_head = 4 * 1024;
    how.http.limits.max_body = 60 * 1024;
    return how;
}

}  // namespace

TEST_CASE("I4, J4: beyond a limit reading pauses, and the pipelined requests of a legacy client are read later") {
    web w(small_bounds());
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("0", "hold", R"({"at":"a"})"));
    std::string padding(4000, 'p');
    lines expected = {"held a"};
    for (int i = 1; i <= 60; ++i) {
        std::string text = std::to_string(i) + padding;
        c.later(s.call(std::to_string(i), "echo", R"({"at":")" + text + R"("})"));
        expected.push_back(text);
    }
    w.run();
    CHECK(c.wire->paused());
    CHECK(c.wire->unread() > 40);
    CHECK(c.wire->unread() < 50);
    CHECK(w.at("a").cancelled == 0);
    w.open("a");
    CHECK(!c.wire->paused());
    CHECK(c.wire->unread() == 0);
    CHECK(c.said_all() == expected);
}

TEST_CASE("I4, I3: a 2026-07-28 client may pipeline up to the limit; beyond it the connection is closed") {
    web w(small_bounds());
    web_client& c = w.connect();
    c.send(modern_call("0", "hold", R"({"at":"a"})"));
    for (int i = 0; i < 7; ++i) c.feed(std::string(8 * 1024, 'x'));
    w.run();
    CHECK(w.at("a").cancelled == 0);
    CHECK(!c.wire->paused());
    c.feed(std::string(8 * 1024, 'x'));
    w.run();
    CHECK(w.at("a").cancelled == 1);
    CHECK(c.wire->destroyed());
}

TEST_CASE("H6, C7: a legacy client that disconnects while reading is paused is detected") {
    web w(small_bounds());
    http_session s = w.open_session();
    web_client& c = w.connect(s);
    c.send(s.call("0", "hold", R"({"at":"a"})"));
    for (int i = 0; i < 20; ++i) c.feed(std::string(8000, 'x'));
    w.run();
    CHECK(c.wire->paused());
    c.wire->hangup();
    w.run();
    CHECK(c.wire->destroyed());
    CHECK(w.at("a").cancelled == 0);
    w.open("a");
    CHECK(w.handlers.here() == 0);
}

TEST_CASE("I4, J1: requests of a client that does not read its answers are not dispatched without limit") {
    web w;
    web_client& c = w.connect();
    c.wire->accept(100);
    std::size_t before = w.host->health().requests;
    for (int i = 0; i < 2000; ++i) {
        c.later(modern_call(std::to_string(i), "big", R"({"n":10000})"));
    }
    w.run();
    // Twenty megabytes of responses that the client does not read: they are not all produced in advance.
    CHECK(w.host->health().requests - before < 900);  // 8 MiB of 10,000 bytes each
    c.wire->resume();
    w.run();
    CHECK(w.host->health().requests - before == 2000);
    CHECK(c.answers() == 2000);
}
