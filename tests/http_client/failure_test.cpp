#include "http_client/exchange.hpp"

// Every point at which a connection can fail: exactly one outcome, of the right kind. `heard` checks that there is no second one.

using namespace keel;
using keel::test::exchange;
using keel::test::heard;
using namespace std::chrono_literals;

namespace {

enum class blow { reset, end, hang_up };
constexpr blow blows[] = {blow::reset, blow::end, blow::hang_up};

void strike(exchange& x, std::size_t wire, blow how) {
    switch (how) {
        case blow::reset: x.wires[wire]->fail_read(104); break;
        case blow::end: x.wires[wire]->eof(); break;
        case blow::hang_up: x.wires[wire]->hangup(); break;
    }
    x.loop->run();
}

const std::string sized = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello";
const std::string chunked =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
    "chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: "
    "1\r\n\r\n";
const std::string until_close = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\nhello";

}  // namespace

TEST_CASE("a response that ends early at any byte is lost; a complete one is not") {
    for (const std::string& response : {sized, chunked}) {
        for (std::size_t n = 0; n <= response.size(); ++n) {
            for (blow how : blows) {
                CAPTURE(n);
                exchange x;
                heard h;
                x.start(h);
                if (n > 0) x.feed(0, response.substr(0, n));
                strike(x, 0, how);
                CHECK(h.outcome == (n == response.size() ? "end" : "lost"));
                if (n == response.size()) CHECK(h.body == "hello");
                CHECK(x.wires[0]->closed());
                CHECK(x.wires.size() == 1);  // the request is not repeated
                CHECK(x.pool->count().connections == 0);
                x.loop->advance(1h);
                CHECK(x.loop->timers() == 0);
            }
        }
    }
}

TEST_CASE("a response without a length is complete when the server closes, and lost when the connection fails") {
    const std::size_t head = until_close.find("\r\n\r\n") + 4;
    for (std::size_t n = 0; n <= until_close.size(); ++n) {
        for (blow how : blows) {
            CAPTURE(n);
            exchange x;
            heard h;
            x.start(h);
            if (n > 0) x.feed(0, until_close.substr(0, n));
            strike(x, 0, how);
            CHECK(h.outcome == (n >= head && how == blow::end ? "end" : "lost"));
            CHECK(h.body == (n >= head ? until_close.substr(head, n - head) : ""));
        }
    }
}

TEST_CASE("the result does not depend on how a response is split, and the connection is reused") {
    for (const std::string& response : {sized, chunked}) {
        for (std::size_t n = 1; n < response.size(); ++n) {
            CAPTURE(n);
            exchange x;
            heard h;
            x.start(h);
            x.feed(0, response.substr(0, n));
            x.feed(0, response.substr(n));
            CHECK(h.outcome == "end");
            CHECK(h.body == "hello");
            CHECK(x.pool->count().idle == 1);
        }
        exchange x;
        heard h;
        x.start(h);
        for (char c : response) x.feed(0, std::string(1, c));
        CHECK(h.outcome == "end");
        CHECK(h.body == "hello");
    }
}

TEST_CASE("an invalid byte anywhere in a response is one failure, or part of the body") {
    for (const std::string& response : {sized, chunked}) {
        for (std::size_t n = 0; n < response.size(); ++n) {
            CAPTURE(n);
            exchange x;
            heard h;
            x.start(h);
            if (n > 0) x.feed(0, response.substr(0, n));
            x.feed(0, std::string("\0\xff\x01garbage\n\n\n", 13));
            strike(x, 0, blow::reset);
            CHECK(!h.outcome.empty());
            const bool in_body = h.body.find('\0') != std::string::npos;
            CHECK((h.outcome == "malformed" || (in_body && (h.outcome == "end" || h.outcome == "lost"))));
            CHECK(x.pool->count().connections == 0);
        }
    }
}

TEST_CASE("a request that fails while it is written") {
    const std::size_t whole = [] {
        exchange x;
        heard h;
        x.start(h, exchange::post("hello"));
        return x.wires[0]->bytes_taken();
    }();
    for (std::size_t n = 0; n <= whole; ++n) {
        CAPTURE(n);
        exchange x;
        x.prepare = [n](test::script& s) { s.fail_write_after(n, 32); };
        heard h;
        x.start(h, exchange::post("hello"));
        if (n == whole) {
            CHECK(h.outcome.empty());
            x.feed(0, sized);
            CHECK(h.outcome == "end");
        } else {
            CHECK(h.outcome == (n == 0 ? "not_sent" : "lost"));
            CHECK(x.wires.size() == 1);
        }
    }
}

TEST_CASE("a request that is interrupted by the server while it is written") {
    for (std::size_t n : {0u, 1u, 20u, 60u}) {
        for (blow how : blows) {
            CAPTURE(n);
            exchange x;
            x.prepare = [n](test::script& s) { s.accept(n); };
            heard h;
            auto id = x.start(h, exchange::post(std::string(1000, 'x')));
            CHECK(x.pool->unsent(id) == (n == 0));
            strike(x, 0, how);
            CHECK(h.outcome == (n == 0 ? "not_sent" : "lost"));
            CHECK(x.wires.size() == 1);
        }
    }
}

TEST_CASE("an idle connection that accepts no byte is replaced: nothing of the request was sent") {
    exchange x;
    heard first;
    x.start(first);
    x.feed(0, sized);
    x.wires[0]->take_output();
    x.wires[0]->fail_write_after(0, 32);
    heard second;
    x.start(second, exchange::post("again"));
    REQUIRE(x.wires.size() == 2);
    CHECK(x.wires[0]->output().empty());
    CHECK(x.wires[1]->output().ends_with("\r\n\r\nagain"));
    x.feed(1, sized);
    CHECK(second.outcome == "end");
}

TEST_CASE("an idle connection that fails before the first byte of the response has lost the request: no retry") {
    for (blow how : blows) {
        exchange x;
        heard first;
        x.start(first);
        x.feed(0, sized);
        heard second;
        x.start(second);
        strike(x, 0, how);
        CHECK(second.outcome == "lost");
        CHECK(x.wires.size() == 1);
    }
}

TEST_CASE("a server that sends data before the request has answered nothing") {
    exchange x;
    x.prepare = [](test::script& s) { s.accept(0); };
    heard h;
    x.start(h);
    x.feed(0, sized);
    CHECK(h.outcome == "not_sent");
}

TEST_CASE("a failed connection attempt is one failure for each waiting transfer") {
    exchange x;
    x.hold_dials = true;
    heard a;
    heard b;
    x.start(a);
    x.start(b);
    CHECK(x.dialed.size() == 2);
    x.dial_failure = "refused";
    x.let_one_dial_go_on();
    CHECK(a.outcome == "not_sent");
    CHECK(a.why == "cannot connect to http://127.0.0.1:8848: refused");
    CHECK(b.outcome.empty());
    x.dial_failure.clear();
    x.let_one_dial_go_on();
    x.feed(0, sized);
    CHECK(b.outcome == "end");
}

TEST_CASE("an attempt that fails immediately is reported later") {
    exchange x;
    x.dial_failure = "refused";
    heard h;
    auto id = x.pool->start(exchange::post(), h);
    CHECK(h.outcome.empty());
    CHECK(x.pool->unsent(id));
    x.loop->run();
    CHECK(h.outcome == "not_sent");
    CHECK(!x.pool->unsent(id));
    CHECK(x.reports.size() == 1);
}

TEST_CASE("an unreachable server costs two rounds of attempts, however many transfers wait") {
    exchange x({.max_connections = 2});
    x.hold_dials = true;
    x.dial_failure = "refused";
    std::vector<heard> all(50);
    for (heard& each : all) x.start(each);
    CHECK(x.dialed.size() == 2);
    while (!x.held.empty()) x.let_one_dial_go_on();
    for (heard& each : all) CHECK(each.outcome == "not_sent");
    CHECK(x.dialed.size() <= 4);
}

TEST_CASE("a connect timeout is not_sent") {
    exchange x({.connect_timeout = 30s});
    x.hold_dials = true;
    heard h;
    x.start(h);
    x.loop->advance(30s - 1ms);
    CHECK(h.outcome.empty());
    x.loop->advance(1ms);
    CHECK(h.outcome == "not_sent");
    CHECK(h.why == "cannot connect to http://127.0.0.1:8848: timed out after 30 s");
    CHECK(x.held.empty());  // the attempt was dropped
}

TEST_CASE("a transfer that was started later gets its own attempt") {
    exchange x({.connect_timeout = 30s});
    x.hold_dials = true;
    heard early;
    x.start(early);
    x.loop->advance(20s);
    heard late;
    x.start(late);
    x.loop->advance(10s);
    CHECK(early.outcome == "not_sent");
    CHECK(late.outcome.empty());
    x.let_one_dial_go_on();
    x.feed(0, sized);
    CHECK(late.outcome == "end");
}
