#include "http_common/forwarded.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace keel::test {

namespace {

using http::header;
using http::ip_address;
using http::ip_network;
using http::trusted_proxies;

ip_address ip(std::string_view text) { return ip_address::parse(text).value_or(ip_address()); }

/// The client of a request from `peer`; "" if it has no address.
std::string client(std::string_view peer, std::vector<header> headers,
                   std::vector<std::string> trusted = {"10.0.0.0/8", "fd00::/8", "unix"}) {
    return http::client_address(ip(peer), headers, trusted_proxies(trusted)).text();
}

std::string by_common(std::string_view value) { return client("10.0.0.1", {{"X-Forwarded-For", value}}); }
std::string by_standard(std::string_view value) { return client("10.0.0.1", {{"Forwarded", value}}); }

std::string problem(std::string_view network) {
    try {
        ip_network::parse(network);
        return "";
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}

}  // namespace

TEST_CASE("IP addresses are read and written in their canonical form") {
    CHECK(ip("192.0.2.1").text() == "192.0.2.1");
    CHECK(ip("2001:DB8:0:0::1").text() == "2001:db8::1");
    CHECK(ip("::ffff:192.0.2.1").text() == "192.0.2.1");
    CHECK(ip("::ffff:192.0.2.1") == ip("192.0.2.1"));
    CHECK(ip("::1").text() == "::1");
    CHECK(ip_address().text() == "");
    for (const char* wrong :
         {"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "::g", "[::1]", "fe80::1%eth0",
          "1.2.3.4:80", "localhost", "1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111:2222"}) {
        CAPTURE(wrong);
        CHECK(!ip_address::parse(wrong));
    }
    CHECK(!ip_address::parse(std::string_view("1.2.3.4\0", 8)));
}

TEST_CASE("a network contains the addresses with its first bits") {
    auto contains = [](std::string_view network, std::string_view address) {
        return ip_network::parse(network).contains(ip(address));
    };
    CHECK(contains("10.0.0.0/8", "10.255.1.2"));
    CHECK(!contains("10.0.0.0/8", "11.0.0.0"));
    CHECK(contains("192.0.2.128/25", "192.0.2.129"));
    CHECK(!contains("192.0.2.128/25", "192.0.2.127"));
    CHECK(contains("192.0.2.1", "192.0.2.1"));
    CHECK(!contains("192.0.2.1", "192.0.2.2"));
    CHECK(contains("0.0.0.0/0", "255.255.255.255"));
    CHECK(!contains("0.0.0.0/0", "::1"));
    CHECK(!contains("::/0", "192.0.2.1"));
    CHECK(contains("2001:db8::/32", "2001:db8:ffff::1"));
    CHECK(!contains("2001:db8::/32", "2001:db9::1"));
    CHECK(contains("::ffff:10.0.0.0/104", "10.1.2.3"));
    CHECK(!contains("0.0.0.0/0", ""));
}

TEST_CASE("an invalid network is refused with its reason") {
    CHECK(problem("10.1.0.0/8") ==
          "invalid network \"10.1.0.0/8\": the address has bits after the prefix; did you mean 10.0.0.0/8?");
    CHECK(problem("10.0.0.0/33") == "invalid network \"10.0.0.0/33\": the number after '/' must be from 0 to 32");
    for (const char* wrong :
         {"", "/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "::ffff:10.0.0.0/8", "proxy.example.com"}) {
        CAPTURE(wrong);
        CHECK(problem(wrong) != "");
    }
}

TEST_CASE("forwarded addresses count only if the connection comes from a trusted proxy") {
    const std::vector<header> forged = {{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", "for=192.0.2.7"}};
    CHECK(client("198.51.100.1", forged) == "198.51.100.1");
    CHECK(client("", forged, {"10.0.0.0/8"}) == "");
    CHECK(client("10.0.0.1", forged, {}) == "10.0.0.1");
    CHECK(client("10.0.0.1", forged) == "192.0.2.7");
    CHECK(client("", forged, {"unix"}) == "192.0.2.7");
    CHECK(client("10.0.0.1", forged, {"unix"}) == "10.0.0.1");
    CHECK(client("10.0.0.1", {}) == "10.0.0.1");
    CHECK(client("fd00::1", forged) == "192.0.2.7");
}

TEST_CASE("the last forwarded address that is not a trusted proxy is the client") {
    CHECK(by_common("192.0.2.7, 198.51.100.9") == "198.51.100.9");
    CHECK(by_common("192.0.2.7, 198.51.100.9, 10.2.3.4") == "198.51.100.9");
    CHECK(by_common("10.7.7.7, 10.2.3.4") == "10.7.7.7");  // a client in the network of the proxies
    CHECK(by_common("192.0.2.7, unix:") == "192.0.2.7");
    CHECK(by_standard("for=192.0.2.7, for=198.51.100.9, for=10.2.3.4") == "198.51.100.9");
    // Several lines are one list.
    CHECK(client("10.0.0.1", {{"X-Forwarded-For", "192.0.2.7"}, {"Host", "x"}, {"x-forwarded-for", "198.51.100.9"}}) ==
          "198.51.100.9");
    CHECK(client("10.0.0.1", {{"Forwarded", "for=192.0.2.7"}, {"forwarded", "for=10.1.1.1"}}) == "192.0.2.7");
}

TEST_CASE("X-Forwarded-For has addresses with and without ports") {
    CHECK(by_common("192.0.2.7:4711") == "192.0.2.7");
    CHECK(by_common("2001:db8::7") == "2001:db8::7");
    CHECK(by_common("[2001:db8::7]") == "2001:db8::7");
    CHECK(by_common("[2001:db8::7]:4711") == "2001:db8::7");
    CHECK(by_common("::ffff:192.0.2.7") == "192.0.2.7");
    CHECK(by_common(" , 192.0.2.7 ,, ") == "192.0.2.7");
}

TEST_CASE("Forwarded is read as RFC 7239 defines it") {
    CHECK(by_standard("for=192.0.2.7") == "192.0.2.7");
    CHECK(by_standard("For=\"192.0.2.7:4711\"") == "192.0.2.7");
    CHECK(by_standard("For=\"[2001:db8::7]:4711\"") == "2001:db8::7");
    CHECK(by_standard("for=\"[2001:db8::7]:_p\"") == "2001:db8::7");
    CHECK(by_standard("proto=https;for=192.0.2.7;by=10.0.0.1;host=example.com") == "192.0.2.7");
    CHECK(by_standard("host=\"a,for=1.1.1.1;b\";FOR=192.0.2.7") == "192.0.2.7");
    CHECK(by_standard("host=\"\\\",for=1.1.1.1\"; for=192.0.2.7 , ,") == "192.0.2.7");
    CHECK(by_standard("for=\"192.0.2\\.7\"") == "192.0.2.7");
    CHECK(by_standard("for=[2001:db8::7]") == "2001:db8::7");  // without quotes: not valid, but sent
}

TEST_CASE("a client that is not given as an address has the address of the connection") {
    for (const char* text : {"unknown", "_hidden", "_hidden:80", "192.0.2.7, _hidden", "192.0.2.7, unknown, 10.1.1.1",
                             "nonsense", "192.0.2.7, 1.2.3", "192.0.2.7:", "192.0.2.7:http", "192.0.2.7:123456",
                             "[192.0.2.7]", "[2001:db8::7", "[2001:db8::7]4711", "\"192.0.2.7\"", "", " , "}) {
        CAPTURE(text);
        CHECK(by_common(text) == "10.0.0.1");
    }
    for (const char* text :
         {"for=unknown", "for=_hidden", "for=192.0.2.7, for=_hidden", "for=192.0.2.7, proto=https", "192.0.2.7",
          "for=", "for", "for=\"192.0.2.7", "for=192.0.2.7;for=192.0.2.8", "for=192.0.2.7 x", "for =192.0.2.7",
          "=192.0.2.7", "for=\"192.0.2.7\"x", "for=\"192.0.2.7\\", "", ";", "for=192.0.2.7, for=\", for=192.0.2.8"}) {
        CAPTURE(text);
        CHECK(by_standard(text) == "10.0.0.1");
    }
    const std::string padded = "for=\"192.0.2.7" + std::string(500, 'x') + "\"";
    CHECK(by_standard(padded) == "10.0.0.1");
}

TEST_CASE("two headers that disagree are not believed") {
    CHECK(client("10.0.0.1", {{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", "for=192.0.2.8"}}) == "10.0.0.1");
    CHECK(client("10.0.0.1", {{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", "for=_hidden"}}) == "10.0.0.1");
    CHECK(client("10.0.0.1", {{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", "for=192.0.2.7"}}) == "192.0.2.7");
    CHECK(client("10.0.0.1", {{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", ""}}) == "192.0.2.7");
}

}  // namespace keel::test
