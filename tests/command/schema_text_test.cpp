#include "schema_text.hpp"
#include "json_text.hpp"

#include <doctest/doctest.h>

using namespace keel;
using namespace keel::command;

namespace {

std::string phrase(const char* schema) {
    json::value v = json::parse(schema);
    return schema_phrase(v, v);
}

}  // namespace

TEST_CASE("a schema is one phrase: type, choices, format, bounds and default") {
    CHECK(phrase(R"({"type": "string"})") == "string");
    CHECK(phrase(R"({})") == "any");
    CHECK(phrase(R"({"type": ["string", "null"]})") == "string or null");
    CHECK(phrase(R"({"type": "string", "format": "date", "minLength": 2, "maxLength": 9})") ==
          "string, format date, 2 to 9 characters");
    CHECK(phrase(R"({"type": "string", "pattern": "^a$", "minLength": 1})") ==
          "string, matching ^a$, at least 1 character");
    CHECK(phrase(R"({"type": "integer", "minimum": 1, "maximum": 9, "default": 3})") == "integer, 1 to 9, default 3");
    CHECK(phrase(R"({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5})") == "number, > 0, multiple of 0.5");
    CHECK(phrase(R"({"enum": ["a", 1]})") == R"(one of "a", 1)");
    CHECK(phrase(R"({"oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]})") == R"(one of "s" (Small), "l")");
    CHECK(phrase(R"({"const": 7})") == "always 7");
    CHECK(
        phrase(
            R"({"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 1, "uniqueItems": true})") ==
        "list of string, at most 5 characters, at least 1 item, unique items");
    CHECK(phrase(R"({"anyOf": [{"type": "integer"}, {"type": "string", "format": "uri"}]})") ==
          "integer, or string, format uri");
    CHECK(phrase(R"({"type": "object", "additionalProperties": {"type": "integer"}})") ==
          "object, other members: integer");
}

TEST_CASE("properties are listed with descriptions, nested ones indented") {
    json::value schema = json::parse(R"({"type": "object", "required": ["edits"], "$defs": {
        "edit": {"type": "object", "required": ["old"],
                 "properties": {"old": {"type": "string", "description": "text to replace"}, "new": {"type": "string"}}}},
        "properties": {"path": {"type": "string", "description": "a file"},
                       "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}, "minItems": 1},
                       "options": {"type": "object", "properties": {"deep": {"type": "boolean", "default": false}}}}})");
    CHECK(schema_text(schema, 0) ==
          "  path: string\n"
          "      a file\n"
          "  edits (required): list of object, at least 1 item\n"
          "      old (required): string\n"
          "          text to replace\n"
          "      new: string\n"
          "  options: object\n"
          "      deep: boolean, default false\n");
}

TEST_CASE("a schema that refers to itself ends") {
    json::value schema = json::parse(R"({"type": "object", "$defs": {"node": {"type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "all": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
        "properties": {"root": {"$ref": "#/$defs/node"}, "loop": {"$ref": "#/properties/loop"}}})");
    std::string text = schema_text(schema, 80);
    CHECK(text.find("next: object") != std::string::npos);
    CHECK(text.size() < 100'000);
}

TEST_CASE("text of a server in a schema is printable") {
    json::value schema =
        json::parse(R"({"properties": {"a\u001b[2J": {"description": "\u001b[31mred", "pattern": "\u202e"}}})");
    std::string text = schema_text(schema, 80);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\u202e") == std::string::npos);
}

TEST_CASE("JSON is indented, and colored on request") {
    json::value v = json::parse(R"({"a": [1, "x\u001b"], "b": {}, "c": null})");
    CHECK(json_text(v, false) == "{\n  \"a\": [\n    1,\n    \"x\\u001b\"\n  ],\n  \"b\": {},\n  \"c\": null\n}");
    std::string colored = json_text(v, true);
    CHECK(colored.find("\x1b[34m\"a\"\x1b[0m: [") != std::string::npos);
    CHECK(colored.find("\x1b[36m1\x1b[0m") != std::string::npos);
    CHECK(colored.find("x\x1b") == std::string::npos);
    CHECK(json_text(json::value(7), false) == "7");
}
