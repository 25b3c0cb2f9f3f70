#include "ask.hpp"

#include <doctest/doctest.h>

using namespace keel;

TEST_CASE("an error contains the path into the value and the reason") {
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

TEST_CASE("each keyword has its error message") {
    CHECK(ask(R"({"type":["string","null"]})", "1") == "expected string or null, found integer");
    CHECK(ask(R"({"minLength":2})", R"("é")") == "expected at least 2 characters, found 1");
    CHECK(ask(R"({"maxLength":1})", R"("😀😀")") == "expected at most 1 character, found 2");
    CHECK(ask(R"({"pattern":"^a"})", R"("ba")") == R"(expected a string matching the pattern "^a", found "ba")");
    CHECK(ask(R"({"multipleOf":0.01})", "0.015") == "expected a multiple of 0.01, found 0.015");
    CHECK(ask(R"({"minItems":1})", "[]") == "expected at least 1 item, found 0");
    CHECK(ask(R"({"maxProperties":1})", R"({"a":1,"b":2})") == "expected at most 1 property, found 2");
    CHECK(ask(R"({"uniqueItems":true})", "[1,1.0]") == "expected unique items");
    CHECK(ask(R"({"contains":{"type":"string"}})", "[1]") == "expected at least 1 item, found 0 matching \"contains\"");
    CHECK(ask(R"({"not":{"type":"string"}})", R"("x")") == R"(is forbidden by the schema: "x")");
    CHECK(ask("false", "1") == "not allowed");
    CHECK(ask(R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})") ==
          "abc: property name: expected at most 2 characters, found 3");
    CHECK(ask(R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})") == R"(b: required because of "a")");
    CHECK(ask(R"({"unevaluatedProperties":{"type":"string"}})", R"({"a":1})") == "a: expected string, found integer");
    CHECK(ask(R"({"enum":[]})", "1") == "no value is allowed here");
    CHECK(ask(R"({"format":"date"})", R"("tomorrow")", {.check_formats = true}) ==
          R"(expected the format date, found "tomorrow")");
}

TEST_CASE("if all alternatives fail, the deepest error or all errors are reported") {
    CHECK(ask(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1") ==
          "expected string, found integer; or expected null, found integer");
    CHECK(ask(R"({"oneOf":[{"type":"string"},{"properties":{"a":{"type":"string"}}}]})", R"({"a":1})") ==
          "a: expected string, found integer");
    CHECK(ask(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "1") ==
          "matches more than one alternative, but exactly one is allowed");
}

TEST_CASE("long or unprintable values are truncated and escaped in messages") {
    const std::string longer(100'000, 'x');
    CHECK(ask(R"({"enum":["a"]})", '"' + longer + '"').size() < 200);
    CHECK(ask(R"({"additionalProperties":false})", "{\"" + longer + "\":1}").size() < 200);
    CHECK(ask(R"({"type":"string","pattern":"^b"})", '"' + longer + '"').size() < 200);
}

TEST_CASE("format is only an annotation unless format checks are enabled") {
    CHECK(ask(R"({"format":"ipv4"})", R"("nonsense")") == "fits");
    CHECK(ask(R"({"format":"ipv4"})", R"("nonsense")", {.check_formats = true}) != "fits");
    CHECK(ask(R"({"format":"ipv4"})", "17", {.check_formats = true}) == "fits");
    CHECK(ask(R"({"format":"of our own"})", R"("nonsense")", {.check_formats = true}) == "fits");
}

TEST_CASE("a default-constructed schema accepts everything") {
    const schema s;
    CHECK(s.empty());
    CHECK_FALSE(s);
    CHECK(ask(s, R"({"a":[1,null]})") == "fits");
    CHECK(schema(json::value(true)));
}

TEST_CASE("a schema does not refer to the document it was compiled from") {
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
