#include "ask.hpp"

#include <doctest/doctest.h>

using namespace keel;

TEST_CASE("SCH-01: a schema without $schema is read as 2020-12") {
    // "prefixItems" exists in 2020-12 only; in older drafts it would say nothing.
    CHECK(ask(R"({"prefixItems":[{"type":"string"}]})", "[1]") == "[0]: expected string, found integer");
    CHECK(ask(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]})",
              "[1]") == "[0]: expected string, found integer");
    CHECK(refusal(R"({"$schema":"https://json-schema.org/draft/2020-12/schema#"})") == "good");
}

TEST_CASE("SCH-02: another dialect is refused by its name") {
    CHECK(
        refusal(R"({"$schema":"http://json-schema.org/draft-07/schema#"})") ==
        "/$schema: the dialect \"http://json-schema.org/draft-07/schema#\" is not supported: only JSON Schema 2020-12 "
        "(https://json-schema.org/draft/2020-12/schema)");
    for (const char* other : {"http://json-schema.org/draft-04/schema#", "http://json-schema.org/schema#",
                              "https://json-schema.org/draft/2019-09/schema", "https://example.com/mine"}) {
        const json::value document = json::object({{"$schema", other}});
        CHECK_THROWS_AS(schema{document}, schema_error);
    }
    // Within the document too, where a part has a URI of its own or not.
    CHECK(refusal(R"({"$defs":{"a":{"$id":"https://e.com/a","$schema":"http://json-schema.org/draft-07/schema#"}}})")
              .starts_with("/$defs/a/$schema: the dialect "));
    CHECK(refusal(R"({"$schema":7})") == "/$schema: expected a string, found integer");
}

TEST_CASE("SCH-02: a metaschema that was handed in may leave out vocabularies, but not require unknown ones") {
    const auto with = [](std::string_view vocabulary) {
        return schema_options{.documents = {{"https://e.com/meta", json::parse(vocabulary)}}};
    };
    const std::string_view schema = R"({"$schema":"https://e.com/meta","type":"integer"})";
    CHECK(ask(schema, "\"x\"", with(R"({"$id":"https://e.com/meta"})")) == "expected integer, found string");
    CHECK(ask(schema, "\"x\"", with(R"({"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true}})")) ==
          "fits");
    CHECK(refusal(schema, with(R"({"$vocabulary":{"https://e.com/vocabulary":true}})")) ==
          "/$schema: the vocabulary \"https://e.com/vocabulary\" is required but not supported");
    CHECK(refusal(schema, with(R"({"$vocabulary":{"https://e.com/vocabulary":false}})")) == "good");
    CHECK(refusal(schema, with(R"({"$schema":"http://json-schema.org/draft-07/schema#"})")).find("draft-07") !=
          std::string::npos);
}

TEST_CASE(
    "SCH-03, SCH-06: a reference out of the document is never followed; the schema is refused and the URI named") {
    CHECK(refusal(R"({"properties":{"a":{"$ref":"https://example.com/other.json#/x"}}})") ==
          "/properties/a/$ref: refers to \"https://example.com/other.json\" (written "
          "\"https://example.com/other.json#/x\"), which is not in the document nor among those handed in; nothing is "
          "fetched");
    CHECK(refusal(R"({"$id":"https://e.com/a/b","$ref":"c"})") ==
          "/$ref: refers to \"https://e.com/a/c\" (written \"c\"), which is not in the document nor among those handed "
          "in; "
          "nothing is fetched");
    CHECK(refusal(R"({"$dynamicRef":"file:///etc/passwd"})").find("\"file:///etc/passwd\"") != std::string::npos);
    // Also where nothing would ever use it.
    CHECK(refusal(R"({"$defs":{"unused":{"$ref":"https://example.com/x"}}})").starts_with("/$defs/unused/$ref: "));
    // Handed in, it is there.
    const schema_options options{.documents = {{"https://example.com/x", json::parse(R"({"type":"string"})")}}};
    CHECK(ask(R"({"$ref":"https://example.com/x"})", "1", options) == "expected string, found integer");
    // And a mistake in it is shown where it is.
    const schema_options bad{.documents = {{"https://example.com/x", json::parse(R"({"not":{"type":5}})")}}};
    CHECK(refusal(R"({"$ref":"https://example.com/x"})", bad) ==
          "https://example.com/x#/not/type: expected a string or an array of strings, found 5");
}

TEST_CASE("SCH-06: a reference within the document must lead somewhere") {
    CHECK(refusal(R"({"items":{"$ref":"#/$defs/missing"}})") ==
          "/items/$ref: refers to \"#/$defs/missing\", where there is nothing");
    CHECK(refusal(R"({"$ref":"#missing"})") == "/$ref: refers to \"#missing\", but there is no such anchor");
    CHECK(refusal(R"({"$ref":"#/allOf/01","allOf":[true,true]})").find("where there is nothing") != std::string::npos);
    CHECK(refusal(R"({"$ref":"#/title","title":"x"})") ==
          "/title: expected a schema (an object, true or false), found string");
    CHECK(refusal(R"({"$ref":5})") == "/$ref: expected a string, found 5");
}

TEST_CASE("SCH-02: a schema that is not valid is refused, with a pointer to the place") {
    CHECK(refusal("5") == "expected a schema (an object, true or false), found integer");
    CHECK(refusal(R"({"type":5})") == "/type: expected a string or an array of strings, found 5");
    CHECK(refusal(R"({"type":"strng"})") ==
          "/type: unknown type \"strng\": there are null, boolean, integer, number, string, array and object");
    CHECK(refusal(R"({"type":["string","string"]})") == "/type/1: the same type stands here twice");
    CHECK(refusal(R"({"type":[]})") == "/type: expected at least one type");
    CHECK(refusal(R"({"minLength":-1})") == "/minLength: expected a non-negative integer, found -1");
    CHECK(refusal(R"({"maxItems":1.5})") == "/maxItems: expected a non-negative integer, found 1.5");
    CHECK(refusal(R"({"minLength":2.0})") == "good");
    CHECK(refusal(R"({"minimum":"1"})") == "/minimum: expected a number, found string");
    CHECK(refusal(R"({"multipleOf":0})") == "/multipleOf: expected a number greater than 0, found 0");
    CHECK(refusal(R"({"properties":{"a/b":{"items":[true]}}})") ==
          "/properties/a~1b/items: expected a schema (an object, true or false), found array; schemas for the first "
          "items "
          "are \"prefixItems\" in JSON Schema 2020-12");
    CHECK(refusal(R"({"properties":[]})") == "/properties: expected an object of schemas, found array");
    CHECK(refusal(R"({"allOf":[]})") == "/allOf: expected at least one schema");
    CHECK(refusal(R"({"anyOf":{}})") == "/anyOf: expected an array of schemas, found object");
    CHECK(refusal(R"({"required":true})") == "/required: expected an array of strings, found boolean");
    CHECK(refusal(R"({"required":["a","b","a"]})") == "/required/2: the same name stands here twice");
    CHECK(refusal(R"({"required":["a",1]})") == "/required/1: expected a string, found integer");
    CHECK(refusal(R"({"dependentRequired":{"a":"b"}})") ==
          "/dependentRequired/a: expected an array of strings, found string");
    CHECK(refusal(R"({"enum":"a"})") == "/enum: expected an array, found string");
    CHECK(refusal(R"({"uniqueItems":1})") == "/uniqueItems: expected true or false, found 1");
    CHECK(refusal(R"({"title":1})") == "/title: expected a string, found 1");
    CHECK(refusal(R"({"$id":"https://e.com/a#b"})") == "/$id: an identifier has no fragment; that is \"$anchor\"");
    CHECK(refusal(R"({"$anchor":"1a"})").starts_with("/$anchor: expected a letter"));
    CHECK(refusal(R"({"allOf":[{"$anchor":"a"},{"$anchor":"a"}]})") ==
          "/allOf/1/$anchor: the anchor \"a\" is used twice");
    CHECK(refusal(R"({"allOf":[{"$id":"a"},{"$id":"a"}]})") == "/allOf/1/$id: the identifier \"a\" is used twice");
    // Unknown words are annotations, and data is data.
    CHECK(refusal(R"({"minlength":-1,"default":{"type":5},"const":{"type":5},"x-y":{"minLength":-1}})") == "good");
}

TEST_CASE("the error of a schema says where, also as a pointer of its own") {
    try {
        schema{json::parse(R"({"properties":{"a":{"pattern":"("}}})")};
        FAIL("not refused");
    } catch (const schema_error& e) {
        CHECK(e.where() == "/properties/a/pattern");
        CHECK(std::string(e.what()) == "/properties/a/pattern: pattern is not a regular expression: a ( without its )");
    }
}
