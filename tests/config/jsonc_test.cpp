#include "config/jsonc.hpp"

#include <keel/config.hpp>

#include <doctest/doctest.h>

using namespace keel;

namespace {

std::string parse_problem(std::string_view text) {
    try {
        parse_jsonc(text, "x.json");
    } catch (const config_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("comments and trailing commas are accepted") {
    json::value v = parse_jsonc(
        "\xef\xbb\xbf// first\n{\"a\": [1, 2, /* two */], // more\n \"b\": {\"c\": null,},\n}\n/* end */", "x");
    CHECK(json::to_string(v) == R"({"a":[1,2],"b":{"c":null}})");
}

TEST_CASE("strings that look like comments are not changed") {
    json::value v = parse_jsonc(R"({"url": "https://x/*y*/", "q": "\"//\\", "c": ",}"})", "x");
    CHECK(v["url"].if_string() == "https://x/*y*/");
    CHECK(v["q"].if_string() == "\"//\\");
    CHECK(v["c"].if_string() == ",}");
}

TEST_CASE("an error names the file, the line and the column of the original text") {
    CHECK(parse_problem("// one\n{\n  \"a\": oops\n}").starts_with("x.json:3:8: invalid JSON: "));
    CHECK(parse_problem("/* never ends {").starts_with("x.json:1:"));
    CHECK(parse_problem("").starts_with("x.json:1:1: "));
}

TEST_CASE("only one comma after a value is a trailing comma") {
    for (const char* text : {"[,]", "{,}", "[1,,]", "{\"a\":,}", "[1]  ,", ","}) {
        CAPTURE(text);
        CHECK(parse_problem(text) != "");
    }
}
