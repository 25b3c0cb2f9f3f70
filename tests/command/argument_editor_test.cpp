#include "argument_editor.hpp"

#include <keel/config.hpp>

#include <doctest/doctest.h>

using namespace keel;
using namespace keel::command;

TEST_CASE("the template has given and required arguments, and the optional ones as comments") {
    json::value schema = json::parse(R"({"type": "object", "required": ["path", "count", "mode"], "properties": {
        "path": {"type": "string", "description": "a file\nof text"},
        "count": {"type": "integer", "minimum": 1},
        "mode": {"enum": ["a", "b"]},
        "deep": {"type": "boolean", "default": true},
        "tags": {"type": "array"}}})");
    json::value given = json::object({{"path", "x"}, {"tags", json::array({"t"})}, {"other", 1}});
    std::string text = argument_template("edit", given, schema);
    CHECK(text.find("// a file of text\n") != std::string::npos);
    CHECK(text.find("  // \"deep\": true,\n") != std::string::npos);
    CHECK(parse_jsonc(text, "t") ==
          json::parse(R"({"other": 1, "path": "x", "count": 1, "mode": "a", "tags": ["t"]})"));
    CHECK(parse_jsonc(argument_template("t", json::object(), json::object()), "t") == json::object());
}

TEST_CASE("text of a server cannot end a comment of the template") {
    json::value schema = json::parse(R"({"properties": {"a": {"description": "x\n\"evil\": 1,"}}})");
    CHECK(parse_jsonc(argument_template("t\n{", json::object(), schema), "t") == json::object());
}
