#include "schema_properties.hpp"

#include "exit_status.hpp"
#include "schema_types.hpp"
#include "suggest.hpp"

#include <algorithm>
#include <functional>

namespace keel::command {

namespace {

constexpr int deepest = 8;  // a schema may refer to itself

/// Calls `visit` with each part of a schema that describes the same object, until it returns true.
bool any_part(const json::value& schema, const json::value& root, const std::function<bool(const json::value&)>& visit,
              int depth = 0) {
    if (depth > deepest || !schema.is_object()) return false;
    if (visit(schema)) return true;
    if (auto reference = schema["$ref"].if_string()) {
        const json::value* there = referenced(*reference, root);
        if (there && any_part(*there, root, visit, depth + 1)) return true;
    }
    for (const char* list : {"allOf", "anyOf", "oneOf"}) {
        for (const json::value& each : schema[list].items()) {
            if (any_part(each, root, visit, depth + 1)) return true;
        }
    }
    for (const char* one : {"then", "else"}) {
        if (any_part(schema[one], root, visit, depth + 1)) return true;
    }
    return false;
}

bool allows(const json::value* keyword) { return keyword && keyword->if_bool() != false; }

}  // namespace

const json::value& resolved_schema(const json::value& schema, const json::value& root) {
    const json::value* at = &schema;
    for (int i = 0; i < deepest; ++i) {
        auto reference = (*at)["$ref"].if_string();
        const json::value* there = reference ? referenced(*reference, root) : nullptr;
        if (!there) return *at;
        at = there;
    }
    return *at;
}

const json::value* find_property(const json::value& schema, std::string_view name) {
    const json::value* found = nullptr;
    any_part(schema, schema, [&](const json::value& part) {
        found = part["properties"].find(name);
        return found != nullptr;
    });
    return found;
}

std::vector<std::string> property_names(const json::value& schema) {
    std::vector<std::string> names;
    any_part(schema, schema, [&](const json::value& part) {
        for (const json::member& each : part["properties"].members()) {
            if (std::find(names.begin(), names.end(), each.key()) == names.end()) names.emplace_back(each.key());
        }
        return false;
    });
    return names;
}

bool allows_more_properties(const json::value& schema) {
    return any_part(schema, schema, [](const json::value& part) {
        return allows(part.find("additionalProperties")) || allows(part.find("unevaluatedProperties")) ||
               !part["patternProperties"].empty();
    });
}

bool is_required(const json::value& schema, std::string_view name) {
    auto needed = schema["required"].items();
    return std::any_of(needed.begin(), needed.end(), [&](const json::value& each) { return each.if_string() == name; });
}

void check_names(const json::value& arguments, const json::value& schema) {
    if (!schema.is_object() || allows_more_properties(schema)) return;
    std::vector<std::string> known = property_names(schema);
    for (const json::member& each : arguments.members()) {
        std::string name(each.key());
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        throw usage_error("unknown argument " + name +
                          (known.empty() ? "; the tool takes no arguments" : "; known arguments: " + listed(known)) +
                          did_you_mean(name, known));
    }
}

}  // namespace keel::command
