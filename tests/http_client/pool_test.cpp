#include "http_client/exchange.hpp"

using namespace keel;
using keel::test::exchange;
using keel::test::heard;
using namespace std::chrono_literals;

TEST_CASE("a request is one write, and its response is parsed from one read") {
    exchange x;
    heard h;
    http_client::transfer_request what = exchange::post(R"({"a":1})");
    what.headers = {{"Content-Type", "application/json"}, {"X-One", "1"}};
    x.start(h, std::move(what));
    REQUIRE(x.wires.size() == 1);
    CHECK(x.dialed == std::vector<std::string>{"127.0.0.1:8848"});
    CHECK(x.wires[0]->writes() == 1);
    CHECK(x.wires[0]->take_output() ==
          "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8848\r\nContent-Type: application/json\r\nX-One: 1\r\n"
          "Content-Length: 7\r\n\r\n{\"a\":1}");
    x.feed(0, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Two:  two \r\nContent-Length: 2\r\n\r\nhi");
    CHECK(h.outcome == "end");
    CHECK(h.status == 200);
    CHECK(h.body == "hi");
    CHECK(h.pieces == 1);
    CHECK(h.headers ==
          http_client::header_list{{"content-type", "text/plain"}, {"x-two", "two"}, {"content-length", "2"}});
    http_client::response_view view{200, &h.headers};
    CHECK(view.header("x-two") == "two");
    CHECK(view.header("x-three").empty());
    CHECK(view.has("content-type"));
    CHECK(!view.has("Content-Type"));
}

TEST_CASE("the connection is told to expect more input only while a response is incomplete") {
    exchange x;
    heard h;
    x.start(h);
    std::string response = exchange::ok("body");
    x.feed(0, response.substr(0, 10));
    CHECK(x.wires[0]->more_expected() == 1);
    x.feed(0, response.substr(10, response.size() - 12));
    CHECK(x.wires[0]->more_expected() == 2);
    x.feed(0, response.substr(response.size() - 2));
    CHECK(h.outcome == "end");
    CHECK(x.wires[0]->more_expected() == 2);
    heard whole;
    x.start(whole);
    x.feed(0, response);
    CHECK(whole.outcome == "end");
    CHECK(x.wires[0]->more_expected() == 2);
}

TEST_CASE("a connection is reused, without a timer or a new connection for each request") {
    exchange x;
    heard first;
    x.start(first);
    x.feed(0, exchange::ok());
    const std::size_t timers = x.loop->timers();
    for (int i = 0; i != 100; ++i) {
        heard h;
        x.start(h);
        x.wires[0]->take_output();
        x.feed(0, exchange::ok("again"));
        CHECK(h.outcome == "end");
        CHECK(h.body == "again");
    }
    CHECK(x.wires.size() == 1);
    CHECK(x.wires[0]->writes() == 101);
    CHECK(x.loop->timers() == timers);
    CHECK(timers == 1);
    CHECK(x.pool->count().opened == 1);
    CHECK(x.pool->count().idle == 1);
}

TEST_CASE("a request that is started in the on_end of another is sent immediately on the same connection") {
    exchange x;
    heard first;
    heard second;
    first.at_end = [&] {
        x.pool->start(exchange::post("2"), second);
        CHECK(x.wires[0]->output().ends_with("\r\n\r\n2"));
    };
    x.start(first);
    x.feed(0, exchange::ok());
    x.feed(0, exchange::ok("two"));
    CHECK(second.body == "two");
    CHECK(x.wires.size() == 1);
}

TEST_CASE("the connection limit holds: other transfers wait in order") {
    exchange x({.max_connections = 2});
    heard h[5];
    for (heard& each : h) x.start(each, exchange::post(std::to_string(&each - h)));
    CHECK(x.wires.size() == 2);
    CHECK(x.pool->count().waiting == 3);
    CHECK(x.pool->count().active == 2);
    x.wires[0]->take_output();
    x.feed(0, exchange::ok());
    CHECK(x.wires[0]->take_output().ends_with("\r\n\r\n2"));
    x.feed(0, exchange::ok());
    CHECK(x.wires[0]->take_output().ends_with("\r\n\r\n3"));
    x.wires[1]->take_output();
    x.feed(1, exchange::ok());
    CHECK(x.wires[1]->take_output().ends_with("\r\n\r\n4"));
    x.feed(0, exchange::ok());
    x.feed(1, exchange::ok());
    for (heard& each : h) CHECK(each.outcome == "end");
    CHECK(x.wires.size() == 2);
}

TEST_CASE("the queue is bounded") {
    exchange x({.max_connections = 1});
    x.hold_dials = true;
    std::vector<std::unique_ptr<heard>> all;
    for (int i = 0; i != 4096; ++i) {
        all.push_back(std::make_unique<heard>());
        x.pool->start(exchange::post(), *all.back());
    }
    heard more;
    x.pool->start(exchange::post(), more);
    CHECK(more.outcome.empty());
    x.loop->run();
    CHECK(more.outcome == "not_sent");
    CHECK(all.back()->outcome.empty());
}

TEST_CASE("an idle connection is closed when the server sends data, closes it or it fails") {
    exchange x;
    heard first;
    x.start(first);
    x.feed(0, exchange::ok());
    REQUIRE(x.pool->count().idle == 1);
    SUBCASE("sends data") { x.feed(0, "HTTP/1.1 408 Request Timeout\r\n\r\n"); }
    SUBCASE("closes") { x.eof(0); }
    SUBCASE("fails") {
        x.wires[0]->fail_read(104);
        x.loop->run();
    }
    CHECK(x.wires[0]->closed());
    CHECK(x.pool->count().connections == 0);
    heard second;
    x.start(second);
    REQUIRE(x.wires.size() == 2);
    x.feed(1, exchange::ok("new"));
    CHECK(second.body == "new");
}

TEST_CASE("an expired idle connection is not reused") {
    exchange x({.idle_timeout = 4s});
    heard first;
    x.start(first);
    std::string headers;
    duration usable = 4s;
    SUBCASE("after our own timeout") {}
    SUBCASE("after the server's timeout, less one second") {
        headers = "Keep-Alive: timeout=3, max=100\r\n";
        usable = 2s;
    }
    SUBCASE("after our own timeout if the server's is longer") { headers = "Keep-Alive: timeout=60\r\n"; }
    x.feed(0, exchange::ok("hi", headers));
    x.loop->advance(usable - 1ms);
    CHECK(!x.wires[0]->closed());
    x.loop->advance(1ms);
    CHECK(x.wires[0]->closed());
    heard second;
    x.start(second);
    CHECK(x.wires.size() == 2);
}

TEST_CASE("a server with a keep-alive time of a second or less gets a new connection each time") {
    exchange x;
    heard h;
    x.start(h);
    x.feed(0, exchange::ok("hi", "Keep-Alive: timeout=1\r\n"));
    CHECK(h.outcome == "end");
    CHECK(x.wires[0]->closed());
}

TEST_CASE("Connection: close and HTTP/1.0 are respected") {
    exchange x;
    heard h;
    x.start(h);
    bool stays = false;
    SUBCASE("close") { x.feed(0, exchange::ok("hi", "Connection: close\r\n")); }
    SUBCASE("close in a list") { x.feed(0, exchange::ok("hi", "Connection: x, CLOSE\r\n")); }
    SUBCASE("close in a second header") { x.feed(0, exchange::ok("hi", "Connection: x\r\nConnection: close\r\n")); }
    SUBCASE("1.0") { x.feed(0, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"); }
    SUBCASE("1.0 with keep-alive") {
        x.feed(0, "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi");
        stays = true;
    }
    SUBCASE("more than the response") { x.feed(0, exchange::ok("hi") + "H"); }
    SUBCASE("a 204 with a length") {
        x.feed(0, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n");
        h.body = "hi";
    }
    CHECK(h.outcome == "end");
    CHECK(h.body == "hi");
    CHECK(x.wires[0]->closed() == !stays);
    CHECK(x.pool->count().idle == (stays ? 1u : 0u));
}

TEST_CASE("an early response is delivered, and the connection is not reused") {
    exchange x({.write_stall = 30s});
    x.prepare = [](test::script& s) { s.accept(60); };
    heard h;
    x.start(h, exchange::post(std::string(100000, 'x')));
    CHECK(h.outcome.empty());
    x.feed(0, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
    CHECK(h.outcome == "end");
    CHECK(h.status == 413);
    CHECK(h.body == "big");
    CHECK(x.wires[0]->closed());
}

TEST_CASE("a request that is written in pieces continues when the socket is writable") {
    exchange x({.write_stall = 30s});
    x.prepare = [](test::script& s) { s.accept(10); };
    heard h;
    auto id = x.start(h, exchange::post(std::string(500, 'x')));
    CHECK(!x.pool->unsent(id));
    for (int i = 0; i != 5; ++i) {
        x.loop->advance(29s);
        x.wires[0]->accept(10);
        x.loop->run();
        CHECK(h.outcome.empty());
    }
    x.wires[0]->resume();
    x.loop->run();
    CHECK(x.wires[0]->output().ends_with("\r\n\r\n" + std::string(500, 'x')));
    x.loop->advance(1h);  // the pool has no response timeout; callers have
    CHECK(h.outcome.empty());
    x.feed(0, exchange::ok());
    CHECK(h.outcome == "end");
    CHECK(x.pool->count().idle == 1);
}

TEST_CASE("a server that reads nothing for write_stall has lost the request") {
    exchange x({.write_stall = 30s});
    x.prepare = [](test::script& s) { s.accept(10); };
    heard h;
    x.start(h, exchange::post(std::string(500, 'x')));
    x.loop->advance(30s - 1ms);
    CHECK(h.outcome.empty());
    x.loop->advance(1ms);
    CHECK(h.outcome == "lost");
    CHECK(h.why == "the server read nothing of the request for 30 s");
    CHECK(x.wires[0]->closed());
}

TEST_CASE("an invalid request is reported later, and nothing is sent") {
    exchange x;
    http_client::transfer_request what = exchange::post();
    SUBCASE("a line break in a header") { what.headers = {{"X", "a\r\nEvil: 1"}}; }
    SUBCASE("a NUL in a header") { what.headers = {{"X", std::string("a\0b", 3)}}; }
    SUBCASE("an invalid header name") { what.headers = {{"X Y", "a"}}; }
    SUBCASE("an empty name") { what.headers = {{"", "a"}}; }
    SUBCASE("a Content-Length header") { what.headers = {{"content-length", "1"}}; }
    SUBCASE("a Host header") { what.headers = {{"Host", "example.com"}}; }
    SUBCASE("a path with a space") { what.path = "/a b"; }
    SUBCASE("a path with a line break") { what.path = "/a\r\nX: y"; }
    SUBCASE("an invalid path") { what.path = "mcp"; }
    SUBCASE("a fragment") { what.path = "/mcp#x"; }
    SUBCASE("a method with a space") { what.method = "GET /x"; }
    SUBCASE("CONNECT") { what.method = "CONNECT"; }
    heard h;
    auto id = x.pool->start(std::move(what), h);
    CHECK(h.outcome.empty());
    CHECK(x.pool->unsent(id));
    x.loop->run();
    CHECK(h.outcome == "not_sent");
    CHECK(x.wires.empty());
}

TEST_CASE("HEAD, GET and DELETE have no Content-Length; the path may differ from the URL") {
    exchange x;
    heard h;
    http_client::transfer_request what = exchange::get("/other?x=1");
    what.method = "HEAD";
    x.start(h, std::move(what));
    CHECK(x.wires[0]->take_output() == "HEAD /other?x=1 HTTP/1.1\r\nHost: 127.0.0.1:8848\r\n\r\n");
    x.feed(0, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    CHECK(h.outcome == "end");
    CHECK(h.body.empty());
    CHECK(x.pool->count().idle == 1);
}

TEST_CASE("the pool reports its counts and origin") {
    exchange x({.url = "HTTPS://User:Secret@EXAMPLE.com:443/a?b#c"});
    CHECK(x.pool->origin() == "https://example.com");
    CHECK(x.pool->path() == "/a?b");
    CHECK_THROWS_AS(exchange({.url = "ftp://example.com"}), std::invalid_argument);
}

TEST_CASE("the user and password of the URL become a header, unless there is one") {
    exchange x({.url = "http://us%20er:pa%3Ass@127.0.0.1/"});
    heard h;
    x.start(h, exchange::get());
    CHECK(x.wires[0]->take_output() ==
          "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic dXMgZXI6cGE6c3M=\r\n\r\n");
    x.feed(0, exchange::ok());
    heard other;
    http_client::transfer_request what = exchange::get();
    what.headers = {{"authorization", "Bearer x"}};
    x.start(other, std::move(what));
    CHECK(x.wires[0]->take_output() == "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nauthorization: Bearer x\r\n\r\n");
}

TEST_CASE("idle connections can be closed while transfers continue") {
    exchange x;
    heard a;
    heard b;
    x.start(a);
    x.start(b);
    x.feed(0, exchange::ok());
    x.pool->close_idle();
    CHECK(x.wires[0]->closed());
    CHECK(x.pool->count().connections == 1);
    x.feed(1, exchange::ok("b"));
    CHECK(b.body == "b");
}

TEST_CASE("open streams do not use up the connection limit") {
    exchange x({.max_connections = 2});
    std::vector<std::unique_ptr<heard>> streams;
    for (int i = 0; i != 5; ++i) {
        streams.push_back(std::make_unique<heard>());
        http_client::transfer_request what = exchange::post("listen");
        what.lasting = true;
        x.start(*streams.back(), std::move(what));
    }
    CHECK(x.wires.size() == 5);
    heard first;
    heard second;
    heard third;
    x.start(first);
    x.start(second);
    x.start(third);
    CHECK(x.wires.size() == 7);
    CHECK(x.pool->count().waiting == 1);
    x.feed(5, exchange::ok());
    CHECK(first.outcome == "end");
    x.feed(5, exchange::ok());
    CHECK(third.outcome == "end");
    // The connections beyond the limit are closed with their streams.
    for (std::size_t i = 0; i != 5; ++i) x.feed(i, exchange::ok());
    for (const auto& each : streams) CHECK(each->outcome == "end");
}

TEST_CASE("urgent requests get a few connections beyond the limit and overtake others") {
    exchange x({.max_connections = 2});
    heard busy[2];
    heard usual[2];
    heard urgent[6];
    auto in_a_hurry = [](std::string body) {
        http_client::transfer_request what = exchange::post(std::move(body));
        what.urgent = true;
        return what;
    };
    for (heard& each : busy) x.start(each);
    for (heard& each : urgent) {
        x.start(each, in_a_hurry("u" + std::to_string(&each - urgent)));
        if (&each != &urgent[3]) continue;
        for (heard& other : usual) x.start(other, exchange::post("n" + std::to_string(&other - usual)));
    }
    REQUIRE(x.wires.size() == 6);
    for (std::size_t i = 0; i != 4; ++i) {
        CHECK(x.wires[2 + i]->output().ends_with("\r\n\r\nu" + std::to_string(i)));
    }
    CHECK(x.pool->count().waiting == 4);
    // A connection that becomes free goes to these in their order first, and then to the others.
    for (const char* next : {"u4", "u5", "n0", "n1"}) {
        x.wires[0]->take_output();
        x.feed(0, exchange::ok());
        CHECK(x.wires[0]->take_output().ends_with(std::string("\r\n\r\n") + next));
    }
    for (std::size_t i = 0; i != 6; ++i) x.feed(i, exchange::ok());
    for (heard& each : busy) CHECK(each.outcome == "end");
    for (heard& each : usual) CHECK(each.outcome == "end");
    for (heard& each : urgent) CHECK(each.outcome == "end");
}

TEST_CASE("connections beyond the limit stay reserved for urgent requests") {
    exchange x({.max_connections = 2});
    std::vector<std::unique_ptr<heard>> usual;
    auto start = [&](bool urgent) -> heard& {
        usual.push_back(std::make_unique<heard>());
        http_client::transfer_request what = exchange::post("x");
        what.urgent = urgent;
        x.start(*usual.back(), std::move(what));
        return *usual.back();
    };
    for (int i = 0; i != 10; ++i) start(false);
    CHECK(x.wires.size() == 2);
    CHECK(x.pool->count().waiting == 8);
    for (int i = 0; i != 6; ++i) {
        heard& urgent = start(true);
        CHECK(x.wires.size() == 3);  // the one of the first transfer
        x.feed(2, exchange::ok());
        CHECK(urgent.outcome == "end");
        CHECK(x.pool->count().waiting == 8);
    }
    // The others continue.
    for (int i = 0; i != 10; ++i) x.feed(static_cast<std::size_t>(i % 2), exchange::ok());
    CHECK(x.pool->count().waiting == 0);
    for (const auto& each : usual) CHECK(each->outcome == "end");
}
