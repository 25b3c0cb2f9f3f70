#include "http/sse_writer.hpp"
#include "http_common/sse_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace keel::http;
using std::chrono::milliseconds;

namespace {

struct sse_outcome {
    std::string events;  // "[id|event|data]" for each
    std::string last_id;
    long long retry = -1;
    bool operator==(const sse_outcome&) const = default;
};

sse_outcome read_pieces(const std::vector<std::string_view>& pieces, const sse_limits& limits) {
    sse_reader reader(limits);
    sse_outcome out;
    for (std::string_view piece : pieces) {
        const std::string own(piece);
        reader.feed(
            own,
            [&](const sse_event& e) {
                out.events.append("[").append(e.id).append("|").append(e.event).append("|").append(e.data).append("]");
            },
            [&](std::string_view beginning) { out.events.append("[large: ").append(beginning).append("]"); });
    }
    out.last_id = reader.last_event_id();
    if (reader.retry()) out.retry = reader.retry()->count();
    return out;
}

/// Returns the outcome, and checks that it does not depend on how the stream is split.
sse_outcome read(std::string_view stream, const sse_limits& limits = {}) {
    const sse_outcome whole = read_pieces({stream}, limits);
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
        INFO("cut at " << cut);
        CHECK(read_pieces({stream.substr(0, cut), stream.substr(cut)}, limits) == whole);
    }
    std::vector<std::string_view> single;
    for (std::size_t i = 0; i != stream.size(); ++i) single.push_back(stream.substr(i, 1));
    CHECK(read_pieces(single, limits) == whole);
    return whole;
}

}  // namespace

TEST_CASE("events are written in the format of the standard") {
    std::string out;
    append_event(out, "7", "message", R"({"a":1})");
    append_event(out, {}, {}, "x");
    append_priming_event(out, "s-1");
    append_comment(out, "ping");
    append_comment(out);
    append_retry(out, milliseconds(1500));
    append_retry(out, milliseconds(-3));
    CHECK(out ==
          "id: 7\nevent: message\ndata: {\"a\":1}\n\n"
          "data: x\n\n"
          "id: s-1\ndata: \n\n"
          ": ping\n\n"
          ": \n\n"
          "retry: 1500\n\nretry: 0\n\n");
}

TEST_CASE("a line end in an event cannot break the framing") {
    std::string out;
    append_event(out, {}, {}, "a\nb\r\nc\rd\n\n");
    CHECK(out == "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: \n\n");
    CHECK(read(out).events == "[|message|a\nb\nc\nd\n\n]");

    out.clear();
    append_event(out, "1\n\ndata: forged", "e\r\nid: 9", "\n\nevent: forged\n\n");
    append_comment(out, "a\n\ndata: forged\r\n\r\n");
    CHECK(read(out).events == "[1data: forged|eid: 9|\n\nevent: forged\n\n]");
}

TEST_CASE("HTTP-10 comments and unknown fields are ignored") {
    CHECK(read(": hello\n:\n\ndata: a\n: between\nfoo: bar\nfoo\ndata: b\n\n").events == "[|message|a\nb]");
    CHECK(read(":data: x\n\n").events.empty());
    CHECK(read("Data: x\n data: y\ndata : z\n\n").events.empty());
}

TEST_CASE("lines end with CR, LF or CRLF") {
    CHECK(read("data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\n\r\ndata: e\r\n\r").events ==
          "[|message|a][|message|b][|message|c][|message|d][|message|e]");
    CHECK(read("data: a\r\ndata: b\r\n\r\n").events == "[|message|a\nb]");
}

TEST_CASE("one byte order mark at the start is skipped") {
    CHECK(read("\xef\xbb\xbf"
               "data: a\n\n\xef\xbb\xbf"
               "data: b\n\n")
              .events == "[|message|a]");
    CHECK(read("\xef\xbb\xbf\xef\xbb\xbf"
               "data: a\n\n")
              .events.empty());
}

TEST_CASE("one blank after the colon of a field is removed, and the colon is optional") {
    CHECK(read("data:a\n\ndata:  b\n\ndata\n\ndata\ndata\n\ndata: a:b\n\n").events ==
          "[|message|a][|message| b][|message|][|message|\n][|message|a:b]");
    CHECK(read("event: x\ndata: a\n\ndata: b\n\nevent: y\n\ndata: c\n\n").events == "[|x|a][|message|b][|message|c]");
}

TEST_CASE("the id of an event without data is remembered") {
    std::string out;
    append_priming_event(out, "s-1");
    const sse_outcome o = read(out);
    CHECK(o.events == "[s-1|message|]");
    CHECK(o.last_id == "s-1");
    CHECK(read("id: 4\n\n").last_id == "4");
    CHECK(read("id: 4\n\n").events.empty());
}

TEST_CASE("an event id persists, can be reset, and takes effect at the end of its event") {
    CHECK(read("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n").events == "[1|message|a][1|message|b][|message|c]");
    CHECK(read("id: 1\n\nid: 2\ndata: x\n").last_id == "1");
    CHECK(read(std::string("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", 31)).events == "[1|message|a][1|message|b]");
}

TEST_CASE("retry accepts digits only") {
    CHECK(read("retry: 1500\n").retry == 1500);
    CHECK(read("retry: 0\n").retry == 0);
    CHECK(read("retry: 5\nretry: 1.5\nretry: -1\nretry: 2s\nretry:\nretry: +3\nretry:  4\n").retry == 5);
    CHECK(read("retry: 99999999999999999999\n").retry == -1);
}

TEST_CASE("an event without its empty line is discarded") {
    CHECK(read("data: a\n\ndata: b\n").events == "[|message|a]");
    sse_reader reader;
    std::vector<std::string> seen;
    const auto sink = [&](const sse_event& e) { seen.push_back(std::string(e.id) + "|" + std::string(e.data)); };
    reader.feed("retry: 9\nid: 1\ndata: a\n\nid: 2\ndata: b\nda", sink, {});
    reader.restart();
    CHECK(reader.last_event_id() == "1");
    CHECK(reader.retry() == milliseconds(9));
    reader.feed(
        "\xef\xbb\xbf"
        "data: c\n\n",
        sink, {});
    CHECK(seen == std::vector<std::string>{"1|a", "1|c"});
    reader.forget_position();
    CHECK(reader.last_event_id().empty());
    CHECK(reader.retry() == milliseconds(9));
    reader.feed("data: d\n\n", sink, {});
    CHECK(seen.back() == "|d");
}

TEST_CASE("E3, J4: an event that is too large is skipped, and the stream continues") {
    const sse_limits limits{.max_event = 8};
    CHECK(read("data: 1234\ndata: 123\n\n", limits).events == "[|message|1234\n123]");
    // In one line, in several lines, in a line without an end.
    CHECK(read("data: a\n\ndata: 123456789\n\ndata: b\n\n", limits).events ==
          "[|message|a][large: 123456789][|message|b]");
    CHECK(read("data: 1234\ndata: 1234\ndata: 5\n\ndata: b\n\n", limits).events == "[large: 1234\n1234][|message|b]");
    const std::string line(2000, 'x');
    CHECK(read("data: " + line + "\ndata: y\n\ndata: b\n\n", limits).events ==
          "[large: " + line.substr(0, 18) + "][|message|b]");
    // The error is reported as soon as it is known: the event may never end.
    CHECK(read("data: " + line, limits).events == "[large: " + line.substr(0, 18) + "]");
    // Its other fields still apply.
    const sse_outcome o = read("id: 1\n\nid: 2\nretry: 5\ndata: " + line + "\nevent: x\n\ndata: b\n\n", limits);
    CHECK(o.events == "[large: " + line.substr(0, 18) + "][2|message|b]");
    CHECK(o.last_id == "2");
    CHECK(o.retry == 5);
}

TEST_CASE("J4: only the beginning of an event that is too large is kept") {
    const sse_limits limits{.max_event = 100'000};
    const std::string large(300'000, 'x');
    sse_reader reader(limits);
    std::string beginning;
    const auto take = [&](std::string_view text) { beginning = text; };
    reader.feed("data: 1\ndata: " + large + "\ndata: " + large + "\n\n", {}, take);
    CHECK(beginning == "1\n" + large.substr(0, 1024 - std::string_view("data: ").size()));
    beginning.clear();
    for (int i = 0; i != 2000; ++i)
        reader.feed("data: 0123456789012345678901234567890123456789012345678901234567\n", {}, take);
    CHECK(beginning.size() == 1024);
}

TEST_CASE("J4: lines without data are limited, without effect on others") {
    const sse_limits limits{.max_event = 100};
    const std::string line(1000, 'x');
    CHECK(read(": " + line + "\ndata: a\n\n", limits).events == "[|message|a]");
    CHECK(read("foo: " + line + "\ndata: a\n\n", limits).events == "[|message|a]");
    CHECK(read("event: " + line + "\ndata: a\n\n", limits).events == "[|" + line.substr(0, 109) + "|a]");
    CHECK(read("retry: 5\nretry: " + std::string(1000, '1') + "\n", limits).retry == 5);
    CHECK(read("id: 1\n\nid: " + line + "\ndata: a\n\n", limits).events == "[|message|a]");
}

TEST_CASE("J4: an id that is too long for a header is ignored") {
    const std::string longest(8 * 1024, 'i');
    const auto last_id = [](const std::string& id) {
        sse_reader reader;
        reader.feed("id: 1\n\nid: " + id + "\ndata: a\n\n", [](const sse_event&) {}, {});
        return std::string(reader.last_event_id());
    };
    CHECK(last_id(longest) == longest);
    CHECK(last_id(longest + "i").empty());
}
