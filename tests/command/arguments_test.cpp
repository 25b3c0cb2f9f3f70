#include "arguments.hpp"
#include "exit_status.hpp"
#include "schema_properties.hpp"

#include <doctest/doctest.h>

using namespace keel;
using namespace keel::command;

namespace {

const json::value input_schema =
    json::parse(R"({"type": "object", "$defs": {"names": {"type": "array", "items": {"type": "string"}}},
    "properties": {"tags": {"$ref": "#/$defs/names"}, "ids": {"type": "array", "items": {"type": "integer"}},
                   "text": {"type": "string"}, "any": {}},
    "allOf": [{"properties": {"more": {"type": "number"}}}]})");

std::string given(std::vector<std::string> words) {
    return json::to_string(given_arguments(words).with_schema(input_schema));
}

std::string refused(const json::value& arguments, const json::value& by) {
    try {
        check_names(arguments, by);
    } catch (const usage_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a repeated argument is a list") {
    CHECK(given({"tags=x", "text=a", "tags=1"}) == R"({"tags":["x","1"],"text":"a"})");
    CHECK(given({"ids=1", "ids=2"}) == R"({"ids":[1,2]})");
    CHECK(given({"any=1", "any=x", "any:={}"}) == R"({"any":[1,"x",{}]})");
    CHECK_THROWS_WITH_AS(given({"text=1", "text=2"}), "argument text is given 2 times: expected one string",
                         usage_error);
    CHECK_THROWS_AS(given({"ids=1", "ids=x"}), usage_error);
}

TEST_CASE("one value of a list argument is a list of one element, unless it is a JSON array") {
    CHECK(given({"tags=x"}) == R"({"tags":["x"]})");
    CHECK(given({"tags=[\"x\",\"y\"]"}) == R"({"tags":["x","y"]})");
    CHECK(given({"ids=7"}) == R"({"ids":[7]})");
}

TEST_CASE("an argument of a prompt may not be repeated") {
    std::vector<std::string> words = {"a=1", "a=2"};
    CHECK_THROWS_AS(given_arguments(words).as_texts(), usage_error);
}

TEST_CASE("unknown arguments are refused with the known ones") {
    CHECK(refused(json::object({{"text", 1}, {"more", 1}}), input_schema) == "");
    CHECK(refused(json::object({{"tagz", 1}}), input_schema) ==
          "unknown argument tagz; known arguments: tags, ids, text, any, more; did you mean tags?");
    CHECK(refused(json::object({{"x", 1}}), json::parse(R"({"type": "object"})")) ==
          "unknown argument x; the tool takes no arguments");
}

TEST_CASE("a schema that explicitly allows additional properties accepts every argument") {
    json::value some = json::object({{"x", 1}});
    for (const char* open : {R"({"additionalProperties": true})", R"({"additionalProperties": {"type": "string"}})",
                             R"({"unevaluatedProperties": {}})", R"({"patternProperties": {"^x": {}}})",
                             R"({"allOf": [{"additionalProperties": true}]})"}) {
        CAPTURE(open);
        CHECK(refused(some, json::parse(open)) == "");
    }
    CHECK(refused(some, json::parse(R"({"additionalProperties": false})")) != "");
    CHECK(refused(some, json::value()) == "");  // the schema is unknown
}
