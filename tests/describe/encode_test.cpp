#include <keel/describe.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <memory>
#include <unordered_map>

namespace shop {

enum class color { red, green };
KEEL_DESCRIBE_ENUM(color, red, green)

enum class level : signed char { low = -1, high = 100 };
KEEL_DESCRIBE_ENUM(level, (low, "LOW"), high)

struct point {
    double x = 0;
    double y = 0;
};
KEEL_DESCRIBE(point, x, y)

struct nothing {};
KEEL_DESCRIBE(nothing)

struct everything {
    bool flag = true;
    std::int8_t i8 = -128;
    std::uint8_t u8 = 255;
    std::int16_t i16 = -32768;
    std::uint16_t u16 = 65535;
    int i32 = -2147483647;
    unsigned u32 = 4294967295U;
    long i64 = std::numeric_limits<long>::min();
    unsigned long long u64 = std::numeric_limits<unsigned long long>::max();
    float f = 0.1F;
    double d = 0.5;
    std::string text = "a\"b";
    color paint = color::green;
    level how = level::low;
    std::optional<int> absent;
    std::optional<int> present = 7;
    std::vector<point> points = {{1, 2}, {3, 4}};
    std::vector<bool> bits = {true, false};
    std::array<int, 2> pair = {1, 2};
    std::map<std::string, int> tags = {{"a", 1}, {"b", 2}};
    std::unordered_map<std::string, std::string> words = {{"k", "v"}};
    std::variant<int, std::string> either = "s";
    keel::json::value any = keel::json::array({1, nullptr});
    nothing empty;
    std::unique_ptr<point> box = std::make_unique<point>(point{5, 6});
    std::unique_ptr<point> no_box;
    std::vector<std::optional<int>> holes = {1, std::nullopt};
};
KEEL_DESCRIBE(everything, flag, i8, u8, i16, u16, i32, u32, i64, u64, f, d, text, paint, how, absent, present, points,
              bits, pair, tags, words, either, any, empty, box, no_box, holes)

struct renamed {
    int input_schema = 1;
    int odd = 2;
};
KEEL_DESCRIBE(renamed, (input_schema, keel::wire("inputSchema")), (odd, "Odd", keel::wire("a \"b\" é")))

struct base {
    int inherited = 1;
    virtual ~base() = default;
};
struct derived : base {
    int own = 2;
};
KEEL_DESCRIBE(derived, inherited, own)

struct many {
    int a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, b0 = 10, b1 = 11, b2 = 12,
        b3 = 13, b4 = 14, b5 = 15, b6 = 16, b7 = 17, b8 = 18, b9 = 19, c0 = 20, c1 = 21, c2 = 22, c3 = 23, c4 = 24,
        c5 = 25, c6 = 26, c7 = 27, c8 = 28, c9 = 29, d0 = 30, d1 = 31, d2 = 32, d3 = 33, d4 = 34, d5 = 35, d6 = 36,
        d7 = 37, d8 = 38, d9 = 39, e0 = 40, e1 = 41, e2 = 42, e3 = 43, e4 = 44, e5 = 45, e6 = 46, e7 = 47, e8 = 48,
        e9 = 49, f0 = 50, f1 = 51, f2 = 52, f3 = 53, f4 = 54, f5 = 55, f6 = 56, f7 = 57, f8 = 58, f9 = 59, g0 = 60,
        g1 = 61, g2 = 62, g3 = 63;
};
KEEL_DESCRIBE(many, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4,
              c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0,
              f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, (g3, "the last"))

struct outer {
    struct inner {
        int x = 1;
    };
    inner in;
};
KEEL_DESCRIBE(outer::inner, x)
KEEL_DESCRIBE(outer, in)

struct tree {
    int n = 0;
    std::vector<tree> children;
    std::unique_ptr<tree> next;
};
KEEL_DESCRIBE(tree, n, children, next)

struct plain {};

}  // namespace shop

namespace {

struct hidden {
    int x = 1;
};
KEEL_DESCRIBE(hidden, x);

/// Both ways of encoding, which must agree.
template <class T>
std::string text_of(const T& from) {
    std::string text;
    REQUIRE(keel::write_json(text, from));
    CHECK(text == keel::json::to_string(keel::encode(from)));
    return text;
}

}  // namespace

static_assert(keel::described<shop::point> && keel::described<shop::nothing> && keel::described<hidden>);
static_assert(!keel::described<shop::plain> && !keel::described<int> && !keel::described<shop::color>);
static_assert(!keel::described<shop::base>);
static_assert(keel::described_enum<shop::color> && !keel::described_enum<shop::point>);

TEST_CASE("every kind of member is encoded, and absent optionals are omitted") {
    CHECK(text_of(shop::everything{}) ==
          R"({"flag":true,"i8":-128,"u8":255,"i16":-32768,"u16":65535,"i32":-2147483647,"u32":4294967295,)"
          R"("i64":-9223372036854775808,"u64":18446744073709551615,"f":0.1,"d":0.5,"text":"a\"b","paint":"green",)"
          R"("how":"LOW","present":7,"points":[{"x":1.0,"y":2.0},{"x":3.0,"y":4.0}],"bits":[true,false],)"
          R"("pair":[1,2],"tags":{"a":1,"b":2},"words":{"k":"v"},"either":"s","any":[1,null],"empty":{},)"
          R"("box":{"x":5.0,"y":6.0},"holes":[1,null]})");
}

TEST_CASE("empty containers and structs are encoded as such") {
    CHECK(text_of(shop::nothing{}) == "{}");
    CHECK(text_of(std::vector<int>{}) == "[]");
    CHECK(text_of(std::vector<bool>{}) == "[]");
    CHECK(text_of(std::map<std::string, int>{}) == "{}");
    CHECK(text_of(std::optional<int>{}) == "null");
    CHECK(text_of(std::variant<std::monostate, int>{}) == "null");
}

TEST_CASE("the wire name replaces the member's name, and is escaped if necessary") {
    CHECK(text_of(shop::renamed{}) == R"({"inputSchema":1,"a \"b\" é":2})");
}

TEST_CASE("members of a base, of nested structs and of unnamed namespaces can be described") {
    CHECK(text_of(shop::derived{}) == R"({"inherited":1,"own":2})");
    CHECK(text_of(shop::outer{}) == R"({"in":{"x":1}})");
    CHECK(text_of(hidden{}) == R"({"x":1})");
}

TEST_CASE("a struct may have 64 members") {
    const shop::many made{};
    const auto value = keel::encode(made);
    CHECK(value.size() == 64);
    CHECK(value["g3"].as_int() == 63);
    shop::many back;
    back.g3 = 0;
    keel::decode_error error;
    REQUIRE(keel::decode(value, back, error));
    CHECK(back.g3 == 63);
}

TEST_CASE("a struct may be recursive") {
    shop::tree t{.n = 1, .children = {}, .next = std::make_unique<shop::tree>()};
    t.children.emplace_back().n = 2;
    CHECK(text_of(t) == R"({"n":1,"children":[{"n":2,"children":[]}],"next":{"n":0,"children":[]}})");
}

TEST_CASE("values that JSON cannot express are rejected, and the output is unchanged") {
    std::string out = "before";
    const auto refused = [&](const auto& from) { return !keel::write_json(out, from) && out == "before"; };
    CHECK(refused(shop::point{1, std::numeric_limits<double>::quiet_NaN()}));
    CHECK(refused(shop::point{1, -std::numeric_limits<double>::infinity()}));
    CHECK(refused(std::vector<float>{0, std::numeric_limits<float>::infinity()}));
    CHECK(refused(std::vector<std::string>{"good", "\xff"}));
    CHECK(refused(std::map<std::string, int>{{"\xc0\x80", 1}}));
    CHECK(refused(std::vector<keel::json::value>{1, std::numeric_limits<double>::quiet_NaN()}));
    CHECK(refused(static_cast<shop::color>(7)));
    CHECK_THROWS_AS(keel::encode(static_cast<shop::color>(7)), keel::json::error);
}

TEST_CASE("a float is written with the fewest digits of a float, and read back") {
    for (float f : {0.1F, 1e-30F, 3.4028235e38F, 16777216.0F, -2.5F, 1.17549435e-38F, 0.3333333432674408F}) {
        std::string text;
        REQUIRE(keel::write_json(text, f));
        CHECK(text.size() <= 20);
        CHECK(keel::decode<float>(keel::json::parse(text)) == f);
    }
}

TEST_CASE("an encoded value decodes to the same value") {
    const std::string text = text_of(shop::everything{});
    const auto back = keel::decode<shop::everything>(keel::json::parse(text));
    std::string again;
    REQUIRE(keel::write_json(again, back));
    CHECK(again == text);
}
