#include "http/origin_check.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace keel::http;

namespace {

constexpr std::string_view absent;

/// The status; 0 means allowed.
int ask(const origin_check& check, std::string_view host, std::string_view origin = absent) {
    return origin_check::status_of(check.check(host, origin));
}

}  // namespace

TEST_CASE("HTTP-02 on a loopback address, Host must be a loopback name") {
    const origin_check check;
    for (const char* host : {"localhost", "127.0.0.1", "[::1]", "localhost:8848", "127.0.0.1:1", "[::1]:65535",
                             "LocalHost:80", "localhost.", "localhost.:8080"}) {
        CAPTURE(host);
        CHECK(ask(check, host) == 0);
    }
    for (const char* host : {"example.com",
                             "evil.localhost",
                             "localhost.evil.com",
                             "127.0.0.1.evil.com",
                             "127.0.0.2",
                             "0.0.0.0",
                             "::1",
                             "[::1",
                             "[::1]x",
                             "[]",
                             "",
                             ":80",
                             ".",
                             "localhost..",
                             ".localhost",
                             "localhost:",
                             "localhost:x",
                             "localhost:65536",
                             "localhost:123456",
                             "localhost:-1",
                             "user@localhost",
                             "localhost/",
                             "localhost localhost",
                             "localhost, evil",
                             "local\thost",
                             "[::1%25lo]",
                             "localhost:80:80"}) {
        CAPTURE(host);
        CHECK(ask(check, host) == 421);
    }
    CHECK(ask(check, absent) == 421);
    CHECK(ask(check, std::string_view("localhost\0", 10)) == 421);
}

TEST_CASE("HTTP-02 HTTP-03 on a loopback address, other origins are refused with 403") {
    const origin_check check;
    for (const char* origin : {"http://localhost", "https://localhost:3000", "http://127.0.0.1:8848", "http://[::1]:1",
                               "HTTP://LOCALHOST"}) {
        CAPTURE(origin);
        CHECK(ask(check, "localhost:8848", origin) == 0);
    }
    for (const char* origin :
         {"http://example.com", "https://localhost.evil.com", "null", "", "localhost", "ftp://localhost",
          "file://localhost", "http://localhost/", "http://localhost#", "http://evil@localhost", "http://localhost:x",
          "http://", "://localhost", "http://localhost, http://localhost", "*", "http:localhost",
          "chrome-extension://localhost"}) {
        CAPTURE(origin);
        CHECK(ask(check, "localhost:8848", origin) == 403);
    }
}

TEST_CASE("HTTP-03 DNS rebinding (wrong Host and Origin) is refused with 403") {
    const origin_check check;
    CHECK(ask(check, "evil.example.com", "http://evil.example.com") == 403);
    CHECK(ask(check, "evil.example.com:8848", "http://evil.example.com:8848") == 403);
    CHECK(ask(check, "evil.example.com", "http://localhost") == 421);
}

TEST_CASE("allow_hosts adds hosts, with any port or with a given one") {
    const origin_check check({.hosts = {"Example.com", "other.com:8080"}});
    CHECK(ask(check, "example.COM") == 0);
    CHECK(ask(check, "example.com.:99") == 0);
    CHECK(ask(check, "other.com:8080") == 0);
    CHECK(ask(check, "localhost:1") == 0);
    CHECK(ask(check, "other.com") == 421);
    CHECK(ask(check, "other.com:80800") == 421);
    CHECK(ask(check, "sub.example.com") == 421);
    // A page from one of our hosts.
    CHECK(ask(check, "example.com", "https://example.com") == 0);
    CHECK(ask(check, "example.com", "https://example.com:444") == 403);
    CHECK(ask(check, "localhost", "https://example.com") == 403);
}

TEST_CASE("allow_origins adds origins; the default port equals an explicit one") {
    const origin_check check({.origins = {"https://app.example.com", "http://dev:3000"}});
    CHECK(ask(check, "localhost", "https://app.example.com") == 0);
    CHECK(ask(check, "localhost", "https://App.example.com:443") == 0);
    CHECK(ask(check, "localhost", "http://dev:3000") == 0);
    CHECK(ask(check, "localhost", "http://app.example.com") == 403);
    CHECK(ask(check, "localhost", "https://app.example.com:8443") == 403);
    CHECK(ask(check, "localhost", "http://dev") == 403);
    CHECK(ask(check, "localhost", "null") == 403);
    CHECK(ask(check, "localhost", "http://localhost") == 0);
    CHECK(ask(check, "app.example.com", "https://app.example.com") == 421);
    CHECK(ask(origin_check({.origins = {"null"}}), "localhost", "null") == 0);
    CHECK(ask(origin_check({.origins = {"null"}}), "localhost", "http://example.com") == 403);
    const origin_check all({.origins = {"*"}});
    CHECK(ask(all, "localhost", "null") == 0);
    CHECK(ask(all, "localhost", "http://example.com") == 0);
    CHECK(ask(all, "example.com", "http://example.com") == 421);
}

TEST_CASE("on a public address that accepts every host, Origin must equal Host") {
    const origin_check check({.loopback = false, .hosts = {"*"}});
    CHECK(ask(check, "example.com") == 0);
    CHECK(ask(check, absent) == 0);
    CHECK(ask(check, "exa mple") == 421);
    CHECK(ask(check, "example.com", "http://example.com") == 0);
    CHECK(ask(check, "example.com", "https://example.com") == 0);
    CHECK(ask(check, "example.com:8080", "http://example.com:8080") == 0);
    CHECK(ask(check, "example.com:443", "https://example.com") == 0);
    CHECK(ask(check, "example.com:8080", "http://example.com") == 403);
    CHECK(ask(check, "example.com", "http://other.com") == 403);
    CHECK(ask(check, "example.com", "http://localhost") == 403);
    CHECK(ask(check, "example.com", "null") == 403);
    CHECK(ask(check, absent, "http://example.com") == 403);
}

TEST_CASE("on a public address without allow_hosts, no host is accepted") {
    const origin_check check({.loopback = false});
    CHECK(ask(check, "example.com") == 421);
    CHECK(ask(check, "localhost") == 421);
    CHECK(ask(check, absent) == 421);
}

TEST_CASE("on a public address with allow_hosts, only these hosts are accepted") {
    const origin_check check({.loopback = false, .hosts = {"example.com"}});
    CHECK(ask(check, "example.com:80") == 0);
    CHECK(ask(check, "localhost") == 421);
    CHECK(ask(check, absent) == 421);
    CHECK(ask(origin_check({.loopback = false, .hosts = {"*"}}), "anything") == 0);
    CHECK(ask(origin_check({.hosts = {"*"}}), absent) == 0);
    CHECK(ask(origin_check({.hosts = {"*"}}), "a/b") == 421);
}

TEST_CASE("a request with two origins is refused; the host of an absolute target takes precedence") {
    const origin_check check;
    request_reader reader;
    reader.feed("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\norigin: http://localhost\r\n\r\n");
    CHECK(check.check(reader.get()) == origin_check::verdict::bad_origin);
    reader.next();
    reader.feed("GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(check.check(reader.get()) == origin_check::verdict::bad_host);
    reader.next();
    reader.feed("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n");
    CHECK(check.check(reader.get()) == origin_check::verdict::fine);
    reader.next();
    reader.feed("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin:\r\n\r\n");
    CHECK(check.check(reader.get()) == origin_check::verdict::bad_origin);
}

TEST_CASE("invalid allow_hosts and allow_origins entries are refused when the server starts") {
    for (const char* host : {"", "http://example.com", "a b", "example.com:x"}) {
        CHECK_THROWS_AS(origin_check({.hosts = {host}}), std::invalid_argument);
    }
    for (const char* origin : {"", "example.com", "https://example.com/", "ftp://example.com"}) {
        CHECK_THROWS_AS(origin_check({.origins = {origin}}), std::invalid_argument);
    }
}

TEST_CASE("CORS headers are sent only if enabled, and only to allowed origins") {
    const auto headers = [](const origin_check& check, std::string_view origin) {
        std::string out;
        check.append_cors(out, origin);
        return out;
    };
    CHECK(headers(origin_check({.origins = {"https://app.example.com"}}), "https://app.example.com") == "");
    const origin_check check({.origins = {"https://app.example.com"}, .cors = true});
    CHECK(headers(check, "https://app.example.com") ==
          "Vary: Origin\r\nAccess-Control-Allow-Origin: https://app.example.com\r\n"
          "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n");
    CHECK(headers(check, "http://localhost") == "Vary: Origin\r\n");
    CHECK(headers(check, absent) == "Vary: Origin\r\n");
    CHECK(headers(origin_check({.origins = {"*"}, .cors = true}), "https://any.com") ==
          "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n");
}

TEST_CASE("a preflight response lists the allowed headers") {
    const origin_check check({.origins = {"https://a.com"}, .cors = true});
    std::string out;
    check.append_preflight(out, "https://a.com",
                           "content-type, Mcp-Param-Region,x-secret, mcp-param-a\r\nb ,mcp-session-id,,");
    CHECK(out ==
          "Vary: Origin\r\nAccess-Control-Allow-Origin: https://a.com\r\n"
          "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n"
          "Access-Control-Allow-Methods: GET, POST, DELETE\r\nAccess-Control-Max-Age: 600\r\n"
          "Access-Control-Allow-Headers: content-type, mcp-param-region, mcp-session-id\r\n");
    out.clear();
    check.append_preflight(out, "https://b.com", "content-type");
    CHECK(out == "Vary: Origin\r\n");
}

TEST_CASE("HTTP-02 all letters and digits are valid in a host name") {
    const std::string name = "abcdefghijklmnopqrstuvwxyz-0123456789.example";
    origin_rules rules;
    rules.hosts = {name};
    const origin_check check(rules);
    CHECK(ask(check, name) == 0);
    CHECK(ask(check, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789.EXAMPLE") == 0);
    for (const char* host : {"a/b", "a:b", "a`b", "a{b", "a@b"}) {  // the neighbors of letters and digits in ASCII
        CAPTURE(host);
        CHECK(ask(check, host) == 421);
        rules.hosts = {host};
        CHECK_THROWS_AS(origin_check{rules}, std::invalid_argument);
    }
}
