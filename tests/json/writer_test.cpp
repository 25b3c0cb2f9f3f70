#include <keel/json.hpp>

#include "random_value.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace keel;
using json::value;

namespace {

std::string quoted(std::string_view text) {
    std::string out;
    REQUIRE(json::write_string(out, text));
    return out;
}

}  // namespace

TEST_CASE("only control characters, quotes and backslashes are escaped") {
    CHECK(quoted("") == "\"\"");
    CHECK(quoted("\"\\\b\f\n\r\t") == R"("\"\\\b\f\n\r\t")");
    CHECK(quoted(std::string_view("\0\x01\x1f", 3)) == R"("\u0000\u0001\u001f")");
    CHECK(quoted("/\x7f \xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80") == "\"/\x7f \xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80\"");
    for (int c = 0; c != 128; ++c) {
        for (std::size_t before = 0; before != 20; ++before) {
            const std::string text = std::string(before, 'a') + static_cast<char>(c) + "b";
            REQUIRE(json::parse(quoted(text)) == text);
        }
    }
}

TEST_CASE("long strings with any content are written completely") {
    for (std::size_t n : {1000u, 1022u, 1023u, 1024u, 1025u, 5000u, 1'000'000u}) {
        for (const char* middle : {"", "\n", "é", "\x01é\""}) {
            const std::string text = std::string(n, 'x') + middle + std::string(n / 2, 'y');
            REQUIRE((json::parse(quoted(text)).as_string() == text));
        }
    }
    const std::string controls(5000, '\x02');
    CHECK((json::parse(quoted(controls)).as_string() == controls));
}

TEST_CASE("writing appends, without white space") {
    std::string out = "before ";
    CHECK(json::write(out, json::object({{"a", json::array({1, -2, true, false, nullptr, "x", 1.5, UINT64_MAX})},
                                         {"b", json::object()},
                                         {"c", json::array({json::array(), json::object()})}})));
    CHECK(out == R"(before {"a":[1,-2,true,false,null,"x",1.5,18446744073709551615],"b":{},"c":[[],{}]})");
}

TEST_CASE("values that JSON cannot express are rejected, and the output is unchanged") {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::string long_text(10'000, 'x');
    const value refused[] = {
        std::numeric_limits<double>::quiet_NaN(),
        infinity,
        -infinity,
        "\xFF",
        "\xED\xA0\x80",
        "cut off \xE2\x82",
        json::array({1, long_text, infinity}),
        json::object({{"a", json::array({json::object({{"b", "\xC0\x80"}})})}}),
        json::object({{long_text, 1}, {"\xFF", 1}}),
    };
    for (const value& v : refused) {
        std::string out = "kept";
        CHECK(!json::write(out, v));
        CHECK(out == "kept");
        CHECK_THROWS_AS(json::to_string(v), json::error);
    }
    std::string out = "kept";
    CHECK(!json::write_string(out, long_text + "\n" + long_text + "\x80"));
    CHECK(out == "kept");
    CHECK(!json::write_double(out, infinity));
    CHECK(out == "kept");
}

TEST_CASE("every written value is read back as the same value") {
    json::test::random_values random(42);
    json::document source;
    for (int i = 0; i != 20'000; ++i) {
        const value v = random.any();
        const std::string text = json::to_string(v);
        REQUIRE(text.find('\n') == std::string::npos);
        const value* read = source.read(text);
        REQUIRE(read);
        REQUIRE(*read == v);
        REQUIRE(json::to_string(*read) == text);
        const value copy = *read;
        REQUIRE(copy == v);
        REQUIRE(!copy.borrowed());
    }
}

TEST_CASE("strings of several blocks are written like short ones") {
    for (std::size_t n : {16'383u, 16'384u, 16'385u, 40'000u, 100'000u}) {
        for (std::string_view special : {"", "\n", "é", "\"", "\x01"}) {
            for (std::size_t at :
                 {std::size_t{0}, std::size_t{16'383}, std::size_t{16'384}, std::size_t{16'385}, n - 1}) {
                std::string text(n, 'x');
                if (at < n) text.insert(at, special);
                std::string out;
                REQUIRE(json::write_string(out, text));
                REQUIRE(json::parse(out).as_string() == text);
                REQUIRE(out.size() <= text.size() + 2 + 5);
            }
        }
        std::string bad(n, 'x');
        bad.back() = '\x80';
        std::string out = "before";
        CHECK(!json::write_string(out, bad));
        CHECK(out == "before");
    }
}
