// What differs between the dialects, beyond the official suite (suite_test.cpp).

#include "schema/metaschemas.hpp"

#include "ask.hpp"

#include <doctest/doctest.h>

using namespace keel;

namespace {

constexpr std::string_view draft_07 = "http://json-schema.org/draft-07/schema#";
constexpr std::string_view draft_2019_09 = "https://json-schema.org/draft/2019-09/schema";
constexpr std::string_view draft_2020_12 = "https://json-schema.org/draft/2020-12/schema";

/// The schema `{"$schema": dialect, …}`. `rest` is the text after the opening brace.
std::string in(std::string_view dialect, std::string_view rest) {
    return R"({"$schema":")" + std::string(dialect) + "\"," + std::string(rest);
}

}  // namespace

TEST_CASE("SCH-02: $schema selects the dialect, with or without a trailing #") {
    // An array of "items" is for the first items until 2019-09.
    for (const char* dialect :
         {"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema",
          "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2019-09/schema#"}) {
        CAPTURE(dialect);
        CHECK(ask(in(dialect, R"("items":[{"type":"string"}],"additionalItems":{"type":"integer"}})"), R"(["x",1])") ==
              "fits");
        CHECK(ask(in(dialect, R"("items":[{"type":"string"}],"additionalItems":{"type":"integer"}})"),
                  R"(["x","y"])") == "[1]: expected integer, found string");
        CHECK(ask(in(dialect, R"("prefixItems":[{"type":"string"}]})"), "[1]") == "fits");
    }
    CHECK(refusal(in(draft_2020_12, R"("items":[true]})")).starts_with("/items: expected a schema"));
}

TEST_CASE("SCH-02: a keyword of another dialect has no meaning") {
    struct {
        std::string_view dialect, schema, value;
    } const ignored[] = {
        {draft_07, R"("dependentRequired":{"a":["b"]}})", R"({"a":1})"},
        {draft_07, R"("dependentSchemas":{"a":false}})", R"({"a":1})"},
        {draft_07, R"("contains":true,"minContains":2})", "[1]"},
        {draft_07, R"("contains":true,"maxContains":1})", "[1,2]"},
        {draft_07, R"("unevaluatedProperties":false})", R"({"a":1})"},
        {draft_07, R"("unevaluatedItems":false})", "[1]"},
        {draft_07, R"("$recursiveRef":"#/nowhere"})", "1"},
        {draft_2019_09, R"("dependencies":{"a":["b"]}})", R"({"a":1})"},
        {draft_2019_09, R"("$dynamicRef":"#/nowhere"})", "1"},
        {draft_2020_12, R"("dependencies":{"a":["b"]}})", R"({"a":1})"},
        {draft_2020_12, R"("items":true,"additionalItems":false})", "[1]"},
        {draft_2020_12, R"("$recursiveRef":"#/nowhere"})", "1"},
    };
    for (const auto& [dialect, schema, value] : ignored) {
        CAPTURE(dialect);
        CAPTURE(schema);
        CHECK(ask(in(dialect, schema), value) == "fits");
    }
    // Nor is it validated.
    CHECK(refusal(in(draft_07, R"("$defs":{"a":{"type":5}},"prefixItems":5,"$anchor":1,"deprecated":1})")) == "good");
    CHECK(refusal(in(draft_07, R"("$ref":"#a","$anchor":"a"})")).find("unknown anchor") != std::string::npos);
    CHECK(ask(in(draft_07, R"("allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"string"}}})"), "1") ==
          "expected string, found integer");
}

TEST_CASE("draft-07: $ref replaces its siblings, and references to definitions beside it work") {
    const std::string schema = in(draft_07, R"("$ref":"#/definitions/a","minimum":"5","properties":{"x":{"type":9}},
        "definitions":{"a":{"items":{"$ref":"#b"}},"c":{"$id":"#b","type":"string"}}})");
    CHECK(ask(schema, R"(["x"])") == "fits");
    CHECK(ask(schema, "[1]") == "[0]: expected string, found integer");
    // Also an "$id" beside it: the reference is relative to the enclosing schema.
    CHECK(ask(in(draft_07, R"("$id":"https://e.com/a/","allOf":[{"$id":"https://e.com/b/","$ref":"c"}],
                             "definitions":{"c":{"$id":"c","type":"string"}}})"),
              "1") == "expected string, found integer");
    CHECK(ask(in(draft_2019_09, R"("$ref":"#/$defs/a","minimum":5,"$defs":{"a":true}})"), "1") ==
          "expected at least 5, found 1");
    CHECK(refusal(in(draft_07, R"("$ref":5})")) == "/$ref: expected a string, found 5");
}

TEST_CASE("draft-07: $id with a fragment names a subschema") {
    const std::string schema = in(draft_07, R"("$id":"https://e.com/a.json","items":{"$ref":"a.json#name:1"},
        "definitions":{"x":{"$id":"#name:1","type":"string"}}})");
    CHECK(ask(schema, "[1]") == "[0]: expected string, found integer");
    // Some generators write the location.
    CHECK(ask(in(draft_07, R"("$id":"#root","properties":{"a":{"$id":"#/properties/a","type":"string"}}})"),
              R"({"a":1})") == "a: expected string, found integer");
    CHECK(refusal(in(draft_07, R"("allOf":[{"$id":"https://e.com/b#c"}]})")) ==
          "/allOf/0/$id: \"$id\" must not have both a URI and a fragment");
    CHECK(refusal(in(draft_07, R"("$id":"#1"})")) ==
          "/$id: invalid anchor: expected a letter, followed by letters, digits, -, _, : or .");
    CHECK(refusal(in(draft_07, R"("allOf":[{"$id":"#a"},{"$id":"#a"}]})")) == "/allOf/1/$id: duplicate anchor \"a\"");
    CHECK(refusal(in(draft_2019_09, R"("$id":"#a"})")) == "/$id: \"$id\" must not have a fragment; use \"$anchor\"");
}

TEST_CASE("draft-07: dependencies are names or schemas") {
    const std::string schema = in(draft_07, R"("dependencies":{"a":["b","c"],"x":{"minProperties":2},"never":false}})");
    CHECK(ask(schema, R"({"a":1,"b":1,"c":1})") == "fits");
    CHECK(ask(schema, R"({"a":1,"b":1})") == "c: required because of \"a\"");
    CHECK(ask(schema, R"({"x":1})") == "expected at least 2 properties, found 1");
    CHECK(ask(schema, R"({"never":1})") == "not allowed");
    CHECK(refusal(in(draft_07, R"("dependencies":{"a":["b","b"]}})")) == "/dependencies/a/1: duplicate name");
    CHECK(refusal(in(draft_07, R"("dependencies":{"a":"b"}})")) ==
          "/dependencies/a: expected a schema (an object, true or false), found string");
    CHECK(refusal(in(draft_07, R"("dependencies":["a"]})")) ==
          "/dependencies: expected an object of schemas, found array");
}

TEST_CASE("until 2019-09, items may be an empty array, and additionalItems needs an array of items") {
    for (const std::string_view dialect : {draft_07, draft_2019_09}) {
        CHECK(ask(in(dialect, R"("items":[],"additionalItems":false})"), "[]") == "fits");
        CHECK(ask(in(dialect, R"("items":[],"additionalItems":false})"), "[1]") == "[0]: not allowed");
        CHECK(ask(in(dialect, R"("items":{},"additionalItems":false})"), "[1]") == "fits");
        CHECK(ask(in(dialect, R"("additionalItems":false})"), "[1]") == "fits");
        // Invalid all the same.
        CHECK(refusal(in(dialect, R"("additionalItems":{"type":5}})")).starts_with("/additionalItems/type: "));
        CHECK(refusal(in(dialect, R"("items":[true,{"type":5}]})")).starts_with("/items/1/type: "));
    }
}

TEST_CASE("2019-09: $recursiveRef refers to the outermost schema with a $recursiveAnchor") {
    // A tree that allows any member, and an extension of it that allows only some, on every level.
    const schema_options options{
        .documents = {{"https://e.com/tree", json::parse(in(draft_2019_09, R"("$recursiveAnchor":true,
            "type":"object","properties":{"children":{"items":{"$recursiveRef":"#"}}}})"))}}};
    const std::string_view strict = R"("$id":"https://e.com/strict","$ref":"tree","unevaluatedProperties":false)";
    const std::string_view value = R"({"children":[{"children":[{"chidlren":[]}]}]})";
    CHECK(ask(in(draft_2019_09, std::string(strict) + R"(,"$recursiveAnchor":true})"), value, options) ==
          "children[0].children[0].chidlren: not allowed");
    CHECK(ask(in(draft_2019_09, std::string(strict) + R"(,"$recursiveAnchor":false})"), value, options) == "fits");
    CHECK(ask(in(draft_2019_09, std::string(strict) + "}"), value, options) == "fits");
    CHECK(refusal(in(draft_2019_09, R"("$recursiveRef":"#/$defs/a","$defs":{"a":true}})")) ==
          "/$recursiveRef: expected \"#\"");
    CHECK(refusal(in(draft_2019_09, R"("$recursiveAnchor":"a"})")) ==
          "/$recursiveAnchor: expected true or false, found string");
    // "$dynamicRef" without a fragment is an ordinary reference, also to a schema with a "$recursiveAnchor".
    CHECK(ask(in(draft_2020_12, R"("$dynamicRef":"https://e.com/tree"})"), value, options) == "fits");
}

TEST_CASE("items that match contains are evaluated since 2020-12") {
    const std::string_view schema = R"("contains":{"type":"string"},"unevaluatedItems":false})";
    CHECK(ask(in(draft_2020_12, schema), R"(["a"])") == "fits");
    CHECK(ask(in(draft_2019_09, schema), R"(["a"])") == "[0]: not allowed");
    CHECK(ask(in(draft_2019_09, R"("items":[true],"unevaluatedItems":false})"), "[1,2]") == "[1]: not allowed");
    CHECK(ask(in(draft_2019_09, R"("items":[true],"additionalItems":true,"unevaluatedItems":false})"), "[1,2]") ==
          "fits");
}

TEST_CASE("SCH-02: an embedded schema follows its own $schema, and its subschemas follow it") {
    for (const char* id : {R"("$id":"https://e.com/inner",)", ""}) {  // generators embed complete schemas without "$id"
        CAPTURE(id);
        const std::string old = R"({"properties":{"a":{)" + std::string(id) +
                                R"("$schema":"http://json-schema.org/draft-07/schema#",
                                   "not":{"not":{"items":[{"type":"string"}]}}},
                                  "b":{"prefixItems":[{"type":"string"}]}}})";
        CHECK(ask(old, R"({"a":["x"],"b":["x"]})") == "fits");
        CHECK_FALSE(schema(json::parse(old)).accepts(json::parse(R"({"a":[1]})")));
        CHECK(ask(old, R"({"b":[1]})") == "b[0]: expected string, found integer");
        const std::string current = in(draft_07, R"("definitions":{"a":{)" + std::string(id) +
                                                     R"("$schema":"https://json-schema.org/draft/2020-12/schema",
                                "unknown":{"prefixItems":[{"type":"string"}]}}},
                               "items":[{"$ref":"#/definitions/a/unknown"}]})");
        CHECK(ask(current, R"([["x"]])") == "fits");
        CHECK(ask(current, R"([[1]])") == "[0][0]: expected string, found integer");
    }
    CHECK(refusal(R"({"items":{"$schema":"http://json-schema.org/draft-04/schema#"}})")
              .starts_with("/items/$schema: unsupported dialect "));
}

TEST_CASE("SCH-02: a document without $schema follows the dialect of the document that was compiled") {
    const schema_options options{.documents = {{"https://e.com/list", json::parse(R"({"items":[{"type":"string"}]})")},
                                               {"https://e.com/new", json::parse(in(draft_2020_12, R"(
                                                   "$ref":"list","minItems":2})"))}}};
    CHECK(ask(in(draft_07, R"("$ref":"https://e.com/list"})"), "[1]", options) ==
          "[0]: expected string, found integer");
    // Also if another document refers to it.
    CHECK(ask(in(draft_07, R"("$ref":"https://e.com/new"})"), "[1,2]", options) ==
          "[0]: expected string, found integer");
    CHECK(ask(in(draft_07, R"("$ref":"https://e.com/new"})"), R"(["x"])", options) ==
          "expected at least 2 items, found 1");
    CHECK(refusal(R"({"$ref":"https://e.com/list"})", options)
              .starts_with("https://e.com/list#/items: expected a schema"));
}

TEST_CASE("SCH-02: a custom metaschema may extend each dialect") {
    const auto with = [](std::string_view dialect, std::string_view rest) {
        return schema_options{.documents = {{"https://e.com/meta", json::parse(in(dialect, rest))}}};
    };
    const auto named = [](std::string_view rest) { return in("https://e.com/meta", rest); };
    // Draft-07 has no vocabularies.
    const schema_options seven = with(draft_07, R"("$vocabulary":{"https://e.com/unknown":true}})");
    CHECK(ask(named(R"("dependencies":{"a":["b"]}})"), R"({"a":1})", seven) == "b: required because of \"a\"");
    const schema_options some = with(draft_2019_09, R"("$vocabulary":{
        "https://json-schema.org/draft/2019-09/vocab/core":true,
        "https://json-schema.org/draft/2019-09/vocab/applicator":true}})");
    CHECK(ask(named(R"("items":[{"minimum":5},false]})"), "[1]", some) == "fits");
    CHECK(ask(named(R"("items":[{"minimum":5},false]})"), "[1,1]", some) == "[1]: not allowed");
    CHECK(ask(named(R"("unevaluatedItems":false})"), "[1]", some) == "[0]: not allowed");
    // A vocabulary belongs to one dialect.
    CHECK(refusal(named("\"type\":\"string\"}"), with(draft_2019_09, R"("$vocabulary":{
        "https://json-schema.org/draft/2020-12/vocab/validation":true}})")) ==
          "/$schema: unsupported required vocabulary \"https://json-schema.org/draft/2020-12/vocab/validation\"");
}

TEST_CASE("2019-09: the vocabulary for formats validates them if it is required") {
    const auto check = [](const char* required) {
        const std::string meta =
            in(draft_2019_09, R"("$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/format":)" +
                                  std::string(required) + "}}");
        return ask(in("https://e.com/meta", R"("format":"ipv4"})"), "\"x\"",
                   {.documents = {{"https://e.com/meta", json::parse(meta)}}});
    };
    CHECK(check("true") == "expected the format ipv4, found \"x\"");
    CHECK(check("false") == "fits");
}

TEST_CASE("formats are annotations in every dialect, unless the program validates them") {
    for (const std::string_view dialect : {draft_07, draft_2019_09, draft_2020_12}) {
        CHECK(ask(in(dialect, R"("format":"ipv4","contentMediaType":"application/json"})"), "\"{\"") == "fits");
        CHECK(ask(in(dialect, R"("format":"ipv4"})"), "\"x\"", {.check_formats = true}) ==
              "expected the format ipv4, found \"x\"");
    }
}

TEST_CASE("each built-in metaschema is a valid schema of its dialect") {
    for (const auto documents :
         {validation::metaschemas_2020_12(), validation::metaschemas_2019_09(), validation::metaschemas_draft_07()}) {
        const schema whole(json::object({{"$ref", std::string(documents.front().uri)}}));
        CHECK_FALSE(whole.accepts(json::parse(R"({"not":{"type":5}})")));
        CHECK_FALSE(whole.accepts(json::parse(R"({"allOf":[{"items":{"minLength":-1}}]})")));
        for (const validation::metaschema& m : documents) {
            CAPTURE(m.uri);
            const json::value document = json::parse(m.text);
            CHECK(whole.accepts(document));
            CHECK(validation::find_metaschema(m.uri) == m.text);
            CHECK_NOTHROW(schema{document});
        }
    }
}

TEST_CASE("SCH-03, SCH-06: references of older dialects are not fetched, either") {
    CHECK(refusal(in(draft_07, R"("items":[{"$ref":"https://example.com/x.json"}]})")) ==
          "/items/0/$ref: unresolved reference \"https://example.com/x.json\": the document is not in "
          "schema_options::documents, and nothing is fetched");
    CHECK(refusal(in(draft_07, R"("dependencies":{"a":{"$ref":"#/nowhere"}}})")) ==
          "/dependencies/a/$ref: unresolved reference \"#/nowhere\": no such location");
}

TEST_CASE("SCH-07: the limits hold in every dialect") {
    const auto deepest = [](std::string_view schema) {
        decode_error e;
        return keel::schema(json::parse(schema)).check(json::parse("[[1]]"), e) ? "fits" : e.text;
    };
    CHECK(deepest(in(draft_07, R"("$ref":"#"})")) == "nested too deeply");
    CHECK(deepest(in(draft_07, R"("not":{"$ref":"#"}})")) == "nested too deeply");
    CHECK(deepest(in(draft_2019_09, R"("$recursiveRef":"#"})")) == "nested too deeply");
    CHECK(deepest(in(draft_2019_09, R"("$recursiveAnchor":true,"not":{"$recursiveRef":"#"}})")) == "nested too deeply");
    // Every schema counts, wherever it is.
    const std::string_view three = R"("items":[{"type":"string"}],"dependencies":{"a":{}}})";
    CHECK(refusal(in(draft_07, three), {.max_subschemas = 3}) == "good");
    CHECK(refusal(in(draft_07, three), {.max_subschemas = 2}).find("too many schemas: more than 2") !=
          std::string::npos);
    const std::string_view deep = R"("items":[{"dependencies":{"a":{"additionalItems":{}}}}]})";
    CHECK(refusal(in(draft_07, deep), {.max_depth = 4}) == "good");
    CHECK(refusal(in(draft_07, deep), {.max_depth = 3}) ==
          "/items/0/dependencies/a/additionalItems: schemas nested too deeply: more than 3 levels");
    // Alternatives of every level: 2^40 combinations.
    std::string text = R"("$ref":"#/definitions/n0","definitions":{)";
    for (int i = 0; i != 40; ++i) {
        const std::string next = R"({"$ref":"#/definitions/n)" + std::to_string(i + 1) + "\"}";
        text += "\"n" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
    }
    CHECK(ask(in(draft_07, text + R"("n40":false}})"), "1") == "validation stopped: work limit exceeded");
}
