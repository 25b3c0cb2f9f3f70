#include "http/response_head.hpp"
#include "http/request_reader.hpp"
#include "http_common/reason_phrase.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace keel::http;

TEST_CASE("a response head contains version, status and Connection") {
    const auto head = [](int status, unsigned minor, bool keep_alive) {
        std::string out;
        begin_response(out, status, minor, keep_alive);
        end_head(out);
        return out;
    };
    CHECK(head(200, 1, true) == "HTTP/1.1 200 OK\r\n\r\n");
    CHECK(head(404, 1, false) == "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n");
    CHECK(head(202, 0, true) == "HTTP/1.0 202 Accepted\r\nConnection: keep-alive\r\n\r\n");
    CHECK(head(431, 0, false) == "HTTP/1.0 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n");
    CHECK(head(299, 1, true) == "HTTP/1.1 299 Unknown\r\n\r\n");
}

TEST_CASE("every status that the server sends has a reason phrase") {
    for (int status : {100, 200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 409,
                       413, 414, 415, 417, 421, 429, 431, 500, 501, 503, 505}) {
        CHECK(reason_phrase(status) != "Unknown");
    }
}

TEST_CASE("header values cannot contain line ends") {
    std::string out;
    add_content_type(out, "text/event-stream");
    add_content_length(out, 0);
    add_content_length(out, 18446744073709551615u);
    add_header(out, "X", std::string("a\r\nSet-Cookie: b\0c\x7f\td", 21));
    CHECK(out ==
          "Content-Type: text/event-stream\r\nContent-Length: 0\r\nContent-Length: 18446744073709551615\r\n"
          "X: a  Set-Cookie: b c  d\r\n");
}

TEST_CASE("the length of a JSON response is filled in afterwards") {
    std::string out = "before";
    const std::size_t slot = begin_json(out, 200, 1, true);
    out += "{\"a\":1}";
    end_json(out, slot);
    CHECK(out ==
          "beforeHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:          7\r\n\r\n{\"a\":1}");

    out.clear();
    end_json(out, begin_json(out, 200, 1, true));
    CHECK(out.ends_with("Content-Length:          0\r\n\r\n"));

    out.clear();
    const std::size_t large = begin_json(out, 400, 0, false, "Mcp-Session-Id: x\r\n");
    out.append(1234567, 'x');
    end_json(out, large);
    CHECK(out.starts_with(
        "HTTP/1.0 400 Bad Request\r\nConnection: close\r\nMcp-Session-Id: x\r\nContent-Type: application/json\r\n"
        "Content-Length:    1234567\r\n\r\nxxx"));
}

TEST_CASE("written chunks are read back, and an empty chunk does not end the body") {
    std::string out = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    std::string expected;
    for (std::size_t n : {1u, 15u, 16u, 255u, 0u, 4096u, 70000u}) {
        const std::size_t slot = begin_chunk(out);
        out.append(n, static_cast<char>('a' + n % 26));
        expected.append(n, static_cast<char>('a' + n % 26));
        end_chunk(out, slot);
    }
    CHECK(out.find("00000010\r\n") != std::string::npos);
    CHECK(out.find("000000ff\r\n") != std::string::npos);
    append_last_chunk(out);
    request_reader reader;
    CHECK(reader.feed(out) == out.size());
    REQUIRE(reader.at() == request_reader::state::complete);
    CHECK(reader.get().body == expected);
}
