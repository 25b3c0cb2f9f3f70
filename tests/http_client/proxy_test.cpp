#include "http_client/exchange.hpp"

#include <cstdlib>

using namespace keel;
using keel::test::exchange;
using keel::test::heard;
using namespace std::chrono_literals;

TEST_CASE("http through a proxy: the absolute URL, and its authorization") {
    exchange x({.url = "http://example.com:8080/mcp", .proxy = "http://u:p@proxy.local:3128"});
    heard h;
    x.start(h, exchange::get());
    CHECK(x.dialed == std::vector<std::string>{"proxy.local:3128"});
    CHECK(x.wires[0]->take_output() ==
          "GET http://example.com:8080/mcp HTTP/1.1\r\nHost: example.com:8080\r\nProxy-Authorization: Basic "
          "dTpw\r\n\r\n");
    x.feed(0, exchange::ok());
    CHECK(h.outcome == "end");
    heard again;
    x.start(again);
    CHECK(x.wires.size() == 1);
}

TEST_CASE("https through a proxy: a tunnel with TLS in it") {
    exchange x({.url = "https://example.com/mcp", .proxy = "http://u:p@proxy.local:3128"});
    heard h;
    auto id = x.start(h);
    CHECK(x.dialed == std::vector<std::string>{"proxy.local:3128"});
    CHECK(x.wires[0]->take_output() ==
          "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
    CHECK(x.pool->unsent(id));
    SUBCASE("it opens the tunnel") {
        x.feed(0, "HTTP/1.1 200 Connection established\r\n");
        CHECK(x.wires[0]->output().empty());
        x.feed(0, "Content-Length: 5\r\n\r\n");  // ignored here
        CHECK(x.wires[0]->output().starts_with("\x16\x03"));
        CHECK(h.outcome.empty());
        CHECK(x.pool->unsent(id));
        SUBCASE("which fails during the handshake") {
            x.wires[0]->fail_read(104);
            x.loop->run();
        }
        SUBCASE("which ends during the handshake") { x.eof(0); }
        SUBCASE("which stalls during the handshake") { x.loop->advance(30s); }
        SUBCASE("to a server without TLS") { x.feed(0, "HTTP/1.1 400 Bad Request\r\n\r\n"); }
    }
    SUBCASE("it rejects the request") {
        x.feed(0, "HTTP/1.1 403 Forbidden\r\n\r\n");
        CHECK(h.why.ends_with("the proxy refused the connection with status 403"));
    }
    SUBCASE("it requires another password") {
        x.feed(0, "HTTP/1.1 407 No\r\n\r\n");
        CHECK(h.why.find("407") != std::string::npos);
    }
    SUBCASE("it sends unexpected data") { x.feed(0, "HTTP/1.1 200 OK\r\n\r\nhello"); }
    SUBCASE("it is not a proxy") { x.feed(0, "220 mail.example.com\r\n"); }
    SUBCASE("it closes the connection") { x.eof(0); }
    SUBCASE("it fails") { x.wires[0]->fail_read(104); }
    SUBCASE("it does not answer") { x.loop->advance(30s); }
    SUBCASE("its response is truncated") {
        x.feed(0, "HTTP/1.1 200 O");
        x.eof(0);
    }
    x.loop->run();
    CHECK(h.outcome == "not_sent");
    CHECK(h.why.starts_with("cannot connect to https://example.com through the proxy proxy.local:3128: "));
    CHECK(h.why.find("dTpw") == std::string::npos);
    CHECK(x.wires[0]->closed());
    CHECK(x.pool->count().connections == 0);
}

TEST_CASE("a pool may be destroyed while its tunnel is being opened") {
    exchange x({.url = "https://example.com/mcp", .proxy = "proxy.local:3128"});
    heard h;
    x.start(h);
    SUBCASE("before the proxy has answered") {}
    SUBCASE("during the handshake") { x.feed(0, "HTTP/1.1 200 OK\r\n\r\n"); }
    x.pool.reset();
    CHECK(x.wires[0]->closed());
    x.loop->advance(1h);
    CHECK(x.wires[0]->destroyed());
    CHECK(h.outcome.empty());
}

TEST_CASE("a request to a proxy that is written in pieces") {
    exchange x({.url = "https://example.com/mcp", .proxy = "proxy.local:3128"});
    x.prepare = [](test::script& s) { s.accept(7); };
    heard h;
    x.start(h);
    CHECK(x.wires[0]->output() == "CONNECT");
    x.wires[0]->resume();
    x.loop->run();
    CHECK(x.wires[0]->output().ends_with(":443\r\n\r\n"));
}

TEST_CASE("the environment selects the proxy; an invalid one is an immediate error") {
    http_client::pool_options options{.url = "http://example.com/mcp"};
    options.environment = [](const char* name) {
        return std::string_view(name) == "http_proxy" ? std::optional<std::string>("http://p:1") : std::nullopt;
    };
    exchange x(options);
    heard h;
    x.start(h);
    CHECK(x.dialed == std::vector<std::string>{"p:1"});
    options.proxy = "socks5://p:1";
    CHECK_THROWS_AS(exchange{options}, std::invalid_argument);
}
