#include "http_client/exchange.hpp"

using namespace keel;
using keel::test::exchange;
using keel::test::heard;
using namespace std::chrono_literals;

TEST_CASE("a transfer that is cancelled while it waits is never sent") {
    exchange x({.max_connections = 1});
    heard a;
    heard b;
    x.start(a);
    auto id = x.start(b, exchange::post("b"));
    CHECK(x.pool->unsent(id));
    x.pool->cancel(id);
    x.pool->cancel(id);
    x.wires[0]->take_output();
    x.feed(0, exchange::ok());
    CHECK(x.wires[0]->output().empty());
    CHECK(a.outcome == "end");
    CHECK(b.outcome.empty());
    CHECK(x.pool->count().waiting == 0);
}

TEST_CASE("a transfer that is cancelled while connecting leaves the connection to the next") {
    exchange x;
    x.hold_dials = true;
    heard a;
    auto id = x.start(a);
    x.pool->cancel(id);
    x.let_one_dial_go_on();
    CHECK(x.pool->count().idle == 1);
    CHECK(x.wires[0]->output().empty());
    heard b;
    x.start(b);
    x.feed(0, exchange::ok());
    CHECK(b.outcome == "end");
    CHECK(a.outcome.empty());
    CHECK(x.dialed.size() == 1);
}

TEST_CASE("a sent transfer is cancelled by closing its connection, and the next one gets its place") {
    exchange x({.max_connections = 1});
    heard a;
    heard b;
    auto id = x.start(a);
    x.start(b, exchange::post("b"));
    SUBCASE("before the answer") {}
    SUBCASE("in the head") { x.feed(0, "HTTP/1.1 200 OK\r\nCon"); }
    SUBCASE("in the body") { x.feed(0, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"); }
    x.pool->cancel(id);
    CHECK(x.wires[0]->closed());
    x.loop->run();
    REQUIRE(x.wires.size() == 2);
    CHECK(x.wires[1]->output().ends_with("\r\n\r\nb"));
    x.feed(1, exchange::ok());
    CHECK(a.outcome.empty());
    CHECK(b.outcome == "end");
}

TEST_CASE("a transfer may be cancelled in any of its callbacks") {
    exchange x;
    heard h;
    http_client::transfer_pool::id id = 0;
    auto cancel = [&] { x.pool->cancel(id); };
    std::string body;
    SUBCASE("response") { h.at_response = cancel; }
    SUBCASE("body") {
        h.at_body = cancel;
        body = "hel";
    }
    id = x.start(h);
    x.feed(0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
    CHECK(h.outcome.empty());
    CHECK(h.body == body);
    CHECK(x.wires[0]->closed());
    heard next;
    x.start(next);
    CHECK(x.wires.size() == 2);
}

TEST_CASE("cancelling at the end or afterwards has no effect") {
    exchange x;
    heard h;
    http_client::transfer_pool::id id = 0;
    h.at_end = [&] { x.pool->cancel(id); };
    id = x.start(h);
    x.feed(0, exchange::ok());
    x.pool->cancel(id);
    x.pool->cancel(0);
    x.pool->cancel(4711);
    CHECK(h.outcome == "end");
    CHECK(x.pool->count().idle == 1);
    CHECK(!x.pool->unsent(id));
    x.pool->pause(id, true);
}

TEST_CASE("a failure that is cancelled before its callback is not reported") {
    exchange x;
    x.dial_failure = "refused";
    heard h;
    auto id = x.pool->start(exchange::post(), h);
    x.pool->cancel(id);
    x.loop->run();
    CHECK(h.outcome.empty());
}

TEST_CASE("the pool may be destroyed in any callback") {
    exchange x;
    heard h;
    heard other;
    auto destroy = [&] { x.pool.reset(); };
    std::string outcome;
    bool fails = false;
    SUBCASE("response") { h.at_response = destroy; }
    SUBCASE("body") { h.at_body = destroy; }
    SUBCASE("end") {
        h.at_end = destroy;
        outcome = "end";
    }
    SUBCASE("failure") {
        h.at_end = destroy;
        outcome = "lost";
        fails = true;
    }
    x.start(h);
    x.start(other);
    if (fails) {
        x.wires[0]->fail_read(104);
        x.loop->run();
    } else {
        x.feed(0, exchange::ok());
    }
    CHECK(!x.pool);
    CHECK(h.outcome == outcome);
    for (auto& wire : x.wires) CHECK(wire->destroyed());
    CHECK(x.loop->timers() == 0);
    x.loop->advance(1h);
    CHECK(other.outcome.empty());
}

TEST_CASE("the pool may be destroyed while failures are reported") {
    exchange x({.max_connections = 1});
    x.dial_failure = "refused";
    heard a;
    heard b;
    a.at_end = [&] { x.pool.reset(); };
    x.pool->start(exchange::post(), a);
    x.pool->start(exchange::post(), b);
    x.loop->run();
    CHECK(a.outcome == "not_sent");
    CHECK(b.outcome.empty());
}

TEST_CASE("destroying the pool ends everything without callbacks") {
    exchange x({.max_connections = 2});
    heard h[4];
    x.start(h[0]);
    x.hold_dials = true;
    for (int i = 1; i != 4; ++i) x.start(h[i]);
    CHECK(x.held.size() == 1);
    x.pool.reset();
    CHECK(x.held.empty());
    CHECK(x.wires[0]->destroyed());
    x.loop->advance(1h);
    for (heard& each : h) CHECK(each.outcome.empty());
    CHECK(x.loop->timers() == 0);
}

TEST_CASE("a paused transfer is not read") {
    exchange x;
    heard h;
    auto id = x.start(h);
    x.feed(0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    CHECK(h.status == 200);
    x.pool->pause(id, true);
    CHECK(x.wires[0]->paused());
    x.feed(0, "3\r\nhel\r\n");
    CHECK(h.body.empty());
    x.loop->advance(1h);
    x.pool->pause(id, false);
    CHECK(h.body.empty());  // not inside pause
    x.loop->run();
    CHECK(h.body == "hel");
    CHECK(!x.wires[0]->paused());
    x.feed(0, "2\r\nlo\r\n0\r\n\r\n");
    CHECK(h.outcome == "end");
    CHECK(x.pool->count().idle == 1);
}

TEST_CASE("a transfer that pauses itself in the middle of its input gets the rest later") {
    exchange x;
    heard h;
    http_client::transfer_pool::id id = 0;
    h.at_response = [&] { x.pool->pause(id, true); };
    h.at_body = [&] { x.pool->pause(id, true); };
    id = x.start(h);
    x.feed(0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
    auto go_on = [&] {
        x.pool->pause(id, false);
        x.loop->run();
    };
    CHECK(h.body.empty());
    SUBCASE("without any other event") {
        go_on();
        CHECK(h.body == "hel");
        go_on();
        CHECK(h.body == "hello");
        CHECK(h.outcome.empty());
        go_on();
        CHECK(h.outcome == "end");
        CHECK(x.pool->count().idle == 1);
        CHECK(!x.wires[0]->paused());
        heard next;
        x.start(next);
        x.feed(0, exchange::ok());
        CHECK(next.outcome == "end");
    }
    SUBCASE("then the connection fails: the response was complete") {
        x.wires[0]->hangup();
        x.loop->run();
        CHECK(h.outcome.empty());
        for (int i = 0; i != 3; ++i) go_on();
        CHECK(h.outcome == "end");
        CHECK(h.body == "hello");
        CHECK(x.pool->count().connections == 0);
    }
    SUBCASE("then the connection fails when only the end is missing") {
        go_on();
        go_on();
        x.wires[0]->hangup();
        x.loop->run();
        go_on();
        CHECK(h.outcome == "end");
    }
    SUBCASE("then it is cancelled") {
        x.pool->cancel(id);
        x.loop->run();
        CHECK(h.outcome.empty());
        CHECK(x.wires[0]->closed());
    }
}

TEST_CASE("a connection that fails under a paused transfer") {
    exchange x;
    heard h;
    auto id = x.start(h);
    x.feed(0, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    x.pool->pause(id, true);
    x.wires[0]->hangup();
    x.loop->run();
    CHECK(h.outcome == "lost");
}

TEST_CASE("a transfer that is paused before it has a connection is not read either") {
    exchange x;
    x.hold_dials = true;
    heard h;
    auto id = x.start(h);
    x.pool->pause(id, true);
    x.let_one_dial_go_on();
    x.feed(0, exchange::ok());
    CHECK(h.status == 0);
    x.pool->pause(id, false);
    x.loop->run();
    CHECK(h.outcome == "end");
}

TEST_CASE("many transfers in any order of events: each has one outcome") {
    for (std::uint64_t seed = 1; seed != 200; ++seed) {
        CAPTURE(seed);
        exchange x({.max_connections = 3}, seed);
        std::mt19937_64 random(seed);
        std::vector<heard> all(30);
        std::vector<http_client::transfer_pool::id> ids(all.size());
        std::vector<bool> cancelled(all.size());
        for (std::size_t i = 0; i != all.size(); ++i) ids[i] = x.pool->start(exchange::post(), all[i]);
        for (int turn = 0; turn != 400; ++turn) {
            for (unsigned steps = random() % 4; steps > 0; --steps) x.loop->step();
            if (x.wires.empty()) continue;
            auto& wire = x.wires[random() % x.wires.size()];
            switch (random() % 12) {
                case 0: wire->eof(); break;
                case 1: wire->fail_read(104); break;
                case 2: {
                    std::size_t i = random() % all.size();
                    if (all[i].outcome.empty()) cancelled[i] = true;
                    x.pool->cancel(ids[i]);
                    break;
                }
                case 3: {
                    std::size_t i = random() % all.size();
                    x.pool->pause(ids[i], random() % 3 == 0);
                    break;
                }
                default:
                    if (!wire->take_output().empty()) wire->feed(exchange::ok("hello"));
            }
            CHECK(x.pool->count().connections <= 3);
        }
        for (std::size_t i = 0; i != all.size(); ++i) x.pool->pause(ids[i], false);
        // The remaining requests are answered.
        for (bool some = true; some;) {
            some = false;
            x.loop->run();
            for (auto& wire : x.wires) {
                if (!wire->closed() && !wire->take_output().empty()) {
                    wire->feed(exchange::ok("hello"));
                    some = true;
                }
            }
        }
        for (auto& wire : x.wires) wire->eof();
        x.loop->run();
        for (std::size_t i = 0; i != all.size(); ++i) {
            CAPTURE(i);
            CHECK(all[i].outcome.empty() == cancelled[i]);
            if (all[i].outcome == "end") CHECK(all[i].body == "hello");
        }
        CHECK(x.pool->count().active == 0);
    }
}
