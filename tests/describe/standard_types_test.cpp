// Sets, times, durations, paths, and types with a codec.

#include <keel/describe.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;

namespace foreign {

struct money {  // a type without KEEL_DESCRIBE
    long cents = 0;
    bool operator==(const money&) const = default;
};

template <class T>
struct box {
    T content{};
};

}  // namespace foreign

template <>
struct keel::codec<foreign::money> {
    static json::value encode(const foreign::money& from) {
        return std::to_string(from.cents / 100) + '.' + std::to_string(from.cents % 100);
    }
    static bool decode(const json::value& from, foreign::money& into, decode_error& error) {
        const auto text = from.if_string();
        if (!text || text->find('.') == text->npos) {
            error = {"", "expected an amount like \"1.50\""};
            return false;
        }
        into.cents = std::stol(std::string(*text)) * 100 + std::stol(std::string(text->substr(text->find('.') + 1)));
        return true;
    }
    static json::value schema() { return json::object("type", "string", "pattern", "^[0-9]+[.][0-9]{2}$"); }
};

template <class T>
struct keel::codec<foreign::box<T>> {
    static json::value encode(const foreign::box<T>& from) { return keel::encode(from.content); }
    static bool decode(const json::value& from, foreign::box<T>& into, decode_error& error) {
        return keel::decode(from, into.content, error);
    }
};

namespace {

struct trip {
    std::set<std::string> tags;
    std::chrono::year_month_day day{std::chrono::year(2026), std::chrono::month(7), std::chrono::day(28)};
    std::chrono::sys_seconds start{};
    std::chrono::minutes length{};
    std::filesystem::path file;
};
KEEL_DESCRIBE(trip, tags, day, start, length, (file, "Where to store it"))

struct purchase {
    foreign::money price;
    std::vector<foreign::box<int>> boxes;
};
KEEL_DESCRIBE(purchase, price, boxes)

struct limited {
    std::set<int> numbers;
    std::set<int> more;
};
KEEL_DESCRIBE(limited, (numbers, keel::min_items(1), keel::max_items(2)), (more, keel::omit_empty))

template <class T>
std::string json_text(const T& value) {
    std::string written;
    REQUIRE(write_json(written, value));
    CHECK(json::to_string(encode(value)) == written);
    return written;
}

template <class T>
std::string failure(const char* text) {
    T into{};
    decode_error e;
    return decode(json::parse(text), into, e) ? "decoded" : e.message();
}

template <class T>
T from(const char* text) {
    return decode<T>(json::parse(text));
}

}  // namespace

TEST_CASE("sets are arrays with unique items") {
    CHECK(json_text(std::set<int>{3, 1, 2}) == "[1,2,3]");
    CHECK(json_text(std::set<int>{}) == "[]");
    CHECK(json_text(std::unordered_set<std::string>{"a"}) == R"(["a"])");
    CHECK(from<std::set<int>>("[2,1]") == std::set<int>{1, 2});
    CHECK(failure<std::set<int>>("[1,2,1]") == "[2]: expected unique items");
    CHECK(failure<std::set<int>>("[1,\"x\"]") == "[1]: expected integer, found string");
    CHECK(failure<std::set<int>>("3") == "expected array, found integer");
    CHECK(json::to_string(schema_of<std::set<bool>>()) ==
          R"({"type":"array","items":{"type":"boolean"},"uniqueItems":true})");
    CHECK(failure<limited>(R"({"numbers":[]})") == "numbers: expected at least 1 item, found 0");
    CHECK(json_text(limited{{1}, {}}) == R"({"numbers":[1]})");
}

TEST_CASE("dates and times are RFC 3339 text") {
    using namespace std::chrono;
    CHECK(json_text(year_month_day(year(2026), month(7), day(8))) == R"("2026-07-08")");
    CHECK(json_text(sys_days(year(1969) / 12 / 31)) == R"("1969-12-31")");
    CHECK(json_text(sys_seconds(0s)) == R"("1970-01-01T00:00:00Z")");
    CHECK(json_text(sys_seconds(-1s)) == R"("1969-12-31T23:59:59Z")");
    CHECK(json_text(sys_time<milliseconds>(1500ms)) == R"("1970-01-01T00:00:01.5Z")");
    CHECK(json_text(sys_time<nanoseconds>(-1ns)) == R"("1969-12-31T23:59:59.999999999Z")");

    CHECK(from<year_month_day>(R"("2024-02-29")") == year_month_day(year(2024), month(2), day(29)));
    CHECK(from<sys_days>(R"("1970-01-02")") == sys_days(days(1)));
    CHECK(from<sys_seconds>(R"("1970-01-01T01:00:00+01:00")") == sys_seconds(0s));
    CHECK(from<sys_seconds>(R"("1970-01-01t00:00:01.999z")") == sys_seconds(1s));
    CHECK(from<sys_time<milliseconds>>(R"("1970-01-01T00:00:01.2345Z")") == sys_time<milliseconds>(1234ms));
    CHECK(from<sys_seconds>(R"("1990-12-31T23:59:60Z")") == sys_seconds(sys_days(year(1991) / 1 / 1)));

    const std::string date = R"(expected a date like "2026-07-28", found )";
    CHECK(failure<year_month_day>(R"("2026-02-29")") == date + R"("2026-02-29")");
    CHECK(failure<year_month_day>(R"("2026-2-2")") == date + R"("2026-2-2")");
    CHECK(failure<sys_days>("20260228") == date + "integer");
    const std::string time = R"(expected a time like "2026-07-28T12:00:00Z", found )";
    for (const char* bad : {R"("2026-07-28")", R"("2026-07-28T12:00:00")", R"("2026-07-28T24:00:00Z")",
                            R"("2026-07-28T12:00:60Z")", R"("2026-07-28T12:00:00.Z")", R"("2026-07-28T12:00:00Z ")"}) {
        CHECK(failure<sys_seconds>(bad) == time + bad);
    }
    CHECK(failure<sys_time<nanoseconds>>(R"("3000-01-01T00:00:00Z")") ==
          R"(expected a value that this program can store, found "3000-01-01T00:00:00Z")");
    CHECK(failure<sys_time<hours>>(R"("2026-07-28T12:30:00Z")") ==
          R"(expected a multiple of the unit of this time, found "2026-07-28T12:30:00Z")");
}

TEST_CASE("durations are ISO 8601 text") {
    CHECK(json_text(90min) == R"("PT1H30M")");
    CHECK(json_text(0s) == R"("PT0S")");
    CHECK(json_text(std::chrono::days(2)) == R"("P2D")");
    CHECK(json_text(86461s) == R"("P1DT1M1S")");
    CHECK(json_text(1500ms) == R"("PT1.5S")");
    CHECK(json_text(-1500ms) == R"("-PT1.5S")");
    CHECK(json_text(std::chrono::duration<double>(0.25)) == R"("PT0.25S")");

    CHECK(from<std::chrono::minutes>(R"("PT1H30M")") == 90min);
    CHECK(from<std::chrono::seconds>(R"("P1W")") == 168h);

    CHECK(from<std::chrono::nanoseconds>(R"("-PT1.5S")") == -1500ms);
    CHECK(from<std::chrono::duration<double>>(R"("PT2M0.5S")") == std::chrono::duration<double>(120.5));

    CHECK(failure<std::chrono::milliseconds>(R"("PT0.0015S")") ==
          R"(expected a multiple of PT0.001S, found "PT0.0015S")");
    CHECK(failure<std::chrono::hours>(R"("PT90M")") == R"(expected a multiple of PT1H, found "PT90M")");
    const std::string duration = R"(expected a duration like "PT1H30M" (ISO 8601, without years and months), found )";
    for (const char* bad : {R"("P1Y")", R"("P")", R"("PT")", R"("PT1")", R"("1H")", R"("PT1S1H")", R"("PT1.5H")",
                            R"("PT1.S")", R"("P1DT")", R"("PT99999999999999999999S")"}) {
        CHECK(failure<std::chrono::nanoseconds>(bad) == duration + bad);
    }
    CHECK(failure<std::chrono::nanoseconds>("30") == duration + "integer");
    CHECK(failure<std::chrono::nanoseconds>(R"("P200000D")") ==
          R"(expected a value that this program can store, found "P200000D")");
}

TEST_CASE("times that have no text cannot be encoded") {
    using namespace std::chrono;
    const year_month_day none(year(2026), month(2), day(30));
    CHECK_THROWS_AS(encode(none), json::error);
    std::string out = "before";
    CHECK(!write_json(out, none));
    CHECK(!write_json(out, sys_time<days>(days(4'000'000))));
    CHECK(!write_json(out, std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())));
    CHECK(out == "before");
}

TEST_CASE("paths are strings without null characters") {
    CHECK(json_text(std::filesystem::path("/tmp/a b")) == R"("/tmp/a b")");
    CHECK(from<std::filesystem::path>(R"("a/b")") == std::filesystem::path("a/b"));
    CHECK(failure<std::filesystem::path>(R"("a\u0000b")") ==
          R"(expected a path without a null character, found "a\u0000b")");
    CHECK(failure<std::filesystem::path>("1") == "expected string, found integer");
    std::string out;
    CHECK(!write_json(out, std::filesystem::path("\xff")));
}

TEST_CASE("the schemas of times and paths have a format") {
    CHECK(
        json::to_string(schema_of<trip>()) ==
        R"({"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true},)"
        R"("day":{"type":"string","format":"date"},"start":{"type":"string","format":"date-time"},)"
        R"("length":{"type":"string","format":"duration"},"file":{"type":"string","description":"Where to store it"}},)"
        R"("required":["tags","day","start","length","file"]})");
    CHECK(json::to_string(schema_of<std::chrono::sys_days>()) == R"({"type":"string","format":"date"})");
    const trip sample =
        from<trip>(R"({"tags":["a"],"day":"2026-07-28","start":"2026-07-28T12:00:00Z","length":"PT5M","file":"x"})");
    CHECK(json_text(sample) ==
          R"({"tags":["a"],"day":"2026-07-28","start":"2026-07-28T12:00:00Z","length":"PT5M","file":"x"})");
}

TEST_CASE("a codec adds a foreign type") {
    CHECK(json_text(foreign::money{150}) == R"("1.50")");
    CHECK(from<foreign::money>(R"("1.50")") == foreign::money{150});
    CHECK(failure<purchase>(R"({"price":3,"boxes":[]})") == R"(price: expected an amount like "1.50")");
    CHECK(failure<purchase>(R"({"price":"1.50","boxes":[1,"x"]})") == "boxes[1]: expected integer, found string");
    CHECK(json::to_string(schema_of<purchase>()["properties"]) ==
          R"({"price":{"type":"string","pattern":"^[0-9]+[.][0-9]{2}$"},"boxes":{"type":"array","items":{}}})");
}

TEST_CASE("decoding checks everything except patterns, formats and the schemas of codecs") {
    CHECK(detail::decoding_checks_all(detail::type_for<trip>));
    CHECK(detail::decoding_checks_all(detail::type_for<limited>));
    CHECK(!detail::decoding_checks_all(detail::type_for<purchase>));
    CHECK(!detail::decoding_checks_all(detail::type_for<std::vector<std::optional<foreign::money>>>));
}
