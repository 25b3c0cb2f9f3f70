// How bytes become lines: E2, skipped lines (E3), and an incomplete last line (C10).

#include "harness.hpp"
#include "rpc/line_framer.hpp"

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
