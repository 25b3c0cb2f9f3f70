#include "protocol/mirrored_headers.hpp"

#include <keel/json.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace keel;
using namespace keel::protocol;

namespace {

/// "header:path:type …", or "wrong: " and the error.
std::string compiled(std::string_view schema) {
    const auto outcome = mirrored_parameters(json::parse(schema));
    if (const auto* error = std::get_if<mirrored_schema_error>(&outcome)) return "wrong: " + error->what;
    std::string out;
    for (const mirrored_parameter& each : std::get<0>(outcome)) {
        if (!out.empty()) out += ' ';
        out += each.header_name;
        for (const std::string& name : each.path) out += '/' + name;
        out += each.kind == mirrored_parameter::type::string    ? ":s"
               : each.kind == mirrored_parameter::type::integer ? ":i"
                                                                : ":b";
    }
    return out;
}

constexpr const char* encoded_nothing =
    "=?base64?"
    "?=";  // split, because together they form a trigraph

const std::vector<mirrored_parameter> one_of_each = {
    {"mcp-param-region", {"region"}, mirrored_parameter::type::string},
    {"mcp-param-level", {"deep", "level"}, mirrored_parameter::type::integer},
    {"mcp-param-dry", {"dry"}, mirrored_parameter::type::boolean},
};

/// The problem, or "".
std::string checked(std::string_view arguments, const std::multimap<std::string, std::string>& headers) {
    const auto find = [&](std::string_view name) -> found_header {
        const auto [first, last] = headers.equal_range(std::string(name));
        if (first == last) return {};
        return {first->second, static_cast<std::size_t>(std::distance(first, last))};
    };
    return check_mirrored(one_of_each, json::parse(arguments), find).value_or("");
}

}  // namespace

TEST_CASE("HDR-11 values that a header cannot contain are encoded") {
    const std::pair<std::string_view, std::string_view> vectors[] = {
        {"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
        {" padded ", "=?base64?IHBhZGRlZCA=?="},
        {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
        {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
        {"plain text", "plain text"},
        {"us-west1", "us-west1"},
        {"", ""},
        {"a\tb", "=?base64?YQli?="},
        {"\t", "=?base64?CQ==?="},
        {" ", "=?base64?IA==?="},
        {"a\x7f", "=?base64?YX8=?="},
        {"=?base64?=", "=?base64?="},
        {"=?base64?x", "=?base64?x"},
        {"x?=", "x?="},
        {"=?BASE64?eA==?=", "=?BASE64?eA==?="},
    };
    for (const auto& [text, header] : vectors) {
        CAPTURE(text);
        CHECK(encode_mirrored(text) == header);
        CHECK(decode_mirrored(header) == text);
        CHECK(mirrors(header, text));
        CHECK(!mirrors(header, std::string(text) + "x"));
    }
}

TEST_CASE("HDR-05 encoded values are decoded before they are compared") {
    CHECK(mirrors("=?base64?SGVsbG8=?=", "Hello"));
    CHECK(!mirrors("=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?="));
    CHECK(decode_mirrored(encoded_nothing) == "");  // the empty text, which some clients encode
    CHECK(decode_mirrored("") == "");
    CHECK(!mirrors("hello", "Hello"));  // HDR-06: values are case-sensitive
}

TEST_CASE("HDR-04 HDR-10 invalid encoded values are refused") {
    for (std::string_view header : {"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?SGVsbG8==?=",
                                    "=?base64?SGVsbG9=?=", "=?base64?SGVs bG8=?=", "=?base64?_-8=?=", "=?base64?/w==?=",
                                    "=?base64?7aCA?=", "=?base64?A?=", "a\x01", "\xc3\xa4", "a\x7f", "a\nb"}) {
        CAPTURE(header);
        CHECK(!decode_mirrored(header));
        CHECK(!mirrors(header, header));
    }
    CHECK(!decode_mirrored(std::string_view("a\0", 2)));
}

TEST_CASE("the annotated properties of a schema are found") {
    CHECK(compiled(R"({"type":"object","properties":{"a":{"type":"string"}}})") == "");
    CHECK(compiled(R"({"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "deep":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"LEVEL"}}},
        "dry":{"x-mcp-header":"dry-Run","type":"boolean"}}})") ==
          "mcp-param-region/region:s mcp-param-level/deep/level:i mcp-param-dry-run/dry:b");
    // A property may have any name, and data may look like a schema.
    CHECK(
        compiled(
            R"({"properties":{"x-mcp-header":{"type":"string"},"properties":{"type":"string","x-mcp-header":"P"}}})") ==
        "mcp-param-p/properties:s");
    CHECK(
        compiled(
            R"({"properties":{"a":{"default":{"x-mcp-header":"A"},"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],
        "examples":[{"x-mcp-header":""}]}}})") == "");
    CHECK(compiled(R"({"$defs":{"x-mcp-header":{"type":"string"}},"patternProperties":{"x-mcp-header":true}})") == "");
    CHECK(compiled("true") == "");
    CHECK(compiled("{}") == "");
}

TEST_CASE("an annotation that is not a valid header name makes the schema invalid") {
    for (const char* name : {"\"\"", "\"a b\"", "\"a:b\"", "\"ä\"", "\"a\\n\"", "5", "null", "true", "[\"a\"]", "{}",
                             "\"a\\u0000\"", "\"(a)\""}) {
        CAPTURE(name);
        CHECK(compiled(std::string(R"({"properties":{"p":{"type":"string","x-mcp-header":)") + name + "}}}") ==
              "wrong: properties.p: x-mcp-header must be a header name (RFC 9110 token)");
    }
    CHECK(compiled(R"({"properties":{"p":{"type":"string","x-mcp-header":"!#$%&'*+-.^_`|~aZ9"}}})") ==
          "mcp-param-!#$%&'*+-.^_`|~az9/p:s");
}

TEST_CASE("the type of an annotated property is string, integer or boolean") {
    for (const char* type : {R"("number")", R"("null")", R"("object")", R"("array")", R"(["string"])",
                             R"(["string","null"])", "null", R"("String")"}) {
        CAPTURE(type);
        CHECK(compiled(std::string(R"({"properties":{"p":{"x-mcp-header":"P","type":)") + type + "}}}") ==
              "wrong: properties.p: x-mcp-header requires the type string, integer or boolean");
    }
    CHECK(compiled(R"({"properties":{"p":{"x-mcp-header":"P"}}})").starts_with("wrong: properties.p: "));
}

TEST_CASE("two properties cannot have the same header, compared case-insensitively") {
    CHECK(
        compiled(
            R"({"properties":{"a":{"type":"string","x-mcp-header":"Id"},"b":{"properties":{"c":{"type":"integer","x-mcp-header":"iD"}}}}})") ==
        "wrong: properties.b.properties.c: duplicate x-mcp-header: another property uses the same name");
}

TEST_CASE("an annotation below anything but `properties` makes the schema invalid") {
    const std::string leaf = R"({"type":"string","x-mcp-header":"P"})";
    const auto wrong_at = [&](const std::string& schema, const std::string& place) {
        CAPTURE(schema);
        CHECK(compiled(schema) ==
              "wrong: " + place + ": x-mcp-header is allowed only on properties reached through \"properties\"");
    };
    wrong_at(leaf, "(root)");
    for (const std::string keyword :
         {"items", "not", "if", "then", "else", "additionalProperties", "contains", "propertyNames", "unevaluatedItems",
          "unevaluatedProperties", "additionalItems", "contentSchema", "x-unknown"}) {
        wrong_at("{\"" + keyword + "\":" + leaf + "}", keyword);
        wrong_at("{\"properties\":{\"a\":{\"" + keyword + "\":" + leaf + "}}}", "properties.a." + keyword);
        wrong_at("{\"" + keyword + "\":{\"properties\":{\"a\":" + leaf + "}}}", keyword + ".properties.a");
    }
    for (const std::string keyword : {"prefixItems", "oneOf", "anyOf", "allOf", "items"}) {
        wrong_at("{\"" + keyword + "\":[{}," + leaf + "]}", keyword + ".1");
        wrong_at("{\"properties\":{\"a\":{\"" + keyword + "\":[{\"properties\":{\"b\":" + leaf + "}}]}}}",
                 "properties.a." + keyword + ".0.properties.b");
    }
    for (const std::string keyword :
         {"$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"}) {
        wrong_at("{\"" + keyword + "\":{\"a\":" + leaf + "}}", keyword + ".a");
    }
    // A property may be called "items".
    CHECK(compiled("{\"properties\":{\"items\":" + leaf + "}}") == "mcp-param-p/items:s");
}

TEST_CASE("a schema that is nested too deeply is an error, not a crash") {
    json::value schema = json::object({{"type", "string"}});
    for (int i = 0; i != 100'000; ++i) {
        json::value outer = json::object();
        outer.append("not", std::move(schema));
        schema = std::move(outer);
    }
    CHECK(std::get<mirrored_schema_error>(mirrored_parameters(schema)).what.ends_with(": nested too deeply"));
}

TEST_CASE("HDR-04 headers that match the arguments are accepted") {
    CHECK(checked(R"({"region":"us","deep":{"level":3},"dry":true})",
                  {{"mcp-param-region", "us"}, {"mcp-param-level", "3"}, {"mcp-param-dry", "true"}}) == "");
    CHECK(checked(R"({"region":"","dry":false})", {{"mcp-param-region", ""}, {"mcp-param-dry", "false"}}) == "");
    CHECK(checked(R"({"region":""})", {{"mcp-param-region", encoded_nothing}}) == "");
    CHECK(checked(R"({"region":"世"})", {{"mcp-param-region", "=?base64?5LiW?="}, {"mcp-param-unknown", "x"}}) == "");
}

TEST_CASE("HDR-09 no header is expected for absent or null arguments") {
    CHECK(checked("{}", {}) == "");
    CHECK(checked(R"({"region":null,"deep":null,"dry":null})", {}) == "");
    CHECK(checked(R"({"deep":{"level":null}})", {}) == "");
    CHECK(checked(R"({"deep":"not an object"})", {}) == "");
    CHECK(checked("null", {}) == "");
    CHECK(checked("{}", {{"mcp-param-region", "us"}}) == "mcp-param-region is present, but the argument is missing");
    CHECK(checked(R"({"region":null})", {{"mcp-param-region", ""}}) ==
          "mcp-param-region is present, but the argument is missing");
}

TEST_CASE("HDR-10 a header that is missing, different or repeated is refused") {
    CHECK(checked(R"({"region":"us"})", {}) == "mcp-param-region is missing");
    CHECK(checked(R"({"region":""})", {}) == "mcp-param-region is missing");
    const std::string differs = " does not match the arguments";
    CHECK(checked(R"({"region":"us"})", {{"mcp-param-region", "US"}}) == "mcp-param-region" + differs);
    CHECK(checked(R"({"region":"us"})", {{"mcp-param-region", "=?base64?dXM?="}}) == "mcp-param-region" + differs);
    CHECK(checked(R"({"region":"ä"})", {{"mcp-param-region", "ä"}}) == "mcp-param-region" + differs);
    CHECK(checked(R"({"dry":true})", {{"mcp-param-dry", "True"}}) == "mcp-param-dry" + differs);
    CHECK(checked(R"({"dry":true})", {{"mcp-param-dry", "1"}}) == "mcp-param-dry" + differs);
    CHECK(checked(R"({"dry":false})", {{"mcp-param-dry", "true"}}) == "mcp-param-dry" + differs);
    CHECK(checked(R"({"region":"us"})", {{"mcp-param-region", "us"}, {"mcp-param-region", "us"}}) ==
          "mcp-param-region is repeated");
    CHECK(checked("{}", {{"mcp-param-region", "us"}, {"mcp-param-region", "us"}}) == "mcp-param-region is repeated");
}

TEST_CASE("HDR-16 integers are compared as numbers") {
    const auto level = [](std::string number, std::string header) {
        return checked("{\"deep\":{\"level\":" + number + "}}", {{"mcp-param-level", header}});
    };
    CHECK(level("42", "42") == "");
    CHECK(level("42.0", "42") == "");
    CHECK(level("42", "42.0") == "");
    CHECK(level("4.2e1", "42") == "");
    CHECK(level("-7", "-7") == "");
    CHECK(level("0", "-0") == "");
    CHECK(level("9007199254740991", "9007199254740991") == "");
    CHECK(level("-9007199254740991", "-9007199254740991.0") == "");
    CHECK(level("42", "=?base64?NDI=?=") == "");
    for (const char* header :
         {"43", "", "+42", "042", "0x2a", "42 ", "4 2", "42a", "\"42\"", "42.5", "true", "1e400", "[42]", "4_2"}) {
        CAPTURE(header);
        CHECK(level("42", header) == "mcp-param-level does not match the arguments");
    }
    CHECK(level("9007199254740992", "9007199254740992").find("2^53-1") != std::string::npos);
    CHECK(level("18446744073709551615", "18446744073709551615").find("2^53-1") != std::string::npos);
    CHECK(level("1.5", "1.5").find("2^53-1") != std::string::npos);
    CHECK(level("9007199254740991", "9007199254740992") == "mcp-param-level does not match the arguments");
}

TEST_CASE(
    "an argument with a type other than the schema's is compared by its own type; schema validation refuses it later") {
    CHECK(checked(R"({"region":5})", {{"mcp-param-region", "5"}}) == "");
    CHECK(checked(R"({"region":true})", {{"mcp-param-region", "true"}}) == "");
    CHECK(checked(R"({"dry":"true"})", {{"mcp-param-dry", "true"}}) == "");
    CHECK(checked(R"({"dry":[true]})", {{"mcp-param-dry", "true"}}) ==
          "mcp-param-dry: an array or object cannot be sent in a header");
}

TEST_CASE("the Mcp-Name value comes from the parameter that the method defines") {
    const json::value params = json::object({{"name", "n"}, {"uri", "u"}, {"taskId", "t"}});
    const std::pair<const char*, std::optional<std::string_view>> expected[] = {
        {"tools/call", "n"},         {"prompts/get", "n"},
        {"resources/read", "u"},     {"tasks/get", "t"},
        {"tasks/update", "t"},       {"tasks/cancel", "t"},
        {"tools/list", {}},          {"tasks/list", {}},
        {"resources/subscribe", {}}, {"", {}},
        {"TOOLS/CALL", {}},
    };
    for (const auto& [method, name] : expected) {
        CAPTURE(method);
        CHECK(name_for(method, params) == name);
        CHECK(needs_name(method) == name.has_value());
        CHECK(!name_for(method, json::object({{"name", 5}, {"uri", nullptr}})));
        CHECK(!name_for(method, nullptr));
    }
}
