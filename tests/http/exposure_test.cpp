// Where a server listens and what it serves there. Real sockets.

#include "http/embedded_client.hpp"

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

keel::server& exposed() {
    static keel::server s({.name = "exposed", .version = "1"});
    return s;
}

/// The reason why a server with these options does not start on the address; "" if it does.
std::string start_refusal(const std::string& address, http_options options = {}) {
    options.threads = 1;
    http_server web(exposed(), options);
    try {
        web.start(address);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

std::string get_page(const std::string& url, const std::string& path,
                     const std::string& headers = "Host: localhost\r\n") {
    return exchange_all(url, "GET " + path + " HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n");
}

}  // namespace

TEST_CASE("a server on an address that is not loopback does not start without allow_hosts, and says what to add") {
    for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
        const std::string why = start_refusal(address);
        CHECK(why.find("refusing to listen on ") != std::string::npos);
        CHECK(why.find("--allow-host NAME") != std::string::npos);
        CHECK(why.find("--allow-any-host") != std::string::npos);
    }
    for (const char* address : {"127.0.0.1:0", "localhost:0", "0", ":0"}) {
        CAPTURE(address);
        CHECK(start_refusal(address) == "");
    }
    http_options named;
    named.allow_hosts = {"mcp.example.com"};
    CHECK(start_refusal("0.0.0.0:0", named) == "");
    http_options any;
    any.allow_hosts = {"*"};
    CHECK(start_refusal("0.0.0.0:0", any) == "");
}

TEST_CASE("a malformed address is an invalid argument") {
    CHECK(start_refusal("nonsense").find("invalid address \"nonsense\"") != std::string::npos);
    CHECK(start_refusal("127.0.0.1:99999").find("the port must be a number") != std::string::npos);
}

TEST_CASE("allow_hosts decides which Host is served on an address that is not loopback") {
    http_options o;
    o.threads = 1;
    o.allow_hosts = {"mcp.example.com"};
    http_server web(exposed(), o);
    web.start("0.0.0.0:0");
    CHECK(shows(get_page(web.url(), "/", "Host: mcp.example.com\r\n"), "HTTP/1.1 200 "));
    CHECK(shows(get_page(web.url(), "/", "Host: rebound.example\r\n"), "HTTP/1.1 421 "));
    CHECK(shows(get_page(web.url(), "/", "Host: 127.0.0.1\r\n"), "HTTP/1.1 421 "));
    http_options any;
    any.threads = 1;
    any.allow_hosts = {"*"};
    http_server open(exposed(), any);
    open.start("0.0.0.0:0");
    CHECK(shows(get_page(open.url(), "/", "Host: anything.example\r\n"), "HTTP/1.1 200 "));
}

TEST_CASE("with monitor_address, /health and /metrics are served there only, with any Host") {
    http_options o;
    o.threads = 1;
    o.monitor_address = "127.0.0.1:0";
    http_server web(exposed(), o);
    CHECK(web.monitor_url() == "");
    web.start("127.0.0.1:0");
    for (const char* page : {"/health", "/metrics"}) {
        CAPTURE(page);
        CHECK(shows(get_page(web.monitor_url(), page, "Host: balancer.internal\r\n"), "HTTP/1.1 200 "));
        CHECK(shows(get_page(web.url(), page), "HTTP/1.1 404 "));
    }
    CHECK(shows(get_page(web.monitor_url(), "/"), "HTTP/1.1 404 "));
    CHECK(shows(get_page(web.monitor_url(), "/mcp"), "HTTP/1.1 404 "));
    CHECK(shows(get_page(web.url(), "/"), "HTTP/1.1 200 "));
}

TEST_CASE("with identify_monitor, /health and /metrics need authentication") {
    http_options o;
    o.threads = 1;
    o.identify = [](const http_request& r) -> std::optional<std::string> {
        if (r.header("Authorization") != "Bearer good") return std::nullopt;
        return "scraper";
    };
    const std::string good = "Host: localhost\r\nAuthorization: Bearer good\r\n";
    {
        http_server web(exposed(), o);
        web.start("127.0.0.1:0");
        CHECK(shows(get_page(web.url(), "/metrics"), "HTTP/1.1 200 "));  // not by default
    }
    o.identify_monitor = true;
    SUBCASE("on the address of the server") {}
    SUBCASE("on an address of their own") { o.monitor_address = "127.0.0.1:0"; }
    http_server web(exposed(), o);
    web.start("127.0.0.1:0");
    const std::string at = o.monitor_address.empty() ? web.url() : web.monitor_url();
    for (const char* page : {"/health", "/metrics"}) {
        CAPTURE(page);
        CHECK(shows(get_page(at, page), "HTTP/1.1 401 "));
        CHECK(shows(get_page(at, page, good), "HTTP/1.1 200 "));
    }
}

TEST_CASE("F8: connections beyond the quota of an address get 429; the monitor address is not counted") {
    http_options o;
    o.threads = 2;
    o.monitor_address = "127.0.0.1:0";
    o.limits.max_connections_per_client = 2;
    http_server web(exposed(), o);
    web.start("127.0.0.1:0");
    const std::string page = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    {
        socket_client one(web.url());
        socket_client two(web.url());
        CHECK(shows(one.ask(page), "HTTP/1.1 200 "));
        CHECK(shows(two.ask(page), "HTTP/1.1 200 "));
        const std::string third = socket_client(web.url()).read_all();  // refused without its request
        CHECK(shows(third, "HTTP/1.1 429 "));
        CHECK(shows(third, "\r\nRetry-After: 5\r\n"));
        CHECK(shows(third, "\r\nConnection: close\r\n"));
        CHECK(shows(get_page(web.monitor_url(), "/health"), "HTTP/1.1 200 "));
        CHECK(shows(one.ask(page), "HTTP/1.1 200 "));
    }
    // Both are closed; the server notices it soon.
    while (!shows(get_page(web.url(), "/"), "HTTP/1.1 200 ")) std::this_thread::yield();
}

TEST_CASE("behind a trusted proxy, connections have no quota by its address") {
    http_options o;
    o.threads = 1;
    o.trusted_proxies = {"127.0.0.0/8"};
    o.limits.max_connections_per_client = 1;
    http_server web(exposed(), o);
    web.start("127.0.0.1:0");
    const std::string page = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket_client one(web.url());
    socket_client two(web.url());
    CHECK(shows(one.ask(page), "HTTP/1.1 200 "));
    CHECK(shows(two.ask(page), "HTTP/1.1 200 "));
}
