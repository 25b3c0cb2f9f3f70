#include "client/form_check.hpp"

#include <keel/types_json.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using client_side::fit_form;
using client_side::fit_sampling;
using protocol::revision;

namespace {

/// The values after conversion, or "wrong: " and the error.
std::string fitted(std::string_view form, std::string_view values) {
    form_answer answer(json::parse(values));
    if (auto problem = fit_form(json::parse(form), answer)) return "wrong: " + *problem;
    return json::to_string(answer.values);
}

std::string one_field(std::string_view property, std::string_view value) {
    return fitted(R"({"type":"object","properties":{"x":)" + std::string(property) + "}}",
                  R"({"x":)" + std::string(value) + "}");
}

bool is_wrong(const std::string& outcome) { return outcome.starts_with("wrong: values"); }

std::string sampled(revision r, bool with_tools, std::string_view params) {
    const json::value given = json::parse(params);
    auto request = decode<sampling_request>(given);
    return fit_sampling(r, with_tools, given, request).value_or("");
}

}  // namespace

TEST_CASE("ELI-18 the defaults of every kind of field are filled in") {
    CHECK(fitted(R"({"type":"object","properties":{
            "name":{"type":"string","default":"John Doe"},
            "age":{"type":"integer","default":30},
            "score":{"type":"number","default":95.5},
            "verified":{"type":"boolean","default":true},
            "status":{"type":"string","enum":["active","inactive"],"default":"active"},
            "old":{"type":"string","enum":["a","b"],"enumNames":["A","B"],"default":"b"},
            "titled":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}],"default":"g"},
            "several":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["y"]},
            "titled several":{"type":"array","items":{"anyOf":[{"const":"p","title":"P"}]},"default":["p"]},
            "open":{"type":"string"}},
          "required":["name","age","score","verified","status","old","titled","several"]})",
                 "{}") ==
          R"({"name":"John Doe","age":30,"score":95.5,"verified":true,"status":"active","old":"b","titled":"g",)"
          R"("several":["y"],"titled several":["p"]})");
}

TEST_CASE("ELI-18 values of the user are kept, empty or not") {
    constexpr auto form = R"({"type":"object","properties":{"name":{"type":"string","default":"x"},
                              "on":{"type":"boolean","default":true},
                              "some":{"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]}}})";
    CHECK(fitted(form, R"({"name":"","on":false,"some":[]})") == R"({"name":"","on":false,"some":[]})");
    CHECK(fitted(form, R"({"on":false})") == R"({"on":false,"name":"x","some":["a"]})");
    CHECK(fitted(form, "null") == R"({"name":"x","on":true,"some":["a"]})");
}

TEST_CASE("ELI-18 an invalid default is not filled in") {
    CHECK(fitted(R"({"type":"object","properties":{"x":{"type":"integer","maximum":5,"default":9}}})", "{}") == "{}");
    CHECK(fitted(R"({"type":"object","properties":{"x":{"type":"integer","default":"nine"}},"required":["x"]})",
                 "{}") == "wrong: values.x: required");
}

TEST_CASE("ELI-18 an answer that does not match its form is reported with its path") {
    CHECK(one_field(R"({"type":"string","minLength":2})", R"("ab")") == R"({"x":"ab"})");
    CHECK(is_wrong(one_field(R"({"type":"string","minLength":2})", R"("a")")));
    CHECK(is_wrong(one_field(R"({"type":"string","maxLength":2})", R"("abc")")));
    CHECK(is_wrong(one_field(R"({"type":"string"})", "7")));
    CHECK(is_wrong(one_field(R"({"type":"string"})", "null")));
    CHECK(one_field(R"({"type":"string","format":"email"})", R"("a@example.com")") == R"({"x":"a@example.com"})");
    CHECK(is_wrong(one_field(R"({"type":"string","format":"email"})", R"("nobody")")));
    CHECK(is_wrong(one_field(R"({"type":"string","format":"date"})", R"("2025-02-30")")));
    CHECK(is_wrong(one_field(R"({"type":"string","format":"date-time"})", R"("today")")));
    CHECK(is_wrong(one_field(R"({"type":"string","format":"uri"})", R"("no uri")")));
    CHECK(is_wrong(one_field(R"({"type":"integer"})", "1.5")));
    CHECK(one_field(R"({"type":"number","minimum":1})", "1.5") == R"({"x":1.5})");
    CHECK(is_wrong(one_field(R"({"type":"number","minimum":2})", "1.5")));
    CHECK(is_wrong(one_field(R"({"type":"boolean"})", R"("true")")));
    CHECK(is_wrong(one_field(R"({"type":"string","enum":["a"]})", R"("b")")));
    CHECK(is_wrong(one_field(R"({"type":"string","oneOf":[{"const":"a","title":"A"}]})", R"("A")")));
    CHECK(is_wrong(one_field(R"({"type":"array","items":{"type":"string","enum":["a"]}})", R"(["a","b"])")));
    CHECK(is_wrong(one_field(R"({"type":"array","items":{"type":"string","enum":["a"]},"minItems":1})", "[]")));
    CHECK(fitted(R"({"type":"object","properties":{"x":{"type":"string"}},"required":["x"]})", "{}") ==
          "wrong: values.x: required");
    CHECK(fitted(R"({"type":"object","properties":{}})", "[]") == "wrong: form values must be an object, found array");
}

TEST_CASE("ELI-18 invalid value types are rejected in undescribed fields, too") {
    constexpr auto form = R"({"type":"object","properties":{}})";
    CHECK(fitted(form, R"({"extra":"x"})") == R"({"extra":"x"})");
    CHECK(is_wrong(fitted(form, R"({"extra":{"deep":1}})")));
    CHECK(is_wrong(fitted(form, R"({"extra":[1]})")));
}

TEST_CASE("ELI-18 a form may name any dialect, because its keywords mean the same in all") {
    constexpr auto form = R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
                              "properties":{"x":{"type":"integer","default":3}}})";
    CHECK(fitted(form, "{}") == R"({"x":3})");
    CHECK(is_wrong(fitted(form, R"({"x":"y"})")));
}

TEST_CASE("an invalid form is reported") {
    CHECK(fitted(R"({"type":"object","properties":{"x":{"$ref":"https://example.com/a.json"}}})", R"({"x":1})")
              .starts_with("wrong: invalid form schema: "));
    CHECK(fitted(R"({"type":"object","properties":{"x":{"type":"nonsense","default":1}}})", "{}")
              .starts_with("wrong: invalid form schema: "));
}

TEST_CASE("a declined or cancelled answer has no values") {
    for (elicit_action action : {elicit_action::decline, elicit_action::cancel}) {
        form_answer answer(action);
        answer.values = json::object({{"x", 1}});
        CHECK(!fit_form(json::parse(R"({"type":"object","properties":{"x":{"type":"string"}},"required":["x"]})"),
                        answer));
        CHECK(answer.values.is_null());
    }
}

TEST_CASE("SAM-03 undeclared tools are rejected, even an empty list") {
    const std::string head = R"({"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10)";
    for (revision r : {revision::r2025_11_25, revision::r2026_07_28}) {
        CHECK(sampled(r, false, head + "}") == "");
        CHECK(sampled(r, false, head + R"(,"tools":[]})") ==
              R"("tools" is present, but the client did not declare sampling.tools)");
        CHECK(sampled(r, false, head + R"(,"toolChoice":{"mode":"none"}})") ==
              R"("toolChoice" is present, but the client did not declare sampling.tools)");
        CHECK(sampled(r, true, head + R"(,"tools":[{"name":"t","inputSchema":{"type":"object"}}]})") == "");
    }
}

TEST_CASE("SAM-03 revisions without sampling tools ignore them") {
    const json::value params = json::parse(
        R"({"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10,
            "tools":[{"name":"t","inputSchema":{}}],"toolChoice":{"mode":"required"}})");
    auto request = decode<sampling_request>(params);
    CHECK(!fit_sampling(revision::r2025_06_18, false, params, request));
    CHECK(request.tools.empty());
    CHECK(!request.tool_choice);
}

TEST_CASE("SAM-04 SAM-05 a conversation with mixed or missing tool results is rejected") {
    const std::string use = R"({"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]})";
    const std::string result = R"({"type":"tool_result","toolUseId":"1","content":[]})";
    const std::string text = R"({"type":"text","text":"and more"})";
    const auto conversation = [&](const std::string& more) {
        return sampled(revision::r2025_11_25, true,
                       R"({"maxTokens":10,"messages":[{"role":"user","content":)" + text + "}," + use + more + "]}");
    };
    CHECK(conversation(R"(,{"role":"user","content":)" + result + "}") == "");
    CHECK(conversation(R"(,{"role":"user","content":[)" + result + "," + text + "]}") ==
          "invalid sampling request: message 2: a message with tool results must contain nothing else");
    CHECK(conversation(R"(,{"role":"user","content":)" + text + "}") != "");
    CHECK(conversation("") != "");
}
