// The address of the client, as the application's hooks see it.

#include "http/web.hpp"

#include <stdexcept>

using namespace keel;
using namespace keel::test;

namespace {

web_settings reporting(std::vector<std::string>& seen, std::vector<std::string> trusted) {
    web_settings how;
    how.http.trusted_proxies = std::move(trusted);
    how.http.identify = [&seen](const http_request& r) -> std::optional<std::string> {
        seen.push_back("identify " + std::string(r.remote_address()));
        return "someone";
    };
    how.http.route = [&seen](const http_request& r) -> std::optional<http_answer> {
        seen.push_back("route " + std::string(r.remote_address()));
        return http_answer{.body = "fine"};
    };
    return how;
}

std::string page(std::string_view headers = "") {
    return "GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\n" + std::string(headers) + "\r\n";
}

}  // namespace

TEST_CASE("hooks see the address of the connection") {
    std::vector<std::string> seen;
    web w(reporting(seen, {}));
    web_client& c = w.connect_from("192.0.2.1");
    c.send(modern_call("1", "echo"));
    CHECK(c.status() == 200);
    c.send(page("X-Forwarded-For: 198.51.100.9\r\n"));  // nobody is trusted
    w.connect_from("2001:db8::1").send(page());
    w.connect().send(page());  // a Unix socket
    CHECK(seen == lines{"identify 192.0.2.1", "route 192.0.2.1", "route 2001:db8::1", "route "});
}

TEST_CASE("hooks see the address that a trusted proxy forwards, for each request of a connection") {
    std::vector<std::string> seen;
    web w(reporting(seen, {"10.0.0.0/8", "unix"}));
    web_client& proxy = w.connect_from("10.0.0.1");
    proxy.send(page("X-Forwarded-For: 198.51.100.9\r\n"));
    proxy.send(page("Forwarded: for=\"[2001:db8::7]:80\"\r\n"));
    proxy.send(page());
    w.connect_from("192.0.2.1").send(page("X-Forwarded-For: 198.51.100.9\r\n"));
    w.connect().send(page("X-Forwarded-For: 198.51.100.9\r\n"));
    CHECK(seen ==
          lines{"route 198.51.100.9", "route 2001:db8::7", "route 10.0.0.1", "route 192.0.2.1", "route 198.51.100.9"});
}

TEST_CASE("a hook sees the forwarded address before the body of the request arrives") {
    std::vector<std::string> seen;
    web w(reporting(seen, {"10.0.0.0/8"}));
    web_client& proxy = w.connect_from("10.0.0.1");
    proxy.feed(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 198.51.100.9\r\nContent-Length: 1000000\r\n\r\n");
    w.run();
    CHECK(seen == lines{"identify 198.51.100.9"});
}

TEST_CASE("an invalid entry in trusted_proxies is refused") {
    server s({.name = "x", .version = "1"});
    http_options o;
    o.trusted_proxies = {"10.0.0.1/8"};
    CHECK_THROWS_WITH_AS(
        http_server(s, o),
        "keel: http_options.trusted_proxies: invalid network \"10.0.0.1/8\": the address has bits after the "
        "prefix; did you mean 10.0.0.0/8?",
        std::invalid_argument);
}
