// Results of tools, resources and prompts, and their validation.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// Lists one tool `x` with this output schema.
void learn(client_under_test& t, const std::string& revision, std::string_view output_schema) {
    outcome_of_task& o = t.run(t.client->list_tools(), count_of);
    json::value tool = json::parse(R"({"name":"x","inputSchema":{"type":"object"}})");
    tool.set("outputSchema", json::parse(output_schema));
    json::value r = result_in(revision, "{}");
    r.set("tools", json::array({tool}));
    t.answer(t.expect("tools/list"), r);
    CHECK(o.text == "1");
}

outcome_of_task& call(client_under_test& t, const std::string& revision, std::string_view structured,
                      bool failed = false) {
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value r = text_result(revision, "ok");
    if (!structured.empty()) r.set("structuredContent", json::parse(structured));
    if (failed) r.set("isError", true);
    t.answer(t.expect("tools/call"), r);
    return o;
}

constexpr const char* number_schema = R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})";

}  // namespace

TEST_CASE("TOOL-10: a tool result is validated against the output schema") {
    for (const std::string& revision : revisions_from("2025-06-18")) {
        client_under_test t;
        t.connect(revision);
        learn(t, revision, number_schema);
        CHECK(call(t, revision, R"({"n":1})").text == "ok");
        for (const char* bad : {R"({"n":"1"})", "{}", ""}) {
            outcome_of_task& o = call(t, revision, bad);
            CHECK(o.kind == error_kind::bad_message);
            CHECK(o.text.find("\"x\"") != std::string::npos);
        }
        CHECK(call(t, revision, "", true).text == "failed ok");
    }
}

TEST_CASE("TOOL-10: results are not validated in revisions without output schemas, or if the program disables it") {
    for (const std::string& revision : every_revision) {
        client_options options;
        options.check_results = revision < "2025-06-18";
        client_under_test t(options);
        t.connect(revision);
        learn(t, revision, number_schema);
        CHECK(call(t, revision, R"({"n":"1"})").text == "ok");
    }
}

TEST_CASE("TOOL-14, TOOL-12: a failing tool returns a result; a rejected call throws an error") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        CHECK(call(t, revision, "", true).text == "failed ok");
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        t.refuse(t.expect("tools/call"), -32602, "unknown tool");
        CHECK(o.kind == error_kind::rejected);
        CHECK(o.code == -32602);
        CHECK(o.text.find("unknown tool") != std::string::npos);
    }
}

TEST_CASE("SCH-01, SCH-02: schemas without a dialect or with 2020-12 are used; unsupported dialects are reported") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        for (const char* dialect : {"", R"("$schema":"https://json-schema.org/draft/2020-12/schema",)"}) {
            client_under_test t;
            t.connect(revision);
            learn(t, revision,
                  "{" + std::string(dialect) +
                      R"("type":"object","properties":{"l":{"type":"array","prefixItems":[{"$ref":"#/$defs/s"}]}},
                                   "$defs":{"s":{"type":"string"}},"dependentRequired":{"a":["b"]}})");
            CHECK(call(t, revision, R"({"l":["x",1]})").text == "ok");
            CHECK(call(t, revision, R"({"l":[1]})").kind == error_kind::bad_message);
            CHECK(call(t, revision, R"({"a":1})").kind == error_kind::bad_message);
        }
        client_under_test t;
        t.connect(revision);
        learn(t, revision, R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"object"})");
        CHECK(call(t, revision, R"({"a":1})").text == "ok");
        REQUIRE(!t.log.empty());
        CHECK(t.log.back().find("draft-04") != std::string::npos);
    }
}

TEST_CASE("SCH-02: results are validated in the dialect that the output schema names") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        for (const char* dialect :
             {"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"}) {
            CAPTURE(dialect);
            client_under_test t;
            t.connect(revision);
            // An array of "items" is invalid in 2020-12.
            learn(t, revision, R"({"$schema":")" + std::string(dialect) + R"(","type":"object","required":["l"],
                "properties":{"l":{"type":"array","items":[{"$ref":"#/definitions/s"}],"additionalItems":false}},
                "definitions":{"s":{"type":"string"}}})");
            CHECK(call(t, revision, R"({"l":["x"]})").text == "ok");
            for (const char* bad : {R"({"l":[1]})", R"({"l":["x",1]})", "{}"}) {
                CHECK(call(t, revision, bad).kind == error_kind::bad_message);
            }
            for (const std::string& line : t.log) CHECK(line.find("not validated") == std::string::npos);
        }
    }
}

TEST_CASE(
    "SCH-03, SCH-06, SCH-07: schemas with external references or without limits are reported and never "
    "resolved") {
    std::string deep = "{}";
    for (int i = 0; i < 200; ++i) deep = R"({"allOf":[)" + deep + "]}";
    for (const std::string& schema :
         {std::string(R"({"type":"object","$ref":"http://127.0.0.1:1/schema.json"})"),
          std::string(R"({"type":"object","properties":{"a":{"$ref":"https://example.com/a.json#/x"}}})"),
          std::string(R"({"type":"object","$ref":"file:///etc/passwd"})"),
          std::string(R"({"type":"object","$ref":"#/nowhere"})"), deep}) {
        client_under_test t;
        t.connect(modern);
        learn(t, modern, schema);
        std::size_t before = t.log.size();
        CHECK(call(t, modern, R"({"a":1})").done());
        CHECK(t.log.size() > before);
        CHECK(t.connector->wires.size() == 1);
        CHECK(t.silent());
    }
}

TEST_CASE("SCH-08: schemas are passed to the program completely") {
    constexpr const char* schema =
        R"({"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","$id":"urn:x","$anchor":"a","$defs":{"d":{"$anchor":"b"}},)"
        R"("if":{"required":["a"]},"then":{"required":["b"]},"else":false,"allOf":[{"$ref":"#b"}],"oneOf":[true],"not":{},"x-mine":[1,null,{"y":2.50}],)"
        R"("properties":{"":{"const":null},"__proto__":{"x-mcp-header":"H","type":"string"}},"unevaluatedProperties":false})";
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        outcome_of_task& o = t.run(t.client->list_tools(), [](const std::vector<tool>& tools) {
            CHECK(json::to_string(tools.at(0).output_schema) == json::to_string(json::parse(schema)));
            return json::to_string(tools.at(0).input_schema);
        });
        json::value tool = json::parse(R"({"name":"x","com.example/more":{"a":1}})");
        tool.set("inputSchema", json::parse(schema));
        tool.set("outputSchema", json::parse(schema));
        json::value r = result_in(revision, "{}");
        r.set("tools", json::array({tool}));
        t.answer(t.expect("tools/list"), r);
        CHECK(o.text == json::to_string(json::parse(schema)));
    }
}

TEST_CASE("TOOL-10: structured content may be any value in 2026-07-28, including null") {
    client_under_test t;
    t.connect(modern);
    learn(t, modern, R"({"type":["array","null"],"items":{"type":"integer"}})");
    CHECK(call(t, modern, "[1,2]").text == "ok");
    CHECK(call(t, modern, "null").text == "ok");
    CHECK(call(t, modern, R"(["1"])").kind == error_kind::bad_message);
    CHECK(call(t, modern, "").kind == error_kind::bad_message);
}

TEST_CASE("RES-07: -32002 and -32602 both mean an unknown resource") {
    for (const std::string& revision : every_revision) {
        for (int code : {-32002, -32602}) {
            client_under_test t;
            t.connect(revision);
            outcome_of_task& o = t.run(t.client->read_resource("a:b"), count_of);
            t.refuse(t.expect("resources/read"), code, "not found", json::object({{"uri", "a:b"}}));
            CHECK(o.kind == error_kind::rejected);
            CHECK(o.code == code);
        }
    }
}

TEST_CASE("COMP-04: other known arguments are sent with a completion request from 2025-06-18 on") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        auto show = [](const completion& c) { return count_of(c.values); };
        outcome_of_task& o = t.run(t.client->complete_resource("a:{x}/{y}", "y", "fo", {{"x", "1"}}), show);
        json::value request = t.expect("completion/complete");
        CHECK(json::to_string(request["params"]["ref"]) == R"({"type":"ref/resource","uri":"a:{x}/{y}"})");
        CHECK(json::to_string(request["params"]["argument"]) == R"({"name":"y","value":"fo"})");
        CHECK(request["params"].contains("context") == (revision >= "2025-06-18"));
        if (revision >= "2025-06-18")
            CHECK(json::to_string(request["params"]["context"]) == R"({"arguments":{"x":"1"}})");
        t.answer(request, result_in(revision, R"({"completion":{"values":["foo","fob"],"hasMore":true}})"));
        CHECK(o.text == "2");
    }
}
