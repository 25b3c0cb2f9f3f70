#include "ask.hpp"

#include <doctest/doctest.h>

using namespace keel;

TEST_CASE("a refusal says where in the value and why") {
    const schema s(json::parse(R"({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
            "color": {"enum": ["red", "green"]},
            "odd key": {"const": 1}
        },
        "required": ["count"],
        "additionalProperties": false
    })"));
    CHECK(ask(s, R"({"count":1,"items":[{},{},{"name":7}]})", "arguments") ==
          "arguments.items[2].name: expected string, found integer");
    CHECK(ask(s, R"({"count":1,"items":[{},{},{"name":7}]})") == "items[2].name: expected string, found integer");
    CHECK(ask(s, "[]", "arguments") == "arguments: expected object, found array");
    CHECK(ask(s, "[]") == "expected object, found array");
    CHECK(ask(s, "{}", "arguments") == "arguments.count: required");
    CHECK(ask(s, R"({"count":0})") == "count: expected at least 1, found 0");
    CHECK(ask(s, R"({"count":10})") == "count: expected less than 10, found 10");
    CHECK(ask(s, R"({"count":1.5})") == "count: expected integer, found 1.5");
    CHECK(ask(s, R"({"count":1.0})") == "fits");
    CHECK(ask(s, R"({"count":1,"color":"blue"})") == R"(color: expected one of "red", "green", found "blue")");
    CHECK(ask(s, R"({"count":1,"odd key":2})") == R"(["odd key"]: expected 1, found 2)");
    CHECK(ask(s, R"({"count":1,"colour":"red"})", "arguments") == "arguments.colour: unknown property");
}

TEST_CASE("each keyword has its words") {
    CHECK(ask(R"({"type":["string","null"]})", "1") == "expected string or null, found integer");
    CHECK(ask(R"({"minLength":2})", R"("é")") == "expected at least 2 characters, found 1");
    CHECK(ask(R"({"maxLength":1})", R"("😀😀")") == "expected at most 1 character, found 2");
    CHECK(ask(R"({"pattern":"^a"})", R"("ba")") == R"(expected text with the pattern "^a", found "ba")");
    CHECK(ask(R"({"multipleOf":0.01})", "0.015") == "expected a multiple of 0.01, found 0.015");
    CHECK(ask(R"({"minItems":1})", "[]") == "expected at least 1 item, found 0");
    CHECK(ask(R"({"maxProperties":1})", R"({"a":1,"b":2})") == "expected at most 1 property, found 2");
    CHECK(ask(R"({"uniqueItems":true})", "[1,1.0]") == "expected items that are all different");
    CHECK(ask(R"({"contains":{"type":"string"}})", "[1]") ==
          "expected at least 1 item, found 0 of the kind that is looked for");
    CHECK(ask(R"({"not":{"type":"string"}})", R"("x")") == R"(is what the schema forbids: "x")");
    CHECK(ask("false", "1") == "not allowed");
    CHECK(ask(R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})") ==
          "abc: the name of the property: expected at most 2 characters, found 3");
    CHECK(ask(R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})") == R"(b: required because there is "a")");
    CHECK(ask(R"({"unevaluatedProperties":{"type":"string"}})", R"({"a":1})") == "a: expected string, found integer");
    CHECK(ask(R"({"enum":[]})", "1") == "no value is allowed here");
    CHECK(ask(R"({"format":"date"})", R"("tomorrow")", {.check_formats = true}) ==
          R"(expected the format date, found "tomorrow")");
}

TEST_CASE("of alternatives that all fail, the deepest complaint is told, or all of them") {
    CHECK(ask(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1") ==
          "expected string, found integer; or expected null, found integer");
    CHECK(ask(R"({"oneOf":[{"type":"string"},{"properties":{"a":{"type":"string"}}}]})", R"({"a":1})") ==
          "a: expected string, found integer");
    CHECK(ask(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "1") ==
          "fits more than one alternative, where one is allowed");
}

TEST_CASE("a long or strange value does not make a long or strange message") {
    const std::string longer(100'000, 'x');
    CHECK(ask(R"({"enum":["a"]})", '"' + longer + '"').size() < 200);
    CHECK(ask(R"({"additionalProperties":false})", "{\"" + longer + "\":1}").size() < 200);
    CHECK(ask(R"({"type":"string","pattern":"^b"})", '"' + longer + '"').size() < 200);
}

TEST_CASE("format is an annotation unless it is asked for") {
    CHECK(ask(R"({"format":"ipv4"})", R"("nonsense")") == "fits");
    CHECK(ask(R"({"format":"ipv4"})", R"("nonsense")", {.check_formats = true}) != "fits");
    CHECK(ask(R"({"format":"ipv4"})", "17", {.check_formats = true}) == "fits");
    CHECK(ask(R"({"format":"of our own"})", R"("nonsense")", {.check_formats = true}) == "fits");
}

TEST_CASE("a schema that was not made from a document accepts everything") {
    const schema s;
    CHECK(s.empty());
    CHECK_FALSE(s);
    CHECK(ask(s, R"({"a":[1,null]})") == "fits");
    CHECK(schema(json::value(true)));
}

TEST_CASE("a schema keeps nothing of what it was made from") {
    schema s;
    {
        json::value document =
            json::parse(R"({"$ref":"https://e.com/x","enum":[{"a":["b"]},"some longer text to own"]})");
        schema_options options{
            .documents = {{"https://e.com/x", json::parse(R"({"properties":{"a":{"minItems":1}}})")}}};
        s = schema(document, options);
    }
    CHECK(ask(s, R"({"a":["b"]})") == "fits");
    CHECK(ask(s, R"("some longer text to own")") == "fits");
    CHECK(ask(s, R"({"a":[]})") != "fits");
}
