#include <keel/describe.hpp>

#include <doctest/doctest.h>

#include <map>
#include <memory>

namespace forms {

enum class color { red, green };
KEEL_DESCRIBE_ENUM(color, red, (green, "GREEN"))

struct point {
    double x = 0;
    double y = 0;
};
KEEL_DESCRIBE(point, x, (y, "Up"))

struct nothing {};
KEEL_DESCRIBE(nothing)

struct args {
    std::string name;
    std::optional<bool> loud;
    std::vector<point> points;
    std::map<std::string, std::string> tags;
    color paint = color::green;
};
KEEL_DESCRIBE(args, (name, "Who to greet", keel::min_length(1), keel::max_length(80)), loud,
              (points, keel::min_items(1), keel::max_items(9)), tags, (paint, keel::defaulted, keel::title("Paint")))

struct numbers {
    std::uint8_t byte = 3;
    std::int16_t small = 0;
    std::int64_t wide = 0;
    std::uint64_t huge = 0;
    float ratio = 0.1F;
};
KEEL_DESCRIBE(numbers, (byte, keel::minimum(1), keel::maximum(1000), keel::defaulted), (small, keel::maximum(7)),
              (wide, keel::exclusive_maximum(5)), huge, (ratio, keel::minimum(0.5), keel::defaulted))

struct odd {
    std::variant<int64_t, std::string, std::monostate> either;
    std::array<bool, 3> three{};
    keel::json::value any;
    std::vector<std::optional<std::string>> holes;
    std::string when;
    std::vector<bool> bits;
    std::optional<std::vector<std::string>> maybe;
};
KEEL_DESCRIBE(odd, either, three, (any, "Anything"), holes,
              (when, keel::wire("startsAt"), keel::format("date-time"), keel::pattern("^2")), bits, maybe)

struct tree {
    std::vector<tree> children;
};
KEEL_DESCRIBE(tree, children)

struct forest {
    tree first;
    std::optional<tree> second;
};
KEEL_DESCRIBE(forest, (first, "The first"), second)

struct chapter;
struct book {
    std::vector<chapter> chapters;
};
struct chapter {
    std::unique_ptr<book> cites;
};
KEEL_DESCRIBE_LATER(book)
KEEL_DESCRIBE(chapter, cites)
KEEL_DESCRIBE(book, chapters)

namespace other {
struct tree {
    std::map<std::string, tree> leaves;
};
KEEL_DESCRIBE(tree, leaves)
}  // namespace other

struct both {
    tree one;
    other::tree two;
};
KEEL_DESCRIBE(both, one, two)

}  // namespace forms

namespace {

template <class T>
std::string schema_text() {
    return keel::json::to_string(keel::schema_of<T>());
}

}  // namespace

TEST_CASE("TOOL-03: the schema of a struct is an object with its members in order") {
    CHECK(schema_text<forms::args>() ==
          R"({"type":"object","properties":{)"
          R"("name":{"type":"string","description":"Who to greet","minLength":1,"maxLength":80},)"
          R"("loud":{"type":"boolean"},)"
          R"("points":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"},)"
          R"("y":{"type":"number","description":"Up"}},"required":["x","y"]},"minItems":1,"maxItems":9},)"
          R"("tags":{"type":"object","additionalProperties":{"type":"string"}},)"
          R"("paint":{"type":"string","enum":["red","GREEN"],"title":"Paint","default":"GREEN"}},)"
          R"("required":["name","points","tags"]})");
    CHECK(schema_text<forms::nothing>() == R"({"type":"object","properties":{}})");
}

TEST_CASE("integers have the limits of their type unless narrower ones are given") {
    CHECK(schema_text<forms::numbers>() == R"({"type":"object","properties":{)"
                                           R"("byte":{"type":"integer","minimum":1,"maximum":255,"default":3},)"
                                           R"("small":{"type":"integer","minimum":-32768,"maximum":7},)"
                                           R"("wide":{"type":"integer","exclusiveMaximum":5},)"
                                           R"("huge":{"type":"integer","minimum":0},)"
                                           R"("ratio":{"type":"number","minimum":0.5,"default":0.1}},)"
                                           R"("required":["small","wide","huge"]})");
    CHECK(schema_text<int>() == R"({"type":"integer","minimum":-2147483648,"maximum":2147483647})");
}

TEST_CASE("variants, arrays, json::value and nullable elements have schemas") {
    CHECK(schema_text<forms::odd>() ==
          R"({"type":"object","properties":{)"
          R"("either":{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]},)"
          R"("three":{"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":3},)"
          R"("any":{"description":"Anything"},)"
          R"("holes":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]}},)"
          R"("startsAt":{"type":"string","pattern":"^2","format":"date-time"},)"
          R"("bits":{"type":"array","items":{"type":"boolean"}},)"
          R"("maybe":{"type":"array","items":{"type":"string"}}},)"
          R"("required":["either","three","any","holes","startsAt","bits"]})");
}

TEST_CASE("a recursive struct is defined once and referenced") {
    CHECK(schema_text<forms::tree>() ==
          R"({"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}},)"
          R"("required":["children"],"$defs":{"tree":{"type":"object","properties":{"children":{"type":"array",)"
          R"("items":{"$ref":"#/$defs/tree"}}},"required":["children"]}}})");
    CHECK(schema_text<forms::forest>() ==
          R"({"type":"object","properties":{"first":{"$ref":"#/$defs/tree","description":"The first"},)"
          R"("second":{"$ref":"#/$defs/tree"}},"required":["first"],"$defs":{"tree":{"type":"object","properties":)"
          R"({"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["children"]}}})");
    CHECK(keel::schema_of<std::vector<forms::tree>>()["items"]["$ref"].as_string() == "#/$defs/tree");
}

TEST_CASE("two mutually recursive structs need one definition") {
    const auto value = keel::schema_of<forms::book>();
    CHECK(value["$defs"].size() == 1);
    CHECK(value["properties"]["chapters"]["items"]["properties"]["cites"]["$ref"].as_string() == "#/$defs/book");
}

TEST_CASE("definitions with the same name get different keys") {
    const auto value = keel::schema_of<forms::both>();
    CHECK(value["properties"]["one"]["$ref"].as_string() == "#/$defs/tree");
    CHECK(value["properties"]["two"]["$ref"].as_string() == "#/$defs/tree_2");
    CHECK(value["$defs"]["tree"]["properties"].contains("children"));
    CHECK(value["$defs"]["tree_2"]["properties"].contains("leaves"));
}
