#include "client/tool_catalog.hpp"

#include <keel/error.hpp>
#include <keel/types_json.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace keel;
using client_side::tool_catalog;

namespace {

tool made(std::string name, std::string_view input, json::value output = {}) {
    tool t;
    t.name = std::move(name);
    t.input_schema = json::parse(input);
    t.output_schema = std::move(output);
    return t;
}

/// A catalog and its reports.
struct catalog_under_test {
    tool_catalog catalog;
    std::vector<std::string> reports;
    tool_catalog::reporter report = [this](std::string_view text) { reports.emplace_back(text); };

    std::vector<std::string> take(std::vector<tool> page, bool mirrored = true) {
        catalog.add(page, mirrored, report);
        std::vector<std::string> left;
        for (const tool& t : page) left.push_back(t.name);
        return left;
    }
    /// "Name=value …"
    std::string headers(std::string_view tool, std::string_view arguments) {
        std::string out;
        for (const auto& [name, value] : catalog.headers_for(tool, json::parse(arguments))) {
            if (!out.empty()) out += ' ';
            out += name + "=" + value;
        }
        return out;
    }
    std::string check(std::string_view tool, const tool_result& r) {
        return catalog.check(tool, r, report).value_or("");
    }
};

tool_result structured(json::value v) {
    tool_result r("see there");
    r.structured = std::move(v);
    return r;
}

constexpr std::string_view annotated = R"({"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "deep":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"LEVEL"}}},
    "dry":{"type":"boolean","x-mcp-header":"dry-run"},
    "plain":{"type":"string"}}})";

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("HDR-07 annotated arguments are mirrored, also in nested objects, and no others") {
    catalog_under_test s;
    CHECK(s.take({made("t", annotated)}) == names{"t"});
    CHECK(s.headers("t", R"({"region":"us-west1","deep":{"level":-3},"dry":true,"plain":"x","other":1})") ==
          "Mcp-Param-Region=us-west1 Mcp-Param-LEVEL=-3 Mcp-Param-dry-run=true");
    CHECK(s.headers("t", R"({"dry":false})") == "Mcp-Param-dry-run=false");
    CHECK(s.headers("unknown", R"({"region":"x"})") == "");
    CHECK(s.reports.empty());
}

TEST_CASE("HDR-08 null and absent arguments have no header") {
    catalog_under_test s;
    s.take({made("t", annotated)});
    CHECK(s.headers("t", "{}") == "");
    CHECK(s.headers("t", "null") == "");
    CHECK(s.headers("t", R"({"region":null,"deep":{"level":null}})") == "");
    CHECK(s.headers("t", R"({"deep":7})") == "");
}

TEST_CASE("HDR-11 values are encoded if a header cannot contain them") {
    catalog_under_test s;
    s.take({made("t", annotated)});
    CHECK(s.headers("t", R"({"region":"Hello, 世界"})") == "Mcp-Param-Region==?base64?SGVsbG8sIOS4lueVjA==?=");
    CHECK(s.headers("t", R"({"region":" padded "})") == "Mcp-Param-Region==?base64?IHBhZGRlZCA=?=");
    CHECK(s.headers("t", R"({"region":"line1\nline2"})") == "Mcp-Param-Region==?base64?bGluZTEKbGluZTI=?=");
    CHECK(s.headers("t", R"({"region":"=?base64?literal?="})") ==
          "Mcp-Param-Region==?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    CHECK(s.headers("t", R"({"region":""})") == "Mcp-Param-Region=");
}

TEST_CASE("HDR-11 whole numbers are written as integers, in any notation") {
    catalog_under_test s;
    s.take({made("t", annotated)});
    CHECK(s.headers("t", R"({"deep":{"level":42.0}})") == "Mcp-Param-LEVEL=42");
    CHECK(s.headers("t", R"({"deep":{"level":-0.0}})") == "Mcp-Param-LEVEL=0");
    CHECK(s.headers("t", R"({"deep":{"level":9007199254740991}})") == "Mcp-Param-LEVEL=9007199254740991");
    CHECK(s.headers("t", R"({"deep":{"level":-9007199254740991}})") == "Mcp-Param-LEVEL=-9007199254740991");
    CHECK(s.headers("t", R"({"deep":{"level":9e15}})") == "Mcp-Param-LEVEL=9000000000000000");
}

TEST_CASE("HDR-11 a number that is invalid in a header fails before it is sent") {
    catalog_under_test s;
    s.take({made("t", annotated)});
    for (std::string_view number : {"9007199254740992", "-9007199254740992", "18446744073709551615", "1.5", "1e300"}) {
        CAPTURE(number);
        const std::string arguments = R"({"deep":{"level":)" + std::string(number) + "}}";
        try {
            s.headers("t", arguments);
            FAIL("was accepted");
        } catch (const error& e) {
            CHECK(e.kind() == error_kind::unavailable);
            CHECK(e.code() == error_code::invalid_params);
            CHECK(std::string(e.what()).starts_with("arguments.deep.level: "));
        }
    }
}

TEST_CASE("an argument of the wrong type is mirrored as it is, and the server reports it") {
    catalog_under_test s;
    s.take({made("t", annotated)});
    CHECK(s.headers("t", R"({"region":7,"dry":"yes"})") == "Mcp-Param-Region=7 Mcp-Param-dry-run=yes");
    CHECK(s.headers("t", R"({"region":["a"],"dry":{}})") == "");
}

TEST_CASE("HDR-12 HDR-17 a tool with an invalid annotation is dropped, and tool and reason are reported") {
    catalog_under_test s;
    const names left = s.take({
        made("good", annotated),
        made("number", R"({"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}})"),
        made("in items",
             R"({"type":"object","properties":{"x":{"type":"array","items":{"type":"string","x-mcp-header":"X"}}}})"),
        made("empty", R"({"type":"object","properties":{"x":{"type":"string","x-mcp-header":""}}})"),
        made(
            "twice",
            R"({"type":"object","properties":{"x":{"type":"string","x-mcp-header":"A"},"y":{"type":"string","x-mcp-header":"a"}}})"),
        made("plain", R"({"type":"object"})"),
    });
    CHECK(left == names{"good", "plain"});
    REQUIRE(s.reports.size() == 4);
    CHECK(
        s.reports[0] ==
        "the tool \"number\" cannot be used over HTTP: properties.x: x-mcp-header requires the type string, integer or "
        "boolean");
    CHECK(s.reports[1].starts_with("the tool \"in items\" cannot be used over HTTP: properties.x.items: "));
    CHECK(s.reports[3].starts_with("the tool \"twice\""));
    CHECK(s.catalog.contains("good"));
    CHECK(!s.catalog.contains("number"));
}

TEST_CASE("HDR-12 if arguments are not mirrored, invalid annotations have no effect") {
    catalog_under_test s;
    CHECK(s.take(
              {made("number", R"({"properties":{"x":{"type":"number","x-mcp-header":"X"}}})"), made("good", annotated)},
              false) == names{"number", "good"});
    CHECK(s.reports.empty());
    CHECK(s.headers("good", R"({"region":"x"})") == "");
}

TEST_CASE("a tool that becomes invalid is dropped, and a changed one is replaced") {
    catalog_under_test s;
    s.take({made("t", annotated)});
    s.take({made("t", R"({"properties":{"region":{"type":"string","x-mcp-header":"Zone"}}})")});
    CHECK(s.headers("t", R"({"region":"x"})") == "Mcp-Param-Zone=x");
    s.take({made("t", R"({"properties":{"region":{"type":"string","x-mcp-header":"no token"}}})")});
    CHECK(!s.catalog.contains("t"));
    CHECK(s.headers("t", R"({"region":"x"})") == "");
}

TEST_CASE("TOOL-10 structured content is validated against the output schema") {
    catalog_under_test s;
    s.take({made("t", "{}",
                 json::parse(R"({"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]})")),
            made("any", "{}")});
    CHECK(s.check("t", structured(json::object({{"sum", 3}}))) == "");
    const std::string wrong = s.check("t", structured(json::object({{"sum", "3"}})));
    CHECK(wrong.starts_with("the result of the tool \"t\" does not match its outputSchema: structuredContent.sum: "));
    CHECK(s.check("t", structured(json::value())) != "");
    CHECK(s.check("any", structured(7)) == "");
    CHECK(s.check("unknown", structured(7)) == "");
    CHECK(s.reports.empty());
}

TEST_CASE("TOOL-10 missing structured content is an error, but not for a failed tool") {
    catalog_under_test s;
    s.take({made("t", "{}", json::parse(R"({"type":"object"})"))});
    CHECK(s.check("t", tool_result("text alone")) ==
          "the tool \"t\" has an outputSchema, but its result has no structuredContent");
    CHECK(s.check("t", tool_result::failure("no")) == "");
    tool_result failed = structured(7);
    failed.is_error = true;
    CHECK(s.check("t", failed) == "");
}

TEST_CASE("TOOL-10 null is structured content if the schema allows it") {
    catalog_under_test s;
    s.take({made("t", "{}", json::parse(R"({"type":["null","integer"]})"))});
    CHECK(s.check("t", structured(json::value())) == "");
    CHECK(s.check("t", structured("x")) != "");
}

TEST_CASE("SCH-02 SCH-03 SCH-06 an unusable schema is reported once, at its first use") {
    for (std::string_view schema : {R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"object"})",
                                    R"({"$ref":"https://example.com/elsewhere.json"})", R"({"type":"nonsense"})"}) {
        CAPTURE(schema);
        catalog_under_test s;
        s.take({made("t", "{}", json::parse(schema))});
        CHECK(s.reports.empty());
        CHECK(s.check("t", structured(7)) == "");
        CHECK(s.check("t", tool_result("text")) == "");
        REQUIRE(s.reports.size() == 1);
        CHECK(s.reports[0].starts_with("results of the tool \"t\" are not validated: "));
    }
}

TEST_CASE("the catalog is cleared when the list has changed") {
    catalog_under_test s;
    s.take({made("t", annotated, json::parse(R"({"type":"object"})"))});
    s.catalog.clear();
    CHECK(!s.catalog.contains("t"));
    CHECK(s.headers("t", R"({"region":"x"})") == "");
    CHECK(s.check("t", tool_result("text")) == "");
}

TEST_CASE("no more tools than the limit are remembered; the rest stays in the list") {
    catalog_under_test s;
    std::vector<tool> page(tool_catalog::max_tools + 2);
    for (std::size_t i = 0; i < page.size(); ++i) page[i].name = std::to_string(i);
    const names left = s.take(page);
    CHECK(left.size() == tool_catalog::max_tools + 2);
    CHECK(s.catalog.size() == tool_catalog::max_tools);
    CHECK(s.reports.size() == 1);
    s.take({made("0", annotated)});  // a known tool may still change
    CHECK(s.headers("0", R"({"region":"x"})") == "Mcp-Param-Region=x");
}

TEST_CASE("J4 the catalog has a byte limit: schemas beyond it are not kept, and that is reported once") {
    catalog_under_test s;
    json::value schema = json::parse(R"({"type":"object","required":["sum"]})");
    schema.set("description", std::string(6u << 20, 'd'));
    for (const char* name : {"a", "b", "c", "d"}) s.take({made(name, annotated, schema)});
    CHECK(s.reports ==
          names{"the server's tool list takes more than 16 MiB: results of the other tools are not validated"});
    CHECK_FALSE(s.check("a", structured(json::object())).empty());
    CHECK_FALSE(s.check("b", structured(json::object())).empty());
    CHECK(s.check("c", structured(json::object())).empty());
    CHECK(s.headers("d", R"({"region":"x"})") == "Mcp-Param-Region=x");
    // New data replaces the old data.
    s.take({made("a", annotated)});
    s.take({made("c", annotated, schema)});
    CHECK_FALSE(s.check("c", structured(json::object())).empty());
    // Not even the name fits.
    s.take({made(std::string(17u << 20, 'n'), annotated)});
    CHECK(s.catalog.size() == 4);
    s.catalog.clear();
    s.take({made("d", annotated, schema)});
    CHECK_FALSE(s.check("d", structured(json::object())).empty());
}

TEST_CASE("a page older than the last clear is not remembered, but invalid tools are removed from it") {
    catalog_under_test s;
    const auto before = s.catalog.generation();
    s.catalog.clear();
    CHECK(s.catalog.generation() != before);
    std::vector<tool> page = {
        made("t", annotated),
        made("bad", R"({"type":"object","properties":{"x":{"type":"array","x-mcp-header":"X"}}})")};
    s.catalog.add(page, true, s.report, false);
    CHECK(page.size() == 1);
    CHECK(s.catalog.size() == 0);
}
