#include <keel/describe.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>

namespace orders {

enum class color { red, green };
KEEL_DESCRIBE_ENUM(color, red, (green, "GREEN"))

enum old_style : unsigned short { first = 1, second = 65535 };
KEEL_DESCRIBE_ENUM(old_style, first, second)

struct item {
    std::string name;
    int size = 0;
};
KEEL_DESCRIBE(item, name, size)

struct args {
    std::string name;
    std::optional<int> count;
    std::vector<item> items;
    std::map<std::string, int> tags;
    color paint = color::red;
    int limit = 10;
};
KEEL_DESCRIBE(args, name, count, (items, keel::defaulted), (tags, keel::defaulted), (paint, keel::defaulted),
              (limit, "How many", keel::defaulted, keel::minimum(1), keel::maximum(100)))

struct circle {
    double radius = 0;
};
KEEL_DESCRIBE(circle, radius)
struct square {
    double side = 0;
};
KEEL_DESCRIBE(square, side)

struct limits {
    std::optional<double> ratio;
    std::optional<std::string> word;
    std::optional<std::vector<int>> list;
    std::optional<std::int64_t> big;
    std::optional<std::vector<bool>> bits;
};
KEEL_DESCRIBE(limits, (ratio, keel::exclusive_minimum(0), keel::exclusive_maximum(1.5)),
              (word, keel::min_length(2), keel::max_length(3)), (list, keel::min_items(1), keel::max_items(2)),
              (big, keel::maximum(9007199254740993)), (bits, keel::max_items(1)))

struct tree {
    std::vector<tree> children;
    std::unique_ptr<tree> next;
};
KEEL_DESCRIBE(tree, children, next)

struct all_of;
struct any_of;
using filter = std::variant<std::string, std::unique_ptr<all_of>, std::unique_ptr<any_of>>;
struct all_of {
    std::vector<filter> filters;
    bool all = false;
};
struct any_of {
    std::vector<filter> filters;
    bool any = false;
};
KEEL_DESCRIBE_LATER(any_of)
KEEL_DESCRIBE(all_of, filters, all)
KEEL_DESCRIBE(any_of, filters, any)

}  // namespace orders

namespace {

/// The error for a text, or "fine".
template <class T>
std::string complaint(std::string_view text, std::string_view prefix = "arguments") {
    keel::json::document document;
    const keel::json::value* value = document.read(text);
    REQUIRE(value != nullptr);
    T into{};
    keel::decode_error error;
    return keel::decode(*value, into, error, prefix) ? "fine" : error.message();
}

template <class T>
T from(std::string_view text) {
    return keel::decode<T>(keel::json::parse(text));
}

}  // namespace

TEST_CASE("members are found in any order, and unknown ones are ignored") {
    const auto a = from<orders::args>(R"({"x":[{}],"paint":"GREEN","items":[{"size":3,"name":"n"}],"y":null,)"
                                      R"("tags":{"t":5},"name":"Ada","count":2})");
    CHECK(a.name == "Ada");
    CHECK(a.count == 2);
    REQUIRE(a.items.size() == 1);
    CHECK(a.items[0].name == "n");
    CHECK(a.items[0].size == 3);
    CHECK(a.tags.at("t") == 5);
    CHECK(a.paint == orders::color::green);
    CHECK(a.limit == 10);
}

TEST_CASE("an error contains the path and the reason") {
    CHECK(complaint<orders::args>(R"({"name":"a","items":[{"name":"","size":1},{"name":"","size":1},{"name":3}]})") ==
          "arguments.items[2].name: expected string, found integer");
    CHECK(complaint<orders::args>(R"({"name":["a"]})") == "arguments.name: expected string, found array");
    CHECK(complaint<orders::args>(R"([])") == "arguments: expected object, found array");
    CHECK(complaint<orders::args>(R"({"name":"a","tags":{"t":true}})") ==
          "arguments.tags.t: expected integer, found boolean");
    CHECK(complaint<orders::args>(R"({"name":"a","tags":{"a.b \"":true}})") ==
          R"(arguments.tags["a.b \""]: expected integer, found boolean)");
    CHECK(complaint<orders::args>(R"({"name":"a","items":{}})") == "arguments.items: expected array, found object");
    CHECK(complaint<orders::args>(R"({"name":"a","count":"1"})") == "arguments.count: expected integer, found string");
    CHECK(complaint<std::vector<bool>>("[true,1]") == "arguments[1]: expected boolean, found integer");
}

TEST_CASE("without a prefix the path starts with the member") {
    CHECK(complaint<orders::item>(R"({"name":"n","size":{}})", "") == "size: expected integer, found object");
    CHECK(complaint<std::vector<int>>("[null]", "") == "[0]: expected integer, found null");
    CHECK(complaint<int>("\"1\"", "") == "expected integer, found string");
}

TEST_CASE("the error names the first missing required member") {
    CHECK(complaint<orders::args>("{}") == "arguments.name: required");
    CHECK(complaint<orders::item>("{}") == "arguments.name: required");
    CHECK(complaint<orders::item>(R"({"name":"n"})") == "arguments.size: required");
    CHECK(complaint<orders::args>(R"({"name":"a","items":[{"name":"b"}]})") == "arguments.items[0].size: required");
}

TEST_CASE("null is accepted only for an optional") {
    CHECK_FALSE(from<orders::args>(R"({"name":"a","count":null})").count.has_value());
    CHECK(complaint<orders::args>(R"({"name":null})") == "arguments.name: expected string, found null");
    CHECK(complaint<orders::args>(R"({"name":"a","limit":null})") == "arguments.limit: expected integer, found null");
}

TEST_CASE("a missing member keeps its previous value, null resets an optional") {
    orders::args into{.name = "", .count = 5, .items = {}, .tags = {}, .paint = orders::color::green, .limit = 7};
    keel::decode_error error;
    REQUIRE(keel::decode(keel::json::parse(R"({"name":"a"})"), into, error));
    CHECK(into.count == 5);
    CHECK(into.limit == 7);
    REQUIRE(keel::decode(keel::json::parse(R"({"name":"a","count":null})"), into, error));
    CHECK_FALSE(into.count.has_value());
}

TEST_CASE("lists and maps are replaced, not extended") {
    std::vector<orders::item> list(3);
    std::vector<bool> bits(3);
    std::map<std::string, int> map{{"old", 1}};
    keel::decode_error error;
    REQUIRE(keel::decode(keel::json::parse(R"([{"name":"n","size":1}])"), list, error));
    REQUIRE(keel::decode(keel::json::parse("[true]"), bits, error));
    REQUIRE(keel::decode(keel::json::parse(R"({"new":1})"), map, error));
    CHECK(list.size() == 1);
    CHECK(bits == std::vector<bool>{true});
    CHECK((map.size() == 1 && map.contains("new")));
}

TEST_CASE("integers are checked against the range of their type") {
    CHECK(complaint<std::uint8_t>("300") == "arguments: expected integer from 0 to 255, found 300");
    CHECK(complaint<std::uint8_t>("-1") == "arguments: expected integer from 0 to 255, found -1");
    CHECK(complaint<std::int8_t>("128") == "arguments: expected integer from -128 to 127, found 128");
    CHECK(complaint<std::uint16_t>("65536") == "arguments: expected integer from 0 to 65535, found 65536");
    CHECK(complaint<int>("2147483648") ==
          "arguments: expected integer from -2147483648 to 2147483647, found 2147483648");
    CHECK(complaint<std::int64_t>("9223372036854775808") ==
          "arguments: expected integer from -9223372036854775808 to 9223372036854775807, found 9223372036854775808");
    CHECK(complaint<std::uint64_t>("-1") == "arguments: expected integer from 0 to 18446744073709551615, found -1");
    CHECK(from<std::uint8_t>("255") == 255);
    CHECK(from<std::int8_t>("-128") == -128);
    CHECK(from<int>("-2147483648") == -2147483648LL);
    CHECK(from<std::int64_t>("-9223372036854775808") == INT64_MIN);
    CHECK(from<std::int64_t>("9223372036854775807") == INT64_MAX);
    CHECK(from<std::uint64_t>("18446744073709551615") == UINT64_MAX);
}

TEST_CASE("a number with an integral value is an integer, other numbers are not") {
    CHECK(from<int>("3.0") == 3);
    CHECK(from<int>("-2e3") == -2000);
    CHECK(from<std::uint64_t>("1e19") == 10000000000000000000ULL);
    CHECK(from<unsigned>("-0.0") == 0);
    CHECK(complaint<int>("3.5") == "arguments: expected integer, found 3.5");
    CHECK(complaint<std::uint8_t>("256.0").starts_with("arguments: expected integer from 0 to 255, found 256"));
    CHECK(complaint<std::int64_t>("9.223372036854775808e18").starts_with("arguments: expected integer from -9223"));
    CHECK(complaint<std::int64_t>("-9.3e18").starts_with("arguments: expected integer from -9223"));
    CHECK(complaint<std::uint64_t>("1e300").starts_with("arguments: expected integer from 0 to 1844"));
    const keel::json::value nan(std::nan(""));
    keel::decode_error error;
    int into = 0;
    CHECK_FALSE(keel::decode(nan, into, error));
}

TEST_CASE("any number is accepted as a real, and nothing else") {
    CHECK(from<double>("3") == 3.0);
    CHECK(from<double>("18446744073709551615") == 18446744073709551615.0);
    CHECK(from<float>("0.1") == 0.1F);
    CHECK(from<float>("-3.4028235e38") == -3.40282347e38F);
    CHECK(complaint<double>("\"1\"") == "arguments: expected number, found string");
    CHECK(complaint<float>("1e39").starts_with("arguments: expected number that fits a 32-bit float, found 1"));
}

TEST_CASE("no other type is converted to a boolean or a string") {
    CHECK(complaint<bool>("1") == "arguments: expected boolean, found integer");
    CHECK(complaint<bool>("\"true\"") == "arguments: expected boolean, found string");
    CHECK(complaint<std::string>("1.5") == "arguments: expected string, found number");
    CHECK(complaint<std::string>("true") == "arguments: expected string, found boolean");
}

TEST_CASE("an enum is encoded as one of its names") {
    CHECK(from<orders::color>("\"GREEN\"") == orders::color::green);
    CHECK(from<orders::old_style>("\"second\"") == orders::second);
    CHECK(complaint<orders::color>("\"green\"") == R"(arguments: expected one of "red", "GREEN", found "green")");
    CHECK(complaint<orders::color>("0") == "arguments: expected string, found integer");
}

TEST_CASE("text from the peer is truncated in messages, between characters") {
    const std::string text = '"' + std::string(63, 'x') + "é and more" + '"';
    CHECK(complaint<orders::color>(text) ==
          R"(arguments: expected one of "red", "GREEN", found ")" + std::string(63, 'x') + "…\"");
}

TEST_CASE("an array has a fixed number of items") {
    CHECK(from<std::array<int, 2>>("[1,2]") == std::array{1, 2});
    CHECK(complaint<std::array<int, 2>>("[1]") == "arguments: expected 2 items, found 1");
    CHECK(complaint<std::array<int, 1>>("[1,2]") == "arguments: expected 1 item, found 2");
    CHECK(complaint<std::array<int, 2>>("[1,\"2\"]") == "arguments[1]: expected integer, found string");
}

TEST_CASE("the first matching alternative of a variant is used") {
    using either = std::variant<std::monostate, int, std::string, std::vector<int>>;
    CHECK(from<either>("null").index() == 0);
    CHECK(std::get<int>(from<either>("5")) == 5);
    CHECK(std::get<std::string>(from<either>("\"s\"")) == "s");
    CHECK(from<either>("[1]").index() == 3);
    CHECK(complaint<either>("{}") == "arguments: expected null or integer or string or array, found object");
    CHECK(complaint<either>("[true]") == "arguments[0]: expected integer, found boolean");

    using shape = std::variant<orders::circle, orders::square>;
    CHECK(std::get<orders::square>(from<shape>(R"({"side":2})")).side == 2);
    CHECK(complaint<shape>(R"({"diameter":2})") ==
          "arguments: matches no alternative (.radius: required; .side: required)");
    CHECK(complaint<shape>("1") == "arguments: expected object, found integer");
    CHECK(from<std::variant<std::uint8_t, double>>("256").index() == 1);
}

TEST_CASE("nested variants cannot make decoding exponential") {
    const auto nested = [](int depth, std::string_view innermost) {
        std::string text(innermost);
        for (int i = 0; i < depth; ++i) text = R"({"filters":[)" + text + R"(],"any":true})";
        return text;
    };
    CHECK(complaint<orders::filter>(nested(8, "\"x\"")) == "fine");
    // Both alternatives decode the content before they differ: without a limit it would be decoded 2^200 times.
    const std::string refused = complaint<orders::filter>(nested(200, "\"x\""));
    CHECK(refused.starts_with("arguments: matches no alternative ("));
    CHECK(refused.size() < 500);
    CHECK(complaint<orders::filter>(nested(200, "true")).size() < 500);
    std::string wide = "[" + nested(1, "\"x\"");
    for (int i = 1; i < 20000; ++i) wide += "," + nested(1, "\"x\"");
    CHECK(complaint<std::vector<orders::filter>>(wide + "]") == "fine");
}

TEST_CASE("any JSON can be stored, and outlives its document") {
    keel::json::value kept;
    {
        const std::string text = R"({"a":[1,"two"]})";
        keel::json::document document;
        keel::decode_error error;
        REQUIRE(keel::decode(*document.read(text), kept, error));
    }
    CHECK_FALSE(kept.borrowed());
    CHECK(keel::json::to_string(kept) == R"({"a":[1,"two"]})");
}

TEST_CASE("the limits of a member are checked") {
    CHECK(complaint<orders::args>(R"({"name":"a","limit":0})") == "arguments.limit: expected at least 1, found 0");
    CHECK(complaint<orders::args>(R"({"name":"a","limit":101})") == "arguments.limit: expected at most 100, found 101");
    CHECK(complaint<orders::args>(R"({"name":"a","limit":100})") == "fine");
    CHECK(complaint<orders::limits>(R"({"ratio":0})") == "arguments.ratio: expected more than 0, found 0");
    CHECK(complaint<orders::limits>(R"({"ratio":1.5})") == "arguments.ratio: expected less than 1.5, found 1.5");
    CHECK(complaint<orders::limits>(R"({"word":"é"})") == "arguments.word: expected at least 2 characters, found 1");
    CHECK(complaint<orders::limits>(R"({"word":"ééé"})") == "fine");
    CHECK(complaint<orders::limits>(R"({"word":"éééé"})") == "arguments.word: expected at most 3 characters, found 4");
    CHECK(complaint<orders::limits>(R"({"list":[]})") == "arguments.list: expected at least 1 item, found 0");
    CHECK(complaint<orders::limits>(R"({"list":[1,2,3]})") == "arguments.list: expected at most 2 items, found 3");
    CHECK(complaint<orders::limits>(R"({"bits":[true,true]})") == "arguments.bits: expected at most 1 item, found 2");
    CHECK(complaint<orders::limits>(R"({"ratio":null,"word":null,"list":null})") == "fine");
    // 2^53 + 1 and its successor are the same double.
    CHECK(complaint<orders::limits>(R"({"big":9007199254740993})") == "fine");
    CHECK(complaint<orders::limits>(R"({"big":9007199254740994})") ==
          "arguments.big: expected at most 9007199254740993, found 9007199254740994");
}

TEST_CASE("a recursive struct is decoded to any depth") {
    const auto t = from<orders::tree>(R"({"children":[{"children":[{"children":[]}]}],"next":{"children":[]}})");
    CHECK(t.children.at(0).children.size() == 1);
    CHECK(t.next != nullptr);
    CHECK(complaint<orders::tree>(R"({"children":[{"children":[]},{"children":[{}]}]})") ==
          "arguments.children[1].children[0].children: required");
}

TEST_CASE("the throwing form gives the same message") {
    CHECK_THROWS_WITH_AS(keel::decode<orders::item>(keel::json::object(), "arguments"), "arguments.name: required",
                         keel::json::error);
}

TEST_CASE("an error object can be reused") {
    keel::decode_error error{.path = "old", .text = "old"};
    int into = 0;
    CHECK_FALSE(keel::decode(keel::json::value("x"), into, error, "p"));
    CHECK(error.message() == "p: expected integer, found string");
    CHECK_FALSE(keel::decode(keel::json::value(true), into, error));
    CHECK(error.path.empty());
    CHECK(error.text == "expected integer, found boolean");
}
