// Tools with input schemas that a described struct cannot express.

#include "fixtures.hpp"

#include <string>

namespace keel::conformance {

namespace {

constexpr const char* contact_schema = R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"}
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": false
})";

// Clients repeat `region` in the Mcp-Param-Region header, where proxies can read it.
constexpr const char* region_schema = R"({
    "type": "object",
    "properties": {
        "region": {"type": "string", "description": "Where to run", "x-mcp-header": "Region"},
        "level": {"type": "integer", "description": "How thoroughly"}
    },
    "required": ["region"]
})";

tool_result echo(context&, const json::value& arguments) { return tool_result(json::to_string(arguments)); }

tool_description quick_tool(std::string name, std::string description, const char* schema) {
    tool_description about;
    about.name = std::move(name);
    about.description = std::move(description);
    about.input_schema = json::parse(schema);
    about.options.quick = true;
    return about;
}

}  // namespace

void add_schema_tools(server& s) {
    s.add_tool(quick_tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", contact_schema), &echo);
    s.add_tool(quick_tool("test_x_mcp_header", "Gives its arguments back; one of them is also a header", region_schema),
               &echo);
}

}  // namespace keel::conformance
