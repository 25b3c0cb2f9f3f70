#include "ask.hpp"

#include <doctest/doctest.h>

using namespace keel;

TEST_CASE("SCH-01: a schema without $schema is read as 2020-12") {
    // "prefixItems" exists only in 2020-12; older drafts ignore it.
    CHECK(ask(R"({"prefixItems":[{"type":"string"}]})", "[1]") == "[0]: expected string, found integer");
    CHECK(ask(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]})",
              "[1]") == "[0]: expected string, found integer");
    CHECK(refusal(R"({"$schema":"https://json-schema.org/draft/2020-12/schema#"})") == "good");
}

TEST_CASE("SCH-02: an unsupported dialect is rejected, and the error names it and the supported ones") {
    CHECK(refusal(R"({"$schema":"http://json-schema.org/draft-04/schema#"})") ==
          "/$schema: unsupported dialect \"http://json-schema.org/draft-04/schema#\": expected JSON Schema 2020-12 "
          "(https://json-schema.org/draft/2020-12/schema), 2019-09 (https://json-schema.org/draft/2019-09/schema) or "
          "draft-07 (http://json-schema.org/draft-07/schema)");
    for (const char* other : {"http://json-schema.org/draft-06/schema#", "http://json-schema.org/schema#",
                              "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/next/schema",
                              "http://json-schema.org/draft-07/schema##", "https://example.com/mine", ""}) {
        const json::value document = json::object({{"$schema", other}});
        CHECK_THROWS_AS(schema{document}, schema_error);
    }
    // Also inside the document, whether or not the part has its own URI.
    CHECK(refusal(R"({"$defs":{"a":{"$id":"https://e.com/a","$schema":"http://json-schema.org/draft-04/schema#"}}})")
              .starts_with("/$defs/a/$schema: unsupported dialect "));
    CHECK(refusal(R"({"$schema":7})") == "/$schema: expected a string, found integer");
}

TEST_CASE("SCH-02: a custom metaschema may omit vocabularies, but not require unknown ones") {
    const auto with = [](std::string_view vocabulary) {
        return schema_options{.documents = {{"https://e.com/meta", json::parse(vocabulary)}}};
    };
    const std::string_view schema = R"({"$schema":"https://e.com/meta","type":"integer"})";
    CHECK(ask(schema, "\"x\"", with(R"({"$id":"https://e.com/meta"})")) == "expected integer, found string");
    CHECK(ask(schema, "\"x\"", with(R"({"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true}})")) ==
          "fits");
    CHECK(refusal(schema, with(R"({"$vocabulary":{"https://e.com/vocabulary":true}})")) ==
          "/$schema: unsupported required vocabulary \"https://e.com/vocabulary\"");
    CHECK(refusal(schema, with(R"({"$vocabulary":{"https://e.com/vocabulary":false}})")) == "good");
    CHECK(refusal(schema, with(R"({"$schema":"http://json-schema.org/draft-04/schema#"})")).find("draft-04") !=
          std::string::npos);
}

TEST_CASE(
    "SCH-03, SCH-06: an external reference is never fetched; the schema is rejected, and the error names the URI") {
    CHECK(refusal(R"({"properties":{"a":{"$ref":"https://example.com/other.json#/x"}}})") ==
          "/properties/a/$ref: unresolved reference \"https://example.com/other.json\" (written "
          "\"https://example.com/other.json#/x\"): the document is not in schema_options::documents, and nothing is "
          "fetched");
    CHECK(refusal(R"({"$id":"https://e.com/a/b","$ref":"c"})") ==
          "/$ref: unresolved reference \"https://e.com/a/c\" (written \"c\"): the document is not in "
          "schema_options::documents, and nothing is fetched");
    CHECK(refusal(R"({"$dynamicRef":"file:///etc/passwd"})").find("\"file:///etc/passwd\"") != std::string::npos);
    // Also in parts that are never used.
    CHECK(refusal(R"({"$defs":{"unused":{"$ref":"https://example.com/x"}}})").starts_with("/$defs/unused/$ref: "));
    // A document in schema_options::documents is used.
    const schema_options options{.documents = {{"https://example.com/x", json::parse(R"({"type":"string"})")}}};
    CHECK(ask(R"({"$ref":"https://example.com/x"})", "1", options) == "expected string, found integer");
    // An error in it is reported with its URI.
    const schema_options bad{.documents = {{"https://example.com/x", json::parse(R"({"not":{"type":5}})")}}};
    CHECK(refusal(R"({"$ref":"https://example.com/x"})", bad) ==
          "https://example.com/x#/not/type: expected a string or an array of strings, found 5");
}

TEST_CASE("SCH-06: a reference within the document must resolve") {
    CHECK(refusal(R"({"items":{"$ref":"#/$defs/missing"}})") ==
          "/items/$ref: unresolved reference \"#/$defs/missing\": no such location");
    CHECK(refusal(R"({"$ref":"#missing"})") == "/$ref: unresolved reference \"#missing\": unknown anchor");
    CHECK(refusal(R"({"$ref":"#/allOf/01","allOf":[true,true]})").find("no such location") != std::string::npos);
    CHECK(refusal(R"({"$ref":"#/title","title":"x"})") ==
          "/title: expected a schema (an object, true or false), found string");
    CHECK(refusal(R"({"$ref":5})") == "/$ref: expected a string, found 5");
}

TEST_CASE("SCH-02: an invalid schema is rejected, with a JSON pointer to the error") {
    CHECK(refusal("5") == "expected a schema (an object, true or false), found integer");
    CHECK(refusal(R"({"type":5})") == "/type: expected a string or an array of strings, found 5");
    CHECK(refusal(R"({"type":"strng"})") ==
          "/type: unknown type \"strng\": expected null, boolean, integer, number, string, array and object");
    CHECK(refusal(R"({"type":["string","string"]})") == "/type/1: duplicate type");
    CHECK(refusal(R"({"type":[]})") == "/type: expected at least one type");
    CHECK(refusal(R"({"minLength":-1})") == "/minLength: expected a non-negative integer, found -1");
    CHECK(refusal(R"({"maxItems":1.5})") == "/maxItems: expected a non-negative integer, found 1.5");
    CHECK(refusal(R"({"minLength":2.0})") == "good");
    CHECK(refusal(R"({"minimum":"1"})") == "/minimum: expected a number, found string");
    CHECK(refusal(R"({"multipleOf":0})") == "/multipleOf: expected a number greater than 0, found 0");
    CHECK(refusal(R"({"properties":{"a/b":{"items":[true]}}})") ==
          "/properties/a~1b/items: expected a schema (an object, true or false), found array; JSON Schema 2020-12 "
          "uses \"prefixItems\" for the schemas of the first items");
    CHECK(refusal(R"({"properties":[]})") == "/properties: expected an object of schemas, found array");
    CHECK(refusal(R"({"allOf":[]})") == "/allOf: expected at least one schema");
    CHECK(refusal(R"({"anyOf":{}})") == "/anyOf: expected an array of schemas, found object");
    CHECK(refusal(R"({"required":true})") == "/required: expected an array of strings, found boolean");
    CHECK(refusal(R"({"required":["a","b","a"]})") == "/required/2: duplicate name");
    CHECK(refusal(R"({"required":["a",1]})") == "/required/1: expected a string, found integer");
    CHECK(refusal(R"({"dependentRequired":{"a":"b"}})") ==
          "/dependentRequired/a: expected an array of strings, found string");
    CHECK(refusal(R"({"enum":"a"})") == "/enum: expected an array, found string");
    CHECK(refusal(R"({"uniqueItems":1})") == "/uniqueItems: expected true or false, found 1");
    CHECK(refusal(R"({"title":1})") == "/title: expected a string, found 1");
    CHECK(refusal(R"({"$id":"https://e.com/a#b"})") == "/$id: \"$id\" must not have a fragment; use \"$anchor\"");
    CHECK(refusal(R"({"$anchor":"1a"})").starts_with("/$anchor: invalid anchor: expected a letter"));
    CHECK(refusal(R"({"allOf":[{"$anchor":"a"},{"$anchor":"a"}]})") == "/allOf/1/$anchor: duplicate anchor \"a\"");
    CHECK(refusal(R"({"allOf":[{"$id":"a"},{"$id":"a"}]})") == "/allOf/1/$id: duplicate identifier \"a\"");
    // Unknown keywords are annotations, and data is not validated.
    CHECK(refusal(R"({"minlength":-1,"default":{"type":5},"const":{"type":5},"x-y":{"minLength":-1}})") == "good");
}

TEST_CASE("a schema error contains the location, also as a separate pointer") {
    try {
        schema{json::parse(R"({"properties":{"a":{"pattern":"("}}})")};
        FAIL("not refused");
    } catch (const schema_error& e) {
        CHECK(e.where() == "/properties/a/pattern");
        CHECK(std::string(e.what()) == "/properties/a/pattern: invalid pattern: unmatched (");
    }
}
