#include "protocol/elicitation_schema.hpp"

#include "suite.hpp"
#include "support/test_data.hpp"

#include <doctest/doctest.h>

using namespace keel;

namespace {

std::string problem(std::string_view schema) {
    return protocol::elicitation_problem(json::parse(schema)).value_or("good");
}

/// A form with this one property.
std::string problem_with(std::string_view property) {
    return problem(R"({"type":"object","properties":{"p":)" + std::string(property) + "}}");
}

}  // namespace

TEST_CASE("a flat form of strings, numbers, booleans and choices is accepted") {
    CHECK(problem(R"({"type":"object","properties":{}})") == "good");
    CHECK(problem(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
                      "properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false})") == "good");
    for (
        const char* good :
        {R"({"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"format":"email","default":"x"})",
         R"({"type":"string","pattern":"^a"})", R"({"type":"integer","minimum":1,"maximum":9,"default":3})",
         R"({"type":"number","minimum":0.5,"x-unit":"m"})", R"({"type":"boolean","default":true})",
         R"({"type":"string","enum":["a","b"],"default":"a"})",
         R"({"type":"string","enum":["a","b"],"enumNames":["A","B"]})",
         R"({"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"})",
         R"({"type":"array","items":{"type":"string","enum":["a"]},"minItems":1,"maxItems":1,"default":["a"]})",
         R"({"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}})"}) {
        CHECK(problem_with(good) == "good");
    }
}

TEST_CASE("an unsupported form is rejected, and the error names the property") {
    CHECK(problem("[]") == "the schema of a form must be an object, found array");
    CHECK(problem(R"({"properties":{}})") == "the schema of a form must have the type \"object\"");
    CHECK(problem(R"({"type":"object"})") == "the schema of a form must have an object \"properties\", found null");
    CHECK(problem(R"({"type":"object","properties":{},"allOf":[true]})") ==
          "the schema of the form uses \"allOf\", which is unsupported in forms");
    CHECK(problem(R"({"type":"object","properties":{},"required":["x"]})") ==
          "the required property \"x\" is missing in \"properties\"");
    CHECK(problem(R"({"type":"object","properties":{},"required":[1]})") == "\"required\" must be a list of strings");
    CHECK(problem_with(R"({"type":"object","properties":{}})") ==
          "the property \"p\": is an object: nested objects are unsupported in forms");
    CHECK(problem_with(R"({"type":"array","items":{"type":"string"}})") ==
          "the property \"p\": is an array without choices: forms require \"items\" with \"enum\" or \"anyOf\"");
    CHECK(problem_with(R"({"type":"null"})") == "the property \"p\": has the unsupported type \"null\"");
    CHECK(problem_with(R"({"type":["string","null"]})") ==
          "the property \"p\": must have one \"type\" that is a string");
    CHECK(problem_with("true") == "the property \"p\": expected a schema object, found boolean");
    CHECK(problem_with(R"({"$ref":"#/x"})") == "the property \"p\": must have one \"type\" that is a string");
    CHECK(problem_with(R"({"type":"string","$ref":"#/x"})") ==
          "the property \"p\": uses \"$ref\", which is unsupported in forms");
    CHECK(problem_with(R"({"type":"string","format":"ipv4"})") ==
          "the property \"p\": has the unsupported format \"ipv4\": forms support email, uri, date and date-time");
    CHECK(problem_with(R"({"type":"integer","multipleOf":2})") ==
          "the property \"p\": uses \"multipleOf\", which is unsupported in forms");
    CHECK(problem_with(R"({"type":"string","minLength":-1})") ==
          "the property \"p\": \"minLength\" must be a non-negative integer, found integer");
    CHECK(problem_with(R"({"type":"boolean","default":"yes"})") ==
          "the property \"p\": \"default\" must be true or false, found string");
    CHECK(problem_with(R"({"type":"string","enum":[]})") == "the property \"p\": \"enum\" must be a non-empty array");
    CHECK(problem_with(R"({"type":"string","enum":["a",1]})") ==
          "the property \"p\": the choices of \"enum\" must be strings, found integer");
    CHECK(problem_with(R"({"type":"string","enum":["a"],"enumNames":["A","B"]})") ==
          "the property \"p\": \"enumNames\" must be a list of strings, one for each choice");
    CHECK(problem_with(R"({"type":"string","oneOf":[{"const":"a"}]})") ==
          "the property \"p\": each choice of \"oneOf\" must have a \"const\" and a \"title\" that are strings");
    CHECK(problem_with(R"({"type":"array","items":{"enum":["a"]}})") ==
          "the property \"p\": the choices of \"items\" must be of the type \"string\"");
}

TEST_CASE("the forms in the official examples are accepted") {
    if (test::test_data_missing("schema")) return;
    const auto files = suite::files_in(*test::find_test_data("schema") / "2026-07-28/examples/ElicitRequestFormParams");
    CHECK_FALSE(files.empty());
    for (const auto& file : files) {
        CHECK(protocol::elicitation_problem(suite::read(file)["requestedSchema"]).value_or("good") == "good");
    }
}
