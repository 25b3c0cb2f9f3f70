#include "protocol/elicitation_schema.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace keel::inline KEEL_ABI::protocol {

namespace {

using problem = std::optional<std::string>;
using words = std::initializer_list<std::string_view>;

std::string quoted(std::string_view text) {
    std::string out;
    return json::write_string(out, text.substr(0, std::min<std::size_t>(text.size(), 64))) ? out : "(invalid UTF-8)";
}

std::string found(const json::value& v) { return ", found " + std::string(json::name_of(v.type())); }

bool is_whole(const json::value& v) noexcept { return v.if_uint().has_value(); }

/// The keywords of JSON Schema that constrain values. Other keywords (of extensions, comments) are ignored.
constexpr std::string_view schema_words[] = {"type",
                                             "enum",
                                             "const",
                                             "multipleOf",
                                             "maximum",
                                             "exclusiveMaximum",
                                             "minimum",
                                             "exclusiveMinimum",
                                             "maxLength",
                                             "minLength",
                                             "pattern",
                                             "maxItems",
                                             "minItems",
                                             "uniqueItems",
                                             "maxContains",
                                             "minContains",
                                             "maxProperties",
                                             "minProperties",
                                             "required",
                                             "dependentRequired",
                                             "allOf",
                                             "anyOf",
                                             "oneOf",
                                             "not",
                                             "if",
                                             "then",
                                             "else",
                                             "dependentSchemas",
                                             "prefixItems",
                                             "items",
                                             "contains",
                                             "properties",
                                             "patternProperties",
                                             "additionalProperties",
                                             "propertyNames",
                                             "unevaluatedItems",
                                             "unevaluatedProperties",
                                             "$ref",
                                             "$dynamicRef",
                                             "$defs",
                                             "definitions",
                                             "dependencies",
                                             "format",
                                             "contentEncoding",
                                             "contentMediaType",
                                             "contentSchema"};

problem only(const json::value& schema, words allowed) {
    for (const json::member& m : schema.members()) {
        const bool known = std::ranges::find(schema_words, m.key()) != std::end(schema_words);
        if (known && std::ranges::find(allowed, m.key()) == allowed.end()) {
            return "uses " + quoted(m.key()) + ", which is unsupported in forms";
        }
    }
    return std::nullopt;
}

template <class Test>
problem each(const json::value& schema, words keywords, Test&& good, std::string_view what) {
    for (const std::string_view keyword : keywords) {
        const json::value* v = schema.find(keyword);
        if (v && !good(*v)) return quoted(keyword) + " must be " + std::string(what) + found(*v);
    }
    return std::nullopt;
}

bool is_text(const json::value& v) noexcept { return v.is_string(); }
bool is_list_of_text(const json::value& v) noexcept { return v.is_array() && std::ranges::all_of(v.items(), is_text); }

problem choices(const json::value& schema, std::string_view keyword) {
    const json::value& list = schema[keyword];
    if (!list.is_array() || list.empty()) return quoted(keyword) + " must be a non-empty array";
    for (const json::value& choice : list.items()) {
        if (keyword == "enum") {
            if (!choice.is_string()) return "the choices of \"enum\" must be strings" + found(choice);
            continue;
        }
        if (!choice["const"].is_string() || !choice["title"].is_string()) {
            return "each choice of " + quoted(keyword) + " must have a \"const\" and a \"title\" that are strings";
        }
        if (auto wrong = only(choice, {"const", "type"})) return "a choice of " + quoted(keyword) + ' ' + *wrong;
    }
    return std::nullopt;
}

problem text_problem(const json::value& p) {
    if (p.contains("enum")) {
        if (auto wrong = only(p, {"type", "enum"})) return wrong;
        if (auto wrong = choices(p, "enum")) return wrong;
        const json::value* names = p.find("enumNames");
        if (names && (!is_list_of_text(*names) || names->size() != p["enum"].size())) {
            return "\"enumNames\" must be a list of strings, one for each choice";
        }
    } else if (p.contains("oneOf")) {
        if (auto wrong = only(p, {"type", "oneOf"})) return wrong;
        if (auto wrong = choices(p, "oneOf")) return wrong;
    } else {
        if (auto wrong = only(p, {"type", "minLength", "maxLength", "format", "pattern"})) return wrong;
        if (auto wrong = each(p, {"minLength", "maxLength"}, is_whole, "a non-negative integer")) return wrong;
        if (auto wrong = each(p, {"pattern", "format"}, is_text, "a string")) return wrong;
        if (const auto format = p["format"].if_string()) {
            constexpr std::string_view formats[] = {"email", "uri", "date", "date-time"};
            if (std::ranges::find(formats, *format) == std::end(formats)) {
                return "has the unsupported format " + quoted(*format) +
                       ": forms support email, uri, date and date-time";
            }
        }
    }
    return each(p, {"default"}, is_text, "a string");
}

problem number_problem(const json::value& p) {
    if (auto wrong = only(p, {"type", "minimum", "maximum"})) return wrong;
    return each(p, {"minimum", "maximum", "default"}, [](const json::value& v) { return v.is_number(); }, "a number");
}

problem switch_problem(const json::value& p) {
    if (auto wrong = only(p, {"type"})) return wrong;
    return each(p, {"default"}, [](const json::value& v) { return v.is_bool(); }, "true or false");
}

problem several_problem(const json::value& p) {
    if (auto wrong = only(p, {"type", "items", "minItems", "maxItems"})) return wrong;
    if (auto wrong = each(p, {"minItems", "maxItems"}, is_whole, "a non-negative integer")) return wrong;
    const json::value& items = p["items"];
    if (items.contains("anyOf")) {
        if (auto wrong = only(items, {"type", "anyOf"})) return wrong;
        if (auto wrong = choices(items, "anyOf")) return wrong;
    } else if (items.contains("enum")) {
        if (auto wrong = only(items, {"type", "enum"})) return wrong;
        if (items["type"].if_string() != "string") return "the choices of \"items\" must be of the type \"string\"";
        if (auto wrong = choices(items, "enum")) return wrong;
    } else {
        return "is an array without choices: forms require \"items\" with \"enum\" or \"anyOf\"";
    }
    return each(p, {"default"}, is_list_of_text, "a list of strings");
}

problem property_problem(const json::value& p) {
    if (!p.is_object()) return "expected a schema object" + found(p);
    if (auto wrong = each(p, {"title", "description"}, is_text, "a string")) return wrong;
    const auto type = p["type"].if_string();
    if (!type) return "must have one \"type\" that is a string";
    if (*type == "string") return text_problem(p);
    if (*type == "number" || *type == "integer") return number_problem(p);
    if (*type == "boolean") return switch_problem(p);
    if (*type == "array") return several_problem(p);
    if (*type == "object") return "is an object: nested objects are unsupported in forms";
    return "has the unsupported type " + quoted(*type);
}

}  // namespace

std::optional<std::string> elicitation_problem(const json::value& schema) {
    if (!schema.is_object()) return "the schema of a form must be an object" + found(schema);
    if (schema["type"].if_string() != "object") return "the schema of a form must have the type \"object\"";
    if (auto wrong = only(schema, {"type", "properties", "required", "additionalProperties"})) {
        return "the schema of the form " + *wrong;
    }
    if (auto wrong = each(schema, {"$schema", "title", "description"}, is_text, "a string")) return wrong;
    const json::value& properties = schema["properties"];
    if (!properties.is_object()) return "the schema of a form must have an object \"properties\"" + found(properties);
    if (const json::value* more = schema.find("additionalProperties"); more && !more->is_bool()) {
        return "\"additionalProperties\" of a form must be true or false";
    }
    if (const json::value* required = schema.find("required")) {
        if (!is_list_of_text(*required)) return "\"required\" must be a list of strings";
        for (const json::value& name : required->items()) {
            if (!properties.contains(name.as_string())) {
                return "the required property " + quoted(name.as_string()) + " is missing in \"properties\"";
            }
        }
    }
    for (const json::member& m : properties.members()) {
        if (auto wrong = property_problem(m.content)) return "the property " + quoted(m.key()) + ": " + *wrong;
    }
    return std::nullopt;
}

}  // namespace keel::protocol
