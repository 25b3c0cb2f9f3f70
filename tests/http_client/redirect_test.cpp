#include "http_client/exchange.hpp"

using namespace keel;
using keel::test::exchange;
using keel::test::heard;
using namespace std::chrono_literals;

namespace {

std::string to(int status, std::string_view location, std::string_view rest = "Content-Length: 0\r\n\r\n") {
    return "HTTP/1.1 " + std::to_string(status) + " Moved\r\nLocation: " + std::string(location) + "\r\n" +
           std::string(rest);
}

}  // namespace

TEST_CASE("307 and 308 are followed with method and body, on the same connection") {
    for (int status : {307, 308}) {
        exchange x;
        heard h;
        http_client::transfer_request what = exchange::post("body");
        what.headers = {{"Authorization", "Bearer x"}};
        auto id = x.start(h, std::move(what));
        x.wires[0]->take_output();
        x.feed(0, to(status, "/new"));
        CHECK(h.status == 0);
        CHECK(!x.pool->unsent(id));
        CHECK(x.wires[0]->take_output() ==
              "POST /new HTTP/1.1\r\nHost: 127.0.0.1:8848\r\nAuthorization: Bearer x\r\nContent-Length: 4\r\n\r\nbody");
        x.feed(0, exchange::ok());
        CHECK(h.outcome == "end");
        CHECK(h.status == 200);
        CHECK(x.wires.size() == 1);
        CHECK(x.pool->count().idle == 1);
    }
}

TEST_CASE("301, 302 and 303 are followed for GET, and delivered for other methods") {
    for (int status : {301, 302, 303}) {
        exchange x;
        heard get;
        x.start(get, exchange::get("/a/b"));
        x.wires[0]->take_output();
        x.feed(0, to(status, "c"));
        CHECK(x.wires[0]->take_output().starts_with("GET /a/c HTTP/1.1\r\n"));
        x.feed(0, exchange::ok());
        CHECK(get.outcome == "end");
        heard post;
        x.start(post);
        x.feed(0, to(status, "/new"));
        CHECK(post.outcome == "end");
        CHECK(post.status == status);
    }
}

TEST_CASE("redirects to other servers and invalid redirects are delivered unchanged") {
    for (std::string_view location : {"http://evil.example/", "http://127.0.0.1:1/", "https://evil.example/",
                                      "//evil.example/x", "javascript:x", "http://127.0.0.1:8848@evil.example/"}) {
        CAPTURE(location);
        exchange x;
        heard h;
        x.start(h);
        x.feed(0, to(307, location, "Content-Length: 2\r\n\r\nhi"));
        CHECK(h.outcome == "end");
        CHECK(h.status == 307);
        CHECK(h.body == "hi");
        CHECK(x.wires.size() == 1);
    }
    exchange x;
    heard h;
    x.start(h);
    x.feed(0, "HTTP/1.1 307 Moved\r\nContent-Length: 0\r\n\r\n");
    CHECK(h.status == 307);
}

TEST_CASE("at most max_redirects redirects are followed") {
    exchange x({.max_redirects = 3});
    heard h;
    x.start(h);
    for (int i = 0; i != 3; ++i) {
        CHECK(h.outcome.empty());
        x.feed(0, to(307, "/round"));
    }
    CHECK(h.outcome.empty());
    x.feed(0, to(307, "/round"));
    CHECK(h.status == 307);
    CHECK(h.outcome == "end");
}

TEST_CASE("the body of a redirect is discarded, if it is short") {
    exchange x;
    heard h;
    x.start(h, exchange::post("body"));
    bool same = true;
    SUBCASE("a body") { x.feed(0, to(307, "/new", "Content-Length: 5\r\n\r\nhello")); }
    SUBCASE("chunks") { x.feed(0, to(307, "/new", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")); }
    SUBCASE("a body that arrives later: a new connection is used meanwhile") {
        x.feed(0, to(307, "/new", "Content-Length: 5\r\n\r\nhel"));
        CHECK(x.wires.size() == 2);
        x.feed(0, "lo");
        CHECK(!x.wires[0]->closed());
        CHECK(x.pool->count().idle == 1);
        same = false;
    }
    SUBCASE("a body that never arrives") {
        x.feed(0, to(307, "/new", "Content-Length: 5\r\n\r\nhel"));
        x.loop->advance(4s);
        CHECK(x.wires[0]->closed());
        same = false;
    }
    SUBCASE("a large body") {
        x.feed(0, to(307, "/new", "Content-Length: 500000\r\n\r\nhel"));
        CHECK(x.wires[0]->closed());
        same = false;
    }
    SUBCASE("an endless body") {
        x.feed(0, to(307, "/new", "Transfer-Encoding: chunked\r\n\r\n"));
        for (int i = 0; i != 100; ++i) x.feed(0, "400\r\n" + std::string(1024, 'x') + "\r\n");
        CHECK(x.wires[0]->closed());
        same = false;
    }
    SUBCASE("close") {
        x.feed(0, to(307, "/new", "Connection: close\r\nContent-Length: 0\r\n\r\n"));
        CHECK(x.wires[0]->closed());
        same = false;
    }
    SUBCASE("a body up to the end of the connection") {
        x.feed(0, to(307, "/new", "\r\nhel"));
        CHECK(x.wires[0]->closed());
        same = false;
    }
    SUBCASE("garbage") {
        x.feed(0, to(307, "/new", "Transfer-Encoding: chunked\r\n\r\nzzz"));
        CHECK(x.wires[0]->closed());
        same = false;
    }
    CHECK(h.outcome.empty());
    const std::size_t wire = same ? 0 : 1;
    REQUIRE(x.wires.size() == wire + 1);
    CHECK(x.wires[wire]->output().ends_with("\r\n\r\nbody"));
    x.feed(wire, exchange::ok());
    CHECK(h.outcome == "end");
    CHECK(h.body == "hi");
}

TEST_CASE("a redirect before the request was written is followed on another connection") {
    exchange x;
    x.prepare = [&](test::script& s) {
        if (x.wires.empty()) s.accept(50);
    };
    heard h;
    x.start(h, exchange::post(std::string(1000, 'x')));
    x.feed(0, to(307, "/new"));
    CHECK(x.wires[0]->closed());
    REQUIRE(x.wires.size() == 2);
    CHECK(x.wires[1]->output().ends_with("\r\n\r\n" + std::string(1000, 'x')));
    x.feed(1, exchange::ok());
    CHECK(h.outcome == "end");
}

TEST_CASE("a redirected transfer fails once, like any other") {
    exchange x;
    heard h;
    auto id = x.start(h, exchange::post("body"));
    SUBCASE("lost") {
        x.feed(0, to(307, "/new"));
        x.eof(0);
        CHECK(h.outcome == "lost");
    }
    SUBCASE("without a second connection") {
        x.dial_failure = "refused";
        x.feed(0, to(307, "/new", "Connection: close\r\nContent-Length: 0\r\n\r\n"));
        CHECK(h.outcome == "not_sent");
    }
    SUBCASE("cancelled while it waits for another connection") {
        x.hold_dials = true;
        x.feed(0, to(307, "/new", "Connection: close\r\nContent-Length: 0\r\n\r\n"));
        x.pool->cancel(id);
        x.let_one_dial_go_on();
        CHECK(h.outcome.empty());
        CHECK(x.wires[1]->output().empty());
    }
    CHECK(x.pool->count().active == 0);
}

TEST_CASE("from http to https of the same host: another connection, and no credentials") {
    exchange x({.url = "http://user:secret@example.com/mcp"});
    heard h;
    http_client::transfer_request what = exchange::post("body");
    what.headers = {{"Cookie", "a=b"}, {"Accept", "x"}};
    x.start(h, std::move(what));
    CHECK(x.wires[0]->output().find("Authorization: Basic ") != std::string::npos);
    x.feed(0, to(308, "https://example.com/mcp"));
    REQUIRE(x.dialed.size() == 2);
    CHECK(x.dialed[1] == "example.com:443");
    CHECK(x.wires[1]->output().starts_with("\x16\x03"));  // the start of a TLS handshake
    CHECK(x.reports.size() == 1);
    CHECK(x.reports[0].find("secret") == std::string::npos);
    x.feed(1, "HTTP/1.1 200 OK\r\n\r\n");
    CHECK(h.outcome == "not_sent");
    CHECK(x.pool->count().idle == 1);
}

TEST_CASE("after an interim response during the write, a redirect still has the body") {
    exchange x({.write_stall = 30s});
    x.prepare = [&](test::script& s) {
        if (x.wires.empty()) s.accept(50);
    };
    heard h;
    const std::string body(1000, 'x');
    x.start(h, exchange::post(body));
    x.feed(0, "HTTP/1.1 100 Continue\r\n\r\n");
    x.wires[0]->resume();
    x.loop->run();
    CHECK(x.wires[0]->take_output().ends_with("\r\n\r\n" + body));
    x.feed(0, to(307, "/new"));
    REQUIRE(x.wires.size() == 1);
    const std::string again = x.wires[0]->take_output();
    CHECK(again.starts_with("POST /new HTTP/1.1\r\n"));
    CHECK(again.ends_with("Content-Length: 1000\r\n\r\n" + body));
    x.feed(0, exchange::ok());
    CHECK(h.outcome == "end");
    CHECK(h.status == 200);
}
