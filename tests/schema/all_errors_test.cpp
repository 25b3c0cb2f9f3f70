#include <keel/schema.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace keel;

namespace {

std::vector<std::string> errors(const char* document, const char* value, std::string_view prefix = {},
                                const schema_options& options = {}) {
    std::vector<std::string> messages;
    for (const decode_error& e : schema(json::parse(document), options).all_errors(json::parse(value), prefix)) {
        messages.push_back(e.message());
    }
    return messages;
}

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("all errors of members and elements are collected, each with its path") {
    const char* document = R"({
        "type": "object",
        "properties": {
            "a": {"type": "integer"}, "b": {},
            "list": {"type": "array", "items": {"$ref": "#/$defs/point"}},
            "pair": {"prefixItems": [{"type": "string"}, {"type": "string"}]}
        },
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": false,
        "required": ["a", "b", "list"],
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x", "y"]}}
    })";
    CHECK(errors(document, R"({"a":"1","list":[{"x":1,"y":2},{"x":"1"},3],"pair":[1,2],"x-1":2,"more":1})",
                 "arguments") ==
          list{"arguments.a: expected integer, found string", "arguments.list[1].x: expected number, found string",
               "arguments.list[1].y: required", "arguments.list[2]: expected object, found integer",
               "arguments.pair[0]: expected string, found integer", "arguments.pair[1]: expected string, found integer",
               "arguments.x-1: expected string, found integer", "arguments.more: unknown property",
               "arguments.b: required"});
    CHECK(errors(document, R"({"a":1,"b":2,"list":[]})").empty());
    CHECK(errors(document, "[]", "arguments") == list{"arguments: expected object, found array"});
    CHECK(errors(document, "{}") == list{"a: required", "b: required", "list: required"});
}

TEST_CASE("errors within allOf and unevaluated members are collected") {
    const char* document = R"({
        "allOf": [{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}],
        "unevaluatedProperties": {"type": "object", "required": ["x", "y"]}
    })";
    CHECK(errors(document, R"({"a":"1","b":"2"})") ==
          list{"a: expected integer, found string", "b: expected integer, found string"});
    CHECK(errors(document, R"({"a":1,"c":{},"d":3})") ==
          list{"c.x: required", "c.y: required", "d: expected object, found integer"});
}

TEST_CASE("alternatives give one error") {
    const char* document = R"({"items": {"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}, {"type": "null"}]}})";
    CHECK(errors(document, R"([null, {"a":"1","b":"2"}, {"a":"1"}])") ==
          list{"[1].a: expected integer, found string", "[2].a: expected integer, found string"});
}

TEST_CASE("the number of collected errors is limited, and so is the work") {
    std::string many = "[";
    for (int i = 0; i < 1000; ++i) many += "\"x\",";
    many.back() = ']';
    CHECK(errors(R"({"items":{"type":"integer"}})", many.c_str()).size() == 20);
    CHECK(errors(R"({"items":{"items":{"type":"integer"}}})", ("[" + many + "," + many + "]").c_str()).size() == 20);
    CHECK(errors(R"({"items":{"type":"integer"}})", many.c_str(), {}, {.max_work = 15}).size() == 1);
}
