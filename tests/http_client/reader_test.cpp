#include "http_client/response_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using keel::http_client::response_reader;
using event = response_reader::event;
using kind = response_reader::request_kind;

namespace {

struct result {
    std::string shown;  // "200 end", "200 more", "bad: …"
    std::string body;
    bool keep_alive = false;
    std::size_t left_over = 0;
};

/// Reads bytes in pieces of `step`, then optionally the end of input.
result read(std::string_view bytes, bool ends = false, kind k = kind::usual, std::size_t step = std::string_view::npos,
            std::size_t max_head = 1000) {
    response_reader reader(max_head);
    reader.start(k);
    result out;
    bool headed = false;
    auto finish = [&](std::string_view what) {
        if (headed) out.shown = std::to_string(reader.status()) + " ";
        out.shown += what;
        out.keep_alive = reader.keep_alive();
    };
    while (!bytes.empty()) {
        const std::string copy(bytes.substr(0, step));
        bytes.remove_prefix(copy.size());
        std::string_view piece = copy;
        for (bool more = false; !more;) {
            switch (reader.next(piece)) {
                case event::more:
                    CHECK(piece.empty());
                    more = true;
                    break;
                case event::head: headed = true; break;
                case event::body: out.body += reader.piece(); break;
                case event::end:
                    finish("end");
                    out.left_over = piece.size() + bytes.size();
                    return out;
                case event::bad: finish("bad: " + std::string(reader.why())); return out;
            }
        }
        CHECK(reader.memory() <= max_head);
    }
    finish(ends && reader.end_of_input() == event::end ? "end" : "more");
    return out;
}

/// Checks that the result does not depend on how the bytes are split.
result read_all_ways(std::string_view bytes, bool ends = false, kind k = kind::usual) {
    const result whole = read(bytes, ends, k);
    for (std::size_t step : {1u, 2u, 3u, 7u}) {
        const result other = read(bytes, ends, k, step);
        CHECK(other.shown == whole.shown);
        CHECK(other.body == whole.body);
        CHECK(other.left_over == whole.left_over);
        CHECK(other.keep_alive == whole.keep_alive);
    }
    return whole;
}

std::string shown(std::string_view bytes, bool ends = false, kind k = kind::usual) {
    return read_all_ways(bytes, ends, k).shown;
}

const std::string ok = "HTTP/1.1 200 OK\r\n";

}  // namespace

TEST_CASE("status lines") {
    const std::string rest = "Content-Length: 0\r\n\r\n";
    CHECK(shown("HTTP/1.1 200 OK\r\n" + rest) == "200 end");
    CHECK(shown("HTTP/1.1 200 \r\n" + rest) == "200 end");
    CHECK(shown("HTTP/1.1 200\r\n" + rest) == "200 end");
    CHECK(shown("HTTP/1.1 599 Was \xc3\xbc\tx\r\n" + rest) == "599 end");
    CHECK(shown("HTTP/1.7 200 OK\r\n" + rest) == "200 end");
    for (std::string_view line :
         {"HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 099 OK",
          "HTTP/1.1200 OK", "HTTP/1. 200 OK", "HTTP/1.x 200 OK", "HTTP/1.1\t200 OK", "HTTP/1.11 200"}) {
        CAPTURE(line);
        CHECK(shown(std::string(line) + "\r\n" + rest) == "bad: invalid status line");
    }
    CHECK(shown("HTTP/1.1 200 a\x01z\r\n" + rest) == "bad: a control character in the status line");
    CHECK(shown("HTTP/2 200\r\n" + rest) == "bad: not an HTTP/1 response");
    CHECK(shown("http/1.1 200 OK\r\n" + rest) == "bad: not an HTTP/1 response");
    CHECK(shown("\r\nHTTP/1.1 200 OK\r\n" + rest) == "bad: not an HTTP/1 response");
    CHECK(shown("SSH-2.0-x") == "bad: not an HTTP/1 response");  // without waiting for the end of the line
    CHECK(shown(std::string("\x15\x03\x01", 3)) == "bad: not an HTTP/1 response");
}

TEST_CASE("ambiguous headers are rejected") {
    CHECK(shown(ok + "A: 1\r\n b\r\n\r\n") == "bad: folded header lines are not supported");
    CHECK(shown(ok + " A: 1\r\n\r\n") == "bad: folded header lines are not supported");
    CHECK(shown(ok + "A : 1\r\n\r\n") == "bad: invalid header line");
    CHECK(shown(ok + ": 1\r\n\r\n") == "bad: invalid header line");
    CHECK(shown(ok + "A\r\n\r\n") == "bad: invalid header line");
    CHECK(shown(ok + "A\x80: 1\r\n\r\n") == "bad: invalid header line");
    CHECK(shown(ok + "A: 1\n\r\n") == "bad: a header line ends with LF instead of CRLF");
    CHECK(shown("HTTP/1.1 200 OK\nA: 1\r\n\r\n") == "bad: a header line ends with LF instead of CRLF");
    CHECK(shown(ok + "A: 1\r\n\n") == "bad: a header line ends with LF instead of CRLF");
    CHECK(shown(ok + "A: 1\rB: 2\r\n\r\n") == "bad: a header line contains a bare CR");
    CHECK(shown(ok + "A: 1\r\r\n\r\n") == "bad: a header line contains a bare CR");
    CHECK(shown(ok + std::string("A: a\0b\r\n\r\n", 10)) == "bad: a control character in a header");
    CHECK(shown(ok + "A: \xc3\xbc \t\r\nContent-Length: 0\r\n\r\n") == "200 end");
    CHECK(shown(ok + "A:\r\nContent-Length:0\r\n\r\n") == "200 end");
}

TEST_CASE("Content-Length") {
    const result two = read_all_ways(ok + "Content-Length: 3\r\n\r\nabcd");
    CHECK(two.shown == "200 end");
    CHECK(two.body == "abc");
    CHECK(two.left_over == 1);
    CHECK(shown(ok + "Content-Length: 3\r\ncontent-length: 3\r\n\r\nabc") == "200 end");
    CHECK(shown(ok + "Content-Length: 3, 3\r\n\r\nabc") == "200 end");
    CHECK(shown(ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc") == "bad: conflicting Content-Length values");
    CHECK(shown(ok + "Content-Length: 3, 4\r\n\r\nabc") == "bad: conflicting Content-Length values");
    for (std::string_view bad : {"", "-1", "+3", "3 3", "0x3", "3;", "99999999999999999999", "3,", ",3"}) {
        CAPTURE(bad);
        CHECK(shown(ok + "Content-Length: " + std::string(bad) + "\r\n\r\n") == "bad: invalid Content-Length");
    }
    CHECK(shown(ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          "bad: both Transfer-Encoding and Content-Length");
    CHECK(shown(ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n") ==
          "bad: both Transfer-Encoding and Content-Length");
    CHECK(shown("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") == "bad: Transfer-Encoding in HTTP/1.0");
    for (std::string_view bad : {"gzip", "gzip, chunked", "chunked, chunked", "identity", "", "xchunked"}) {
        CAPTURE(bad);
        CHECK(shown(ok + "Transfer-Encoding: " + std::string(bad) + "\r\n\r\n") == "bad: unsupported transfer coding");
    }
    CHECK(shown(ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          "bad: unsupported transfer coding");
    CHECK(shown(ok + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n") == "200 end");
}

TEST_CASE("responses without a body") {
    CHECK(shown("HTTP/1.1 204 No Content\r\n\r\n") == "204 end");
    CHECK(shown("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n") == "304 end");
    CHECK(shown(ok + "Content-Length: 5\r\n\r\n", false, kind::head) == "200 end");
    CHECK(shown(ok + "Transfer-Encoding: chunked\r\n\r\n", false, kind::head) == "200 end");
    CHECK(shown(ok + "Content-Length: 5\r\n\r\n", false, kind::connect) == "200 end");
    CHECK(shown("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nhi", false, kind::connect) == "407 end");
    CHECK(read("HTTP/1.1 204 No\r\n\r\n").keep_alive);
    CHECK(read("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n").keep_alive);
    CHECK(!read("HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n").keep_alive);
    CHECK(!read("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n").keep_alive);
}

TEST_CASE("interim responses are skipped, and limited") {
    const std::string hint = "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nConnection: close\r\nLink: x\r\n\r\n";
    const result r = read_all_ways("HTTP/1.1 100 Continue\r\n\r\n" + hint + ok + "Content-Length: 2\r\n\r\nhi");
    CHECK(r.shown == "200 end");
    CHECK(r.body == "hi");
    CHECK(r.keep_alive);
    CHECK(shown("HTTP/1.1 101 Switching Protocols\r\n\r\n").starts_with("bad: unexpected status 101"));
    std::string many;
    for (int i = 0; i != 100; ++i) many += hint;
    CHECK(shown(many) == "bad: the head of the response is too large");
}

TEST_CASE("the size of the head is limited") {
    CHECK(shown(ok + "A: " + std::string(2000, 'x')) == "bad: the head of the response is too large");
    CHECK(shown(ok + "A: " + std::string(2000, 'x') + "\r\n\r\n") == "bad: the head of the response is too large");
    std::string many = ok;
    for (int i = 0; i != 600; ++i) many += "A:\r\n";
    CHECK(read(many + "\r\n", false, kind::usual, std::string_view::npos, 100000).shown == "bad: too many headers");
    // Exact to the byte.
    const std::string head = ok + "Content-Length: 0\r\n\r\n";
    CHECK(read(head, false, kind::usual, std::string_view::npos, head.size()).shown == "200 end");
    CHECK(read(head, false, kind::usual, std::string_view::npos, head.size() - 1).shown.starts_with("bad"));
}

TEST_CASE("chunks") {
    const std::string head = ok + "Transfer-Encoding: chunked\r\n\r\n";
    const result r =
        read_all_ways(head + "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0002 \r\nhi\r\n0\r\nTrailer: 1\r\n\r\nrest");
    CHECK(r.shown == "200 end");
    CHECK(r.body == "abc0123456789hi");
    CHECK(r.left_over == 4);
    for (std::string_view bad :
         {"\r\n", "g\r\n", "-1\r\n", " 3\r\nabc\r\n", "3\nabc\r\n", "3\r\nabcd\r\n", "3\r\nabc\n", "3\r\nabc\rx",
          "3 4\r\nabc\r\n", "0x3\r\nabc\r\n", "1000000000000000\r\n", "00000000000000003\r\nabc", "3;a\x01\r\nabc",
          "3\r\r\nabc", "0\r\n A: folded\r\n\r\n", "0\r\nA: 1\n\r\n", "0\r\n\rx", "ffffffffffffffffff\r\n"}) {
        CAPTURE(bad);
        CHECK(shown(head + std::string(bad)) == "200 bad: invalid chunk");
    }
    CHECK(shown(head + "3;" + std::string(2000, 'x')) == "200 bad: invalid chunk");
    CHECK(shown(head + "0\r\nA: " + std::string(2000, 'x')) == "200 bad: invalid chunk");
    // The limit applies to each chunk, not to the stream.
    std::string stream;
    for (int i = 0; i != 100; ++i) stream += "1;" + std::string(100, 'x') + "\r\na\r\n";
    CHECK(read_all_ways(head + stream).body == std::string(100, 'a'));
    CHECK(shown(head + "3\r\nab", true) == "200 more");
    CHECK(shown(head + "3\r\nabc\r\n0\r\n", true) == "200 more");
}

TEST_CASE("a body without a length extends to the end of the connection") {
    const result r = read_all_ways(ok + "A: 1\r\n\r\nhello", true);
    CHECK(r.shown == "200 end");
    CHECK(r.body == "hello");
    CHECK(!r.keep_alive);
    CHECK(shown(ok + "\r\n") == "200 more");
    CHECK(shown(ok + "\r\n", true) == "200 end");
    CHECK(shown(ok + "Content-Length: 3\r\n\r\nab", true) == "200 more");
    CHECK(shown(ok, true) == "more");
}

TEST_CASE("a restarted reader keeps nothing of the previous response") {
    response_reader reader(1000);
    reader.start(kind::usual);
    std::string_view bytes =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nKeep-Alive: timeout=7\r\nContent-Length: 0\r\nX: y\r\n\r\n";
    CHECK(reader.next(bytes) == event::head);
    CHECK(reader.idle_time() == std::chrono::seconds(7));
    CHECK(!reader.keep_alive());
    CHECK(reader.next(bytes) == event::end);
    reader.start(kind::usual);
    CHECK(!reader.begun());
    bytes = "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    CHECK(reader.next(bytes) == event::head);
    CHECK(reader.status() == 404);
    CHECK(reader.keep_alive());
    CHECK(!reader.idle_time());
    CHECK(reader.headers() == keel::http_client::header_list{{"transfer-encoding", "chunked"}});
    CHECK(reader.next(bytes) == event::end);
}

TEST_CASE("long headers are not kept in memory for the next response") {
    response_reader reader(100000);
    const std::string long_text(20000, 'x');
    const std::string first = ok + "Content-Length: 0\r\nX: " + long_text + "\r\n" + long_text + ": y\r\n\r\n";
    std::string_view bytes = first;
    reader.start(kind::usual);
    REQUIRE(reader.next(bytes) == event::head);
    CHECK(reader.headers().at(1).second.size() == 20000);
    CHECK(reader.headers().at(2).first.size() == 20000);
    REQUIRE(reader.next(bytes) == event::end);
    reader.start(kind::usual);
    const std::string second = ok + "Content-Length: 0\r\nA: b\r\nC: d\r\n\r\n";
    bytes = second;
    REQUIRE(reader.next(bytes) == event::head);
    REQUIRE(reader.headers().size() == 3);
    for (const auto& [key, value] : reader.headers()) {
        CHECK(key.capacity() <= 1024);
        CHECK(value.capacity() <= 1024);
    }
    CHECK(reader.next(bytes) == event::end);
}
