#include "http/request_reader.hpp"

#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <vector>

// Every request here is read as a whole, byte by byte, and split in two at every position: the outcome must be the
// same.

using namespace keel::http;
using state = request_reader::state;

namespace {

const char* name_of(state s) {
    switch (s) {
        case state::head: return "head";
        case state::body: return "body";
        case state::complete: return "complete";
        case state::refused: return "refused";
    }
    return "?";
}

/// The whole visible state of a reader, as text.
std::string seen(const request_reader& reader) {
    std::string out = name_of(reader.at());
    if (reader.at() == state::refused)
        return out + ' ' + std::to_string(reader.why().status) + ' ' + reader.why().reason;
    if (reader.at() == state::head) return out + (reader.begun() ? " begun" : " idle");
    const request& r = reader.get();
    const auto add = [&](const char* what, std::string_view text) {
        out.append("|").append(what).append(text.data() == nullptr ? "absent" : "=").append(text);
    };
    add("method", r.method);
    add("target", r.target);
    add("path", r.path);
    add("query", r.query);
    add("host", r.host);
    out += "|1." + std::to_string(r.minor) + (r.keep_alive ? " stays" : " closes") + (r.has_body ? " body" : "");
    for (const header& each : r.headers) out.append("|").append(each.name).append(": ").append(each.value);
    if (reader.at() == state::complete) out.append("|body=").append(r.body);
    return out;
}

struct outcome {
    std::string what;
    std::size_t taken = 0;
    bool operator==(const outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& o) { return out << o.taken << " bytes: " << o.what; }

/// Feeds pieces like a connection, each in its own memory that is freed before the next one.
outcome read_pieces(const std::vector<std::string_view>& pieces, const reader_limits& limits) {
    request_reader reader(limits);
    outcome out;
    for (std::string_view piece : pieces) {
        const std::string own(piece);
        const std::size_t taken = reader.feed(own);
        REQUIRE(taken <= own.size());
        out.taken += taken;
        out.what = seen(reader);
        if (reader.at() == state::complete) break;
        REQUIRE(taken == own.size());
    }
    return out;
}

outcome read_whole(std::string_view bytes, const reader_limits& limits = {}) { return read_pieces({bytes}, limits); }

/// Returns the outcome, and checks that it does not depend on how the bytes are split.
outcome read_all_ways(std::string_view bytes, const reader_limits& limits = {}) {
    const outcome whole = read_whole(bytes, limits);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        INFO("cut at " << cut);
        CHECK(read_pieces({bytes.substr(0, cut), bytes.substr(cut)}, limits) == whole);
    }
    std::vector<std::string_view> single;
    for (std::size_t i = 0; i != bytes.size(); ++i) single.push_back(bytes.substr(i, 1));
    CHECK(read_pieces(single, limits) == whole);
    return whole;
}

void check_refused(std::string_view bytes, int status, const reader_limits& limits = {}) {
    const std::string shown(bytes.substr(0, 200));
    CAPTURE(shown);
    const outcome o = read_all_ways(bytes, limits);
    CHECK(o.what.substr(0, 11) == "refused " + std::to_string(status));
    CHECK(o.taken == bytes.size());
}

std::string post(std::string_view headers, std::string_view body) {
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

}  // namespace

TEST_CASE("a request with a sized body is read") {
    const std::string bytes = post("Content-Type: application/json\r\nContent-Length: 7\r\n", "{\"a\":1}");
    const outcome o = read_all_ways(bytes);
    CHECK(o.what ==
          "complete|method=POST|target=/mcp|path=/mcp|query=|host=localhost|1.1 stays body|Host: localhost"
          "|Content-Type: application/json|Content-Length: 7|body={\"a\":1}");
    CHECK(o.taken == bytes.size());
}

TEST_CASE("a request without a body ends with its head") {
    CHECK(read_all_ways("GET /mcp?a=1?2 HTTP/1.1\r\nHost: h\r\nAccept:\t text/event-stream \t\r\nX-Empty:\r\n\r\n")
              .what ==
          "complete|method=GET|target=/mcp?a=1?2|path=/mcp|query=a=1?2|host=h|1.1 stays|Host: h"
          "|Accept: text/event-stream|X-Empty: |body=");
    CHECK(read_all_ways(post("Content-Length: 0\r\n", ""))
              .what.ends_with("stays|Host: localhost|Content-Length: 0|body="));
}

TEST_CASE("a request that is complete in one input is not copied") {
    const std::string bytes = post("Content-Length: 3\r\n", "abc") + "GET / HTTP/1.1\r\n";
    request_reader reader;
    CHECK(reader.feed(bytes) == bytes.size() - 16);
    REQUIRE(reader.at() == state::complete);
    const auto inside = [&](std::string_view v) {
        return v.data() >= bytes.data() && v.data() < bytes.data() + bytes.size();
    };
    CHECK(inside(reader.get().method));
    CHECK(inside(reader.get().path));
    CHECK(inside(reader.get().headers[1].value));
    CHECK(inside(reader.get().body));
}

TEST_CASE("pipelined requests are read one by one, without consuming bytes of the next") {
    const std::string first = post("Content-Length: 3\r\n", "abc");
    const std::string second = post("Transfer-Encoding: chunked\r\n", "2\r\nde\r\n0\r\n\r\n");
    const std::string third = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
    const std::string all = first + second + "\r\n" + third;
    for (std::size_t cut = 1; cut <= all.size(); ++cut) {
        INFO("cut at " << cut);
        request_reader reader;
        std::vector<std::string> bodies;
        for (std::string_view piece : {std::string_view(all).substr(0, cut), std::string_view(all).substr(cut)}) {
            while (!piece.empty()) {
                piece.remove_prefix(reader.feed(piece));
                if (reader.at() != state::complete) break;
                CHECK(reader.feed(piece) == 0);
                bodies.push_back(std::string(reader.get().method) + std::string(reader.get().body));
                reader.next();
            }
            CHECK(piece.empty());
        }
        CHECK(bodies == std::vector<std::string>{"POSTabc", "POSTde", "GET"});
        CHECK(!reader.begun());
    }
}

TEST_CASE("headers are found case-insensitively, and duplicates are counted") {
    const std::string bytes =
        "GET / HTTP/1.1\r\nhOST: h\r\nMcp-Name: a\r\nMCP-NAME: b\r\nX: \r\nMcp-Method^: odd\r\nMcp-Method~: "
        "odder\r\n\r\n";
    request_reader reader;
    reader.feed(bytes);
    REQUIRE(reader.at() == state::complete);
    CHECK(reader.get().find("host") == "h");
    CHECK(reader.get().find("mcp-name") == "a");
    CHECK(reader.get().count("mcp-name") == 2);
    CHECK(reader.get().find("x").data() != nullptr);
    CHECK(reader.get().find("x").empty());
    CHECK(reader.get().find("y").data() == nullptr);
    CHECK(reader.get().count("y") == 0);
    CHECK(reader.get().find("mcp-method~") == "odder");
}

TEST_CASE("Connection and the HTTP version determine keep-alive") {
    const auto stays = [](std::string version, std::string connection) {
        if (!connection.empty()) connection = "Connection: " + connection + "\r\n";
        const std::string what = read_all_ways("GET / HTTP/" + version + "\r\nHost: h\r\n" + connection + "\r\n").what;
        CHECK(what.starts_with("complete"));
        return what.find(" stays") != std::string::npos;
    };
    CHECK(stays("1.1", ""));
    CHECK(stays("1.1", "keep-alive"));
    CHECK(!stays("1.1", "close"));
    CHECK(!stays("1.1", "x-thing, Close"));
    CHECK(!stays("1.0", ""));
    CHECK(stays("1.0", "Keep-Alive"));
    CHECK(!stays("1.0", "close"));
}

TEST_CASE("HTTP/1.0 needs no Host") {
    CHECK(read_all_ways("GET / HTTP/1.0\r\n\r\n").what ==
          "complete|method=GET|target=/|path=/|query=|hostabsent|1.0 closes|body=");
    check_refused("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400);
}

TEST_CASE("empty lines before a request are skipped, up to a limit") {
    CHECK(read_all_ways("\r\n\r\nGET / HTTP/1.0\r\n\r\n").what.starts_with("complete|method=GET"));
    CHECK(read_all_ways("\r\n\r\n\r\n\r\n").what == "head idle");
    check_refused("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n", 400);
    check_refused("\r\rGET / HTTP/1.0\r\n\r\n", 400);
    check_refused("\nGET / HTTP/1.0\r\n\r\n", 400);
}

TEST_CASE("a request has begun after its first byte") {
    request_reader reader;
    CHECK(!reader.begun());
    reader.feed("\r\n");
    CHECK(!reader.begun());
    reader.feed("G");
    CHECK(reader.begun());
    reader.feed("ET / HTTP/1.0\r\n\r\n");
    CHECK(reader.at() == state::complete);
    CHECK(reader.begun());
    reader.next();
    CHECK(!reader.begun());
}

TEST_CASE("the host of an absolute target takes precedence over the Host header") {
    const auto of = [](std::string target) {
        const std::string what = read_all_ways("GET " + target + " HTTP/1.1\r\nHost: header\r\n\r\n").what;
        return what.substr(what.find("|path="), what.find("|1.1") - what.find("|path="));
    };
    CHECK(of("http://example.com:8080/mcp?x") == "|path=/mcp|query=x|host=example.com:8080");
    CHECK(of("HTTPS://[::1]/mcp") == "|path=/mcp|query=|host=[::1]");
    CHECK(of("http://example.com") == "|path=/|query=|host=example.com");
    CHECK(of("http://example.com?x=/") == "|path=/|query=x=/|host=example.com");
    CHECK(of("//double/slash") == "|path=//double/slash|query=|host=header");
    // The head is moved here: the path "/" is not part of it.
    const std::string what = read_all_ways("POST http://e HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab").what;
    CHECK(what.starts_with("complete|method=POST|target=http://e|path=/|query=|host=e|"));
}

TEST_CASE("proxy forms and other invalid targets are refused") {
    for (const char* target : {"*", "example.com:443", "example.com", "ftp://h/x", "http://", "http:///x",
                               "http://a@b/", "mcp", "/a#b", "/\x80", "/\x7f", "://x/"}) {
        check_refused("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    }
}

TEST_CASE("input that is not HTTP is refused") {
    for (const char* line :
         {"GET /  HTTP/1.1", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET", "G(T / HTTP/1.1", " GET / HTTP/1.1",
          "GET / http/1.1", "GET / HTTP/11", "GET\t/ HTTP/1.1", "GET / HTTP/1.1\r", "GET / HTTX/1.1", "/ HTTP/1.1"}) {
        check_refused(std::string(line) + "\r\nHost: h\r\n\r\n", 400);
    }
    check_refused(std::string("G\0T / HTTP/1.1\r\nHost: h\r\n\r\n", 28), 400);
}

TEST_CASE("a TLS client on a plain port is refused at its first byte") {
    request_reader reader;
    reader.feed("\x16");
    REQUIRE(reader.at() == state::refused);
    CHECK(reader.why().status == 400);
}

TEST_CASE("other HTTP versions are refused with 505") {
    check_refused("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505);
    check_refused("GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505);
    check_refused("GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505);
    check_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
}

TEST_CASE("two ways to find the end of a body are refused: request smuggling") {
    const std::string chunks = "0\r\n\r\n";
    check_refused(post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks), 400);
    check_refused(post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", chunks), 400);
    check_refused(post("Content-Length: 5\r\nContent-Length: 5\r\n", chunks), 400);
    check_refused(post("Content-Length: 5\r\nContent-Length: 6\r\n", chunks), 400);
    check_refused(post("Content-Length: 5, 5\r\n", chunks), 400);
    check_refused(post("Content-Length: 5,5\r\n", chunks), 400);
    for (const char* length : {"+5", "-5", "0x5", "5 5", "", "5.0", "five", "99999999999999999999999"}) {
        check_refused(post("Content-Length: " + std::string(length) + "\r\n", chunks), 400);
    }
    check_refused(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunks), 400);
    check_refused(post("Transfer-Encoding: chunked, chunked\r\n", chunks), 400);
    check_refused(post("Transfer-Encoding: chunked,\r\n", chunks), 400);
    check_refused(post("Transfer-Encoding:\r\n", chunks), 400);
    check_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
}

TEST_CASE("an unknown transfer coding is refused with 501") {
    for (const char* coding :
         {"xchunked", "chunked, identity", "identity", "gzip, chunked", "chunked;q=1", "\"chunked\""}) {
        check_refused(post("Transfer-Encoding: " + std::string(coding) + "\r\n", "0\r\n\r\n"), 501);
    }
}

TEST_CASE("headers that two servers in a chain could interpret differently are refused") {
    check_refused(post("X: a\r\n b\r\n", ""), 400);
    check_refused(post("X: a\r\n\tb\r\n", ""), 400);
    check_refused(post("X:\r\n \r\n", ""), 400);
    check_refused("GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400);
    check_refused(post("X : a\r\n", ""), 400);
    check_refused(post("Content-Length : 5\r\n", "hello"), 400);
    check_refused(post(": a\r\n", ""), 400);
    check_refused(post("no colon\r\n", ""), 400);
    check_refused(post("X: a\n", ""), 400);
    check_refused(post("X: a\nY: b\r\n", ""), 400);
    check_refused(post("X: a\rY: b\r\n", ""), 400);
    check_refused(post("X: a\r\r\n", ""), 400);
    check_refused(post(std::string("X: a\0b\r\n", 8), ""), 400);
    check_refused(post("X: a\x7f\r\n", ""), 400);
    check_refused(post("X\x80: a\r\n", ""), 400);
    check_refused("GET / HTTP/1.1\r\n\r\n", 400);
    check_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    check_refused("GET / HTTP/1.1\nHost: h\n\n", 400);
}

TEST_CASE("non-ASCII bytes in a header value are passed on") {
    CHECK(read_all_ways("GET / HTTP/1.1\r\nHost: h\r\nX: \xc3\xa4\r\n\r\n").what.ends_with("|X: \xc3\xa4|body="));
}

TEST_CASE("the chunks of a body are joined") {
    const auto body_of = [](std::string_view chunks) {
        const std::string bytes = post("Transfer-Encoding: Chunked\r\n", chunks);
        const outcome o = read_all_ways(bytes + "GET");
        CHECK(o.taken == bytes.size());
        REQUIRE(o.what.starts_with("complete"));
        return o.what.substr(o.what.find("|body=") + 6);
    };
    CHECK(body_of("0\r\n\r\n") == "");
    CHECK(body_of("3\r\nabc\r\n0\r\n\r\n") == "abc");
    CHECK(body_of("003\r\nabc\r\nA\r\n0123456789\r\n000\r\n\r\n") == "abc0123456789");
    CHECK(body_of("2;x=y;z=\"a b\"\r\n\r\n\r\n1 \t;x\r\n!\r\n0;last\r\n\r\n") == "\r\n!");
    CHECK(body_of("1\r\na\r\n0\r\nContent-Length: 70\r\nHost: other\r\n\r\n") == "a");
}

TEST_CASE("trailers are ignored") {
    const outcome o =
        read_all_ways(post("Transfer-Encoding: chunked\r\n", "0\r\nHost: other\r\nConnection: close\r\n\r\n"));
    CHECK(o.what ==
          "complete|method=POST|target=/mcp|path=/mcp|query=|host=localhost|1.1 stays body|Host: localhost"
          "|Transfer-Encoding: chunked|body=");
}

TEST_CASE("invalid chunks are refused") {
    for (std::string_view chunks :
         {"\r\n", "g\r\n", "-1\r\n", "0x3\r\nabc", "3\nabc\r\n", "3\r\nabcd\r\n", "3\r\nabc\n0\r\n\r\n",
          "3 \r\nabc\r\n", "3\rabc", " 3\r\nabc", "3;a\nb\r\nabc", "3;a\rb\r\nabc", "0\r\nX: a\n\r\n", "0\r\nX: a\rb",
          "0\r\n\rx", "0\r\n: a\r\n\r\n", "0\r\n a\r\n\r\n", "00000000000000001\r\n", "3;\x01\r\nabc"}) {
        check_refused(post("Transfer-Encoding: chunked\r\n", chunks), 400);
    }
    check_refused(post("Transfer-Encoding: chunked\r\n", std::string("0\r\nX: \0\r\n\r\n", 11)), 400);
}

TEST_CASE("E3 a body larger than the limit is refused with 413 before it is read") {
    const reader_limits limits{.max_body = 5};
    CHECK(read_all_ways(post("Content-Length: 5\r\n", "12345"), limits).what.ends_with("|body=12345"));
    check_refused(post("Content-Length: 6\r\n", ""), 413, limits);
    check_refused(post("Content-Length: 18446744073709551615\r\n", ""), 413, limits);
    CHECK(read_all_ways(post("Transfer-Encoding: chunked\r\n", "3\r\n123\r\n2\r\n45\r\n0\r\n\r\n"), limits)
              .what.ends_with("|body=12345"));
    check_refused(post("Transfer-Encoding: chunked\r\n", "6"), 413, limits);
    check_refused(post("Transfer-Encoding: chunked\r\n", "3\r\n123\r\n3"), 413, limits);
    check_refused(post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff"), 413, limits);
}

TEST_CASE("J4 an announced long body costs no memory before it arrives") {
    request_reader reader(reader_limits{.max_body = 1'000'000'000});
    reader.feed(post("Content-Length: 1000000000\r\n", "x"));
    CHECK(reader.at() == state::body);
    CHECK(reader.memory() < 100'000);
    reader.feed(std::string(200'000, 'x'));
    CHECK(reader.memory() < 500'000);
}

TEST_CASE("J4 a head larger than the limit is refused with 431, a target with 414") {
    const auto head = [](std::size_t n) {
        std::string text = "GET / HTTP/1.0\r\nX: \r\n\r\n";
        text.insert(text.size() - 4, n - text.size(), 'x');
        return text;
    };
    const reader_limits limits{.max_head = 100, .max_target = 60};
    CHECK(read_all_ways(head(100), limits).what.starts_with("complete"));
    check_refused(head(101), 431, limits);
    check_refused(head(300), 431, limits);
    CHECK(read_all_ways(head(99).substr(0, 90), limits).what == "head begun");

    CHECK(read_all_ways("GET /" + std::string(59, 'x') + " HTTP/1.0\r\n\r\n", limits).what.starts_with("complete"));
    check_refused("GET /" + std::string(60, 'x') + " HTTP/1.0\r\n\r\n", 414, limits);
    check_refused("GET /" + std::string(200, 'x'), 414, limits);
}

TEST_CASE("J4 too many headers are refused with 431") {
    const reader_limits limits{.max_headers = 3};
    CHECK(read_all_ways("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits).what.starts_with("complete"));
    check_refused("GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n", 431, limits);
}

TEST_CASE("J4 trailers and chunk extensions are limited") {
    const std::string start = post("Transfer-Encoding: chunked\r\n", "");
    const reader_limits limits{.max_head = 80, .max_headers = 3};
    CHECK(read_all_ways(start + "0\r\nA: 1\r\nA: 1\r\nA: 1\r\n\r\n", limits).what.starts_with("complete"));
    check_refused(start + "0\r\nA: 1\r\nA: 1\r\nA: 1\r\nA: 1\r\n\r\n", 431, limits);
    check_refused(start + "0\r\nA: " + std::string(200, 'x'), 431, limits);
    check_refused(start + "1;" + std::string(200, 'x'), 400, limits);
    std::string many = start;
    for (int i = 0; i != 30; ++i) many += "1;abc\r\nx\r\n";
    check_refused(many, 400, limits);
}

TEST_CASE("Expect: 100-continue is reported once, between head and body") {
    const std::string head = post("Expect: 100-Continue\r\nContent-Length: 3\r\n", "");
    request_reader reader;
    reader.feed(head.substr(0, 20));
    CHECK(!reader.wants_continue());
    reader.feed(head.substr(20));
    CHECK(reader.at() == state::body);
    CHECK(reader.wants_continue());
    CHECK(reader.head().find("expect") == "100-Continue");
    reader.feed("a");
    CHECK(!reader.wants_continue());
    reader.feed("bc");
    CHECK(reader.at() == state::complete);
    CHECK(!reader.wants_continue());

    reader.next();
    reader.feed(head + "a");  // did not wait
    CHECK(reader.at() == state::body);
    CHECK(!reader.wants_continue());

    reader.next();
    reader.feed(post("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n", ""));
    CHECK(reader.wants_continue());
    reader.next();
    reader.feed(post("Expect: 100-continue\r\nContent-Length: 0\r\n", ""));
    CHECK(reader.at() == state::complete);
    CHECK(!reader.wants_continue());
    reader.next();
    reader.feed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    CHECK(reader.at() == state::body);
    CHECK(!reader.wants_continue());
}

TEST_CASE("other expectations are refused with 417, and a body that is too large is refused without 100 Continue") {
    check_refused(post("Expect: 200-ok\r\nContent-Length: 3\r\n", "abc"), 417);
    check_refused(post("Expect:\r\n", ""), 417);
    check_refused(post("Expect: 100-continue\r\nContent-Length: 6\r\n", ""), 413, {.max_body = 5});
}

TEST_CASE("the head is available while the body arrives") {
    request_reader reader;
    {
        const std::string gone = post("X: y\r\nContent-Length: 3\r\n", "a");
        reader.feed(gone);
    }
    REQUIRE(reader.at() == state::body);
    CHECK(reader.head().path == "/mcp");
    CHECK(reader.head().find("x") == "y");
    CHECK(reader.head().has_body);
    CHECK(reader.head().body.empty());
}

TEST_CASE("memory can be released when a request is complete, not while it is read") {
    request_reader reader;
    const std::string bytes = post("Content-Length: 3\r\n", "abc");
    reader.feed(bytes.substr(0, 30));
    reader.release_memory();
    reader.feed(bytes.substr(30, bytes.size() - 31));
    reader.release_memory();
    reader.feed("c");
    REQUIRE(reader.at() == state::complete);
    CHECK(reader.get().body == "abc");
    reader.release_memory();
    CHECK(reader.at() == state::complete);
    CHECK(reader.get().headers.empty());
    reader.next();
    reader.feed(bytes);
    CHECK(reader.get().body == "abc");
}

TEST_CASE("memory is reused up to a limit, and freed on release") {
    request_reader reader;
    const std::string bytes = post("Content-Length: 1000\r\n", std::string(1000, 'x'));
    const auto read_in_two = [&](std::string_view all) {
        reader.feed(all.substr(0, 70));
        reader.feed(all.substr(70));
        REQUIRE(reader.at() == state::complete);
    };
    CHECK(reader.memory() == 0);
    reader.feed(bytes);
    CHECK(reader.memory() < 1000);  // the table of headers
    reader.next();
    read_in_two(bytes);
    const std::size_t once = reader.memory();
    CHECK(once >= 1000);
    for (int i = 0; i != 100; ++i) {
        reader.next();
        read_in_two(bytes);
    }
    CHECK(reader.memory() == once);

    reader.next();
    read_in_two(post("Content-Length: 1000000\r\n", std::string(1000000, 'x')));
    CHECK(reader.memory() >= 1000000);
    reader.next();
    CHECK(reader.memory() < 64 * 1024);
    reader.release_memory();
    CHECK(reader.memory() == 0);
    reader.feed(post("Content-Length: 9\r\nContent-Length: 9\r\n", ""));
    CHECK(reader.at() == state::refused);
    CHECK(reader.memory() == 0);
}

TEST_CASE("a large body is read where it is kept, never beyond its end") {
    request_reader reader;
    const std::string body(1'000'000, 'x');
    CHECK(reader.room().empty());
    reader.feed(post("Content-Length: 1000000\r\n", body.substr(0, 1000)));
    CHECK(reader.room().empty());  // a small piece does not tell how much will come
    reader.feed(body.substr(0, 100'000));
    std::size_t left = 1'000'000 - 101'000;
    while (left > 0) {
        std::span<char> room = reader.room();
        REQUIRE(!room.empty());
        REQUIRE(room.size() <= left);
        std::fill(room.begin(), room.end(), 'x');
        REQUIRE(reader.feed({room.data(), room.size()}) == room.size());
        left -= room.size();
    }
    REQUIRE(reader.at() == state::complete);
    CHECK(reader.get().body == body);
    CHECK(reader.room().empty());
    reader.release_body();
    CHECK(reader.at() == state::complete);
    CHECK(reader.get().body.empty());
    CHECK(reader.get().method == "POST");
    CHECK(reader.memory() < 64 * 1024);
}

TEST_CASE("no state of a request leaks into the next") {
    request_reader reader;
    reader.feed(post("A: 1\r\nTransfer-Encoding: chunked\r\n", "3;x\r\nabc\r\n0\r\nT: 1\r\n\r\n"));
    REQUIRE(reader.at() == state::complete);
    reader.next();
    reader.feed("GET / HTTP/1.0\r\n\r\n");
    CHECK(seen(reader) == "complete|method=GET|target=/|path=/|query=|hostabsent|1.0 closes|body=");
    reader.next();
    reader.feed("bad\n");
    CHECK(reader.at() == state::refused);
    reader.next();
    CHECK(seen(reader) == "head idle");
    CHECK(reader.why().status == 0);
}
