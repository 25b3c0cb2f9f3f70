#include "http_common/head_parser.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace keel::http;

namespace {

struct parsed {
    head_error error = head_error::none;
    request head;
    body_headers body;
    std::vector<header> headers;
};

/// The views are valid as long as `text`.
parsed parse(const std::string& text) {
    parsed out;
    out.error = parse_request_head(text, out.head, out.headers, out.body);
    out.head.headers = out.headers;
    return out;
}

head_error error_of(const std::string& text) { return parse(text).error; }

std::string with_header(std::string_view line) {
    return "GET / HTTP/1.1\r\nHost: h\r\n" + std::string(line) + "\r\n\r\n";
}

bool is_token(unsigned c) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return c != 0 && c < 128 &&
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a request line consists of method, target and version") {
    const std::string text = "M-SEARCH http://h/a?b HTTP/1.0\r\n\r\n";
    const parsed p = parse(text);
    REQUIRE(p.error == head_error::none);
    CHECK(p.head.method == "M-SEARCH");
    CHECK(p.head.target == "http://h/a?b");
    CHECK(p.head.minor == 0);
    CHECK(!p.head.keep_alive);
    CHECK(p.headers.empty());
}

TEST_CASE("an invalid request line is refused with its reason") {
    for (const char* line :
         {"GET", "GET ", "GET /", "GET / ", "GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1",
          "GET / HTTP/1", "GET / HTTP/1.", "GET / HTTP/1.10", "GET / HTTP/x.1", "GET / http/1.1", "GET / HTTX/1.1",
          "G(T / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.1\r"}) {
        CAPTURE(line);
        CHECK(error_of(std::string(line) + "\r\n\r\n") == head_error::request_line);
    }
    for (const char* target : {"/\x80", "/\x7f", "/a#b", "/a\tb", "/a\rb", "\xff"}) {
        CAPTURE(target);
        const head_error error = error_of("GET " + std::string(target) + " HTTP/1.1\r\n\r\n");
        CHECK((error == head_error::target || error == head_error::request_line));
    }
    CHECK(error_of("GET /\x80 HTTP/1.1\r\n\r\n") == head_error::target);
    for (const char* version : {"0.9", "1.2", "2.0", "9.9"}) {
        CHECK(error_of("GET / HTTP/" + std::string(version) + "\r\n\r\n") == head_error::version);
    }
}

TEST_CASE("each byte is accepted or refused in a name, a value and a target, wherever it stands in a block") {
    // The parser reads sixteen bytes at once: the byte moves through two blocks, and to the end of the text.
    for (unsigned c = 0; c < 256; ++c) {
        CAPTURE(c);
        const char byte = static_cast<char>(c);
        for (std::size_t before = 1; before <= 33; before += 4) {
            for (std::size_t after : {1u, 40u}) {
                const std::string left(before, 'a'), right(after, 'b');
                const std::string middle = left + byte + right;
                if (c != ':') CHECK((error_of(with_header(middle + ": x")) == head_error::none) == is_token(c));
                const bool value = (c >= 0x20 && c != 0x7f) || c == '\t';
                CHECK((error_of(with_header("X: " + middle)) == head_error::none) == value);
                const bool target = c > 0x20 && c < 0x7f && c != '#';
                CHECK((error_of("GET " + middle + " HTTP/1.1\r\n\r\n") == head_error::none) == target);
            }
        }
    }
}

TEST_CASE("header values are returned without surrounding white space") {
    const std::string text = with_header("A:  \tb c\t \r\nB:\r\nC: \t\r\nD:e");
    const parsed p = parse(text);
    REQUIRE(p.headers.size() == 5);
    CHECK(p.headers[1].value == "b c");
    CHECK(p.headers[2].value == "");
    CHECK(p.headers[3].value == "");
    CHECK(p.headers[4].value == "e");
}

TEST_CASE("invalid header lines are refused") {
    for (const char* line : {":", ": a", "a", "a b: c", "a : b", "a\t: b", "(a): b", "a: b\rc", "a: b\r"}) {
        CAPTURE(line);
        CHECK(error_of(with_header(line)) == head_error::header);
    }
}

TEST_CASE("the headers that determine the body are matched case-insensitively") {
    const std::string text =
        "POST / HTTP/1.1\r\nhOsT: a\r\nContent-LENGTH: 18446744073709551615\r\nTRANSFER-encoding: x\r\n"
        "Transfer-Encoding: chunked\r\neXpect: 100-continue\r\nHost: b\r\n\r\n";
    const parsed p = parse(text);
    REQUIRE(p.error == head_error::none);
    CHECK(p.body.hosts == 2);
    CHECK(p.body.lengths == 1);
    CHECK(p.body.length == 18446744073709551615u);
    CHECK(p.body.codings == 2);
    CHECK(p.body.coding == "chunked");
    CHECK(p.body.expectation == "100-continue");
}

TEST_CASE("names that differ from a known one in one bit or in length are not known names") {
    const std::string known_name = "content-length";
    for (std::size_t i = 0; i != known_name.size(); ++i) {
        for (unsigned bit = 0; bit != 7; ++bit) {
            std::string name = known_name;
            name[i] = static_cast<char>(name[i] ^ (1 << bit));
            if (!is_token(static_cast<unsigned char>(name[i]))) continue;
            CAPTURE(name);
            const std::string text = with_header(name + ": 5");
            const bool same = bit == 5 && known_name[i] != '-';
            CHECK(parse(text).body.lengths == (same ? 1 : 0));
        }
    }
    CHECK(parse(with_header("content-lengths: 5")).body.lengths == 0);
    CHECK(parse(with_header("ontent-length: 5")).body.lengths == 0);
}

TEST_CASE("the headers that every request needs are found while parsing") {
    const std::string text = with_header(
        "Authorization: 1\r\nContent-Type: 2\r\nLast-Event-ID: 3\r\nMcp-Method: 4\r\nMcp-Name: 5\r\n"
        "MCP-Protocol-Version: 6\r\nMcp-Session-Id: 7\r\nOrigin: 8\r\nMcp-Name: 9");
    const parsed p = parse(text);
    REQUIRE(p.error == head_error::none);
    for (auto [which, value] : {std::pair(known::authorization, "1"), std::pair(known::content_type, "2"),
                                std::pair(known::last_event_id, "3"), std::pair(known::mcp_method, "4"),
                                std::pair(known::mcp_name, "5"), std::pair(known::mcp_protocol_version, "6"),
                                std::pair(known::mcp_session_id, "7"), std::pair(known::origin, "8")}) {
        CHECK(p.head.get(which) == value);
    }
    CHECK(p.head.count(known::mcp_name) == 2);
    CHECK(p.head.count(known::origin) == 1);
}

TEST_CASE("Content-Length must be a 64-bit number, Connection a list of tokens") {
    for (const char* value : {"", "+5", "-5", "5 5", "5,5", "0x5", "5.0", "18446744073709551616"}) {
        CAPTURE(value);
        CHECK(error_of(with_header("Content-Length: " + std::string(value))) == head_error::length);
    }
    CHECK(parse(with_header("Content-Length: 0005")).body.length == 5);
    for (const char* value : {"a b", "close; x", "\"close\""}) {
        CAPTURE(value);
        CHECK(error_of(with_header("Connection: " + std::string(value))) == head_error::connection);
    }
    CHECK(!parse(with_header("Connection: , CLOSE ,")).head.keep_alive);
    CHECK(parse(with_header("Connection:")).head.keep_alive);
}

TEST_CASE("the end of a head is found however the input is split") {
    using event = head_end_finder::event;
    const std::string text = "GET / HTTP/1.1\r\nHost: h\r\n\r\nrest";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        CAPTURE(cut);
        head_end_finder finder;
        std::vector<std::size_t> lines;
        event last = event::more;
        for (std::string_view bytes : {std::string_view(text).substr(0, cut), std::string_view(text)}) {
            if (last == event::end) break;
            while ((last = finder.next(bytes)) == event::line) lines.push_back(finder.line_start());
        }
        CHECK(last == event::end);
        CHECK(finder.scanned() == text.size() - 4);
        CHECK(lines == std::vector<std::size_t>{0, 16});
    }
    CHECK(head_end_finder().next("\n") == event::bare_lf);
    CHECK(head_end_finder().next("a\n") == event::bare_lf);
    CHECK(head_end_finder().next("\r\n") == event::end);
    CHECK(head_end_finder().next("") == event::more);
}
