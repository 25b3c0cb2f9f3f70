// How bytes become lines: E2, skipped lines (E3), and an incomplete last line (C10).

#include "harness.hpp"
#include "rpc/line_framer.hpp"
#include "support/manual_loop.hpp"

using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

// The lines of a text that arrives in pieces of `step` bytes. A skipped line is shown as "! " and its beginning.
lines cut(std::string_view text, std::size_t step, std::size_t max_line = 1000) {
    lines out;
    line_framer f(max_line);
    for (std::size_t i = 0; i < text.size(); i += step) {
        f.feed(
            text.substr(i, step),
            [&](std::string_view line) {
                out.emplace_back(line);
                return true;
            },
            [&](std::string_view beginning) { out.push_back("! " + std::string(beginning)); });
    }
    if (std::string_view rest = f.remainder(); !rest.empty()) out.push_back("rest " + std::string(rest));
    return out;
}

}  // namespace

TEST_CASE("E2: empty lines, spaces, carriage returns and a byte order mark are ignored") {
    const std::string text = "\xEF\xBB\xBF{\"a\":1}\r\n\n  \n\t\r\n  {\"b\":2}  \r\n\r\n{\"c\":3}\n";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        CAPTURE(step);
        CHECK(cut(text, step) == lines{R"({"a":1})", R"({"b":2})", R"({"c":3})"});
    }
}

TEST_CASE("E2: a byte order mark is stripped only at the start of the stream") {
    CHECK(cut("{}\n\xEF\xBB\xBF{}\n", 100) == lines{"{}", "\xEF\xBB\xBF{}"});
}

TEST_CASE("E3: a line beyond the limit is skipped up to its newline, reported once, and the next one is read") {
    const std::string text = "{\"a\":1}\n" + std::string(50, 'x') + "\n{\"b\":2}\n" + std::string(12, 'y') + "\n";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        CAPTURE(step);
        CHECK(cut(text, step, 10) == lines{R"({"a":1})", "! xxxxxxxxxx", R"({"b":2})", "! yyyyyyyyyy"});
    }
}

TEST_CASE("E3: a line of exactly the limit is read") {
    for (std::size_t step = 1; step <= 12; ++step) CHECK(cut("0123456789\n", step, 10) == lines{"0123456789"});
}

TEST_CASE("C10: text after the last newline is kept until the end, unless it was being skipped") {
    for (std::size_t step = 1; step <= 12; ++step) {
        CHECK(cut("{}\n{\"a\":1} ", step) == lines{"{}", R"(rest {"a":1})"});
        CHECK(cut("{}\n0123456789a", step, 10) == lines{"{}", "! 0123456789"});
    }
}

namespace {

/// Feeds a text as a connection does: each piece is read into the room that the framer offers, if any.
struct room_reader {
    line_framer& framer;
    std::size_t in_room = 0;  // bytes that were not copied

    template <class Line>
    lines read(std::string_view text, std::size_t step, Line on_line) {
        lines out;
        std::string elsewhere;
        while (!text.empty()) {
            std::span<char> room = framer.room();
            std::string_view piece = text.substr(0, room.empty() ? step : std::min(step, room.size()));
            text.remove_prefix(piece.size());
            if (room.empty()) {
                elsewhere.assign(piece);
                piece = elsewhere;
            } else {
                std::copy(piece.begin(), piece.end(), room.begin());
                in_room += piece.size();
                piece = {room.data(), piece.size()};
            }
            framer.feed(
                piece,
                [&](std::string_view line) {
                    out.emplace_back(line);
                    on_line();
                    return true;
                },
                [&](std::string_view beginning) { out.push_back("! " + std::to_string(beginning.size())); });
        }
        return out;
    }
    lines read(std::string_view text, std::size_t step) {
        return read(text, step, [] {});
    }
};

}  // namespace

TEST_CASE("the pieces of a large line are read where they are kept") {
    const std::string a(500'000, 'a');
    const std::string b(300'000, 'b');
    for (std::size_t step : {std::size_t{4096}, std::size_t{65536}, std::size_t{100'000}, std::size_t{1'000'000}}) {
        CAPTURE(step);
        line_framer f(1'000'000);
        room_reader reader{f};
        CHECK(reader.read(a + "\n{}\n" + b + "\n", step) == lines{a, "{}", b});
        if (step < 100'000) CHECK(reader.in_room > 600'000);
    }
}

TEST_CASE("a line that is released while it is handled leaves the lines behind it intact") {
    keel::test::manual_loop loop;
    keel::async::spare_buffers spares(loop);
    line_framer f(1'000'000, &spares);
    room_reader reader{f};
    const std::string a(200'000, 'a');
    const auto reuse = [&] {
        f.release_line();
        std::string taken = spares.take(0);
        std::fill(taken.begin(), taken.end(), '!');  // as if the answer were written there
        spares.put(std::move(taken));
    };
    CHECK(reader.read(a + "\n{}\n[]\n" + a + "\n12", 65'536, reuse) == lines{a, "{}", "[]", a});
    CHECK(f.remainder() == "12");
}

TEST_CASE("E3: a large line beyond the limit is skipped also if it was read where it is kept") {
    for (std::size_t extra : {std::size_t{0}, std::size_t{1}, std::size_t{50'000}, std::size_t{500'000}}) {
        CAPTURE(extra);
        line_framer f(300'000);
        room_reader reader{f};
        const std::string a(300'000 + extra, 'a');
        lines expected{extra == 0 ? a : "! 300000", "{}"};
        CHECK(reader.read(a + "\n{}\n", 65'536) == expected);
    }
}

TEST_CASE("a large line uses the memory of the one before it") {
    keel::test::manual_loop loop;
    keel::async::spare_buffers spares(loop);
    line_framer f(1'000'000, &spares);
    room_reader reader{f};
    const std::string a(400'000, 'a');
    reader.read(a + "\n", 65'536);
    const std::size_t kept = spares.bytes();
    CHECK(kept >= 400'000);
    reader.read(a.substr(0, 200'000), 65'536);
    CHECK(spares.bytes() < kept - 400'000 + 1);
    reader.read(a.substr(200'000) + "\n", 65'536);
    CHECK(spares.bytes() == kept);
}

TEST_CASE("after a large line the next piece is read into spare memory, until a small line has come") {
    keel::test::manual_loop loop;
    keel::async::spare_buffers spares(loop);
    line_framer f(1'000'000, &spares);
    room_reader reader{f};
    const std::string a(100'000, 'a');
    CHECK(f.room().empty());
    reader.read(a + "\n", 1'000'000);  // whole in one piece: there is no spare buffer yet
    CHECK(f.room().empty());
    reader.read(a + "\n", 65'536);
    reader.in_room = 0;
    CHECK(reader.read(a + "\n", 1'000'000) == lines{a});
    CHECK(reader.in_room == a.size() + 1);
    CHECK(reader.read("{}\n[]\n12", 1'000'000) == lines{"{}", "[]"});
    CHECK(f.remainder() == "12");
    reader.in_room = 0;
    CHECK(reader.read("3\n{}\n", 1'000'000) == lines{"123", "{}"});
    CHECK(reader.in_room == 0);
}
