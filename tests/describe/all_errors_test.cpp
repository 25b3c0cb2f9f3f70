#include <keel/describe.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

using namespace keel;

namespace {

struct line {
    int from = 0;
    int to = 0;
};
KEEL_DESCRIBE(line, from, (to, keel::minimum(1)))

struct circle {
    double radius = 0;
    double depth = 0;
};
KEEL_DESCRIBE_TAGGED(circle, "type", "circle", radius, depth)

struct square {
    double side = 0;
};
KEEL_DESCRIBE_TAGGED(square, "type", "square", side)

struct drawing {
    std::string name;
    std::vector<line> lines;
    std::map<std::string, int> sizes;
    std::variant<circle, square> shape;
    std::variant<line, bool> mixed;
    std::vector<bool> bits;
    std::array<int, 2> pair{};
    std::set<int> numbers;
};
KEEL_DESCRIBE(drawing, (name, keel::min_length(1)), lines, sizes, shape, mixed, bits, pair, numbers)

template <class T>
std::vector<std::string> errors(const char* text, std::string_view prefix = {}) {
    T into{};
    std::vector<std::string> messages;
    for (const decode_error& e : detail::all_decode_errors(detail::type_for<T>, json::parse(text), &into, prefix)) {
        messages.push_back(e.message());
    }
    return messages;
}

}  // namespace

TEST_CASE("all errors are collected, each with its path") {
    const auto found = errors<drawing>(R"({
        "name": "",
        "lines": [{"from": "x", "to": 0}, {"from": 1, "to": 1}, {}],
        "sizes": {"a": 1, "b": "x", "c d": null},
        "shape": {"type": "circle", "radius": "x"},
        "bits": [true, 1],
        "pair": [1, "x"],
        "numbers": [1, 1, "x"]})",
                                       "arguments");
    const std::vector<std::string> expected = {
        "arguments.name: expected at least 1 character, found 0",
        "arguments.lines[0].from: expected integer, found string",
        "arguments.lines[0].to: expected at least 1, found 0",
        "arguments.lines[2].from: required",
        "arguments.lines[2].to: required",
        "arguments.sizes.b: expected integer, found string",
        "arguments.sizes[\"c d\"]: expected integer, found null",
        "arguments.shape.radius: expected number, found string",
        "arguments.shape.depth: required",
        "arguments.bits[1]: expected boolean, found integer",
        "arguments.pair[1]: expected integer, found string",
        "arguments.numbers[1]: expected unique items",
        "arguments.numbers[2]: expected integer, found string",
        "arguments.mixed: required",
    };
    CHECK(found == expected);
}

TEST_CASE("alternatives of a variant give one error") {
    using either = std::variant<line, circle>;
    const auto found = errors<std::vector<std::variant<line, std::map<std::string, int>>>>(R"([{"a":"x"}, 3])");
    REQUIRE(found.size() == 2);
    CHECK(found[0] == "[0]: matches no alternative (.from: required; .a: expected integer, found string)");
    CHECK(found[1] == "[1]: expected object, found integer");
    CHECK(errors<either>(R"({"type":"circle"})") == std::vector<std::string>{"radius: required", "depth: required"});
}

TEST_CASE("the number of errors is limited") {
    std::string text = "[";
    for (int i = 0; i < 1000; ++i) text += i == 0 ? "\"x\"" : ",\"x\"";
    text += "]";
    CHECK(errors<std::vector<int>>(text.c_str()).size() == 20);
    CHECK(errors<std::set<int>>(text.c_str()).size() == 20);
    CHECK(errors<std::vector<std::vector<int>>>(("[" + text + "," + text + "]").c_str()).size() == 20);
}

TEST_CASE("a valid value has no errors") {
    CHECK(errors<line>(R"({"from":1,"to":2})").empty());
    CHECK(errors<line>("3") == std::vector<std::string>{"expected object, found integer"});
}
