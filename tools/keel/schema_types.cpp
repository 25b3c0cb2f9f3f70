#include "schema_types.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace keel::command {

namespace {

using enum type_set::type;
constexpr std::array<std::pair<std::string_view, type_set::type>, 7> names = {{{"string", string},
                                                                               {"number", number},
                                                                               {"integer", integer},
                                                                               {"boolean", boolean},
                                                                               {"array", array},
                                                                               {"object", object},
                                                                               {"null", null}}};

type_set::type type_of(const json::value& v) {
    switch (v.type()) {
        case json::kind::null: return null;
        case json::kind::boolean: return boolean;
        case json::kind::integer:
        case json::kind::unsigned_integer: return integer;
        case json::kind::real:
            return v.as_double() == static_cast<double>(static_cast<long long>(v.as_double())) &&
                           v.as_double() < 9e15 && v.as_double() > -9e15
                       ? integer
                       : number;
        case json::kind::string: return string;
        case json::kind::array: return array;
        case json::kind::object: break;
    }
    return object;
}

void add_named(type_set& into, const json::value& name) {
    for (const auto& [text, type] : names) {
        if (name.if_string() == text) into.add(type);
    }
}

// A schema may refer to itself, so the depth is limited.
type_set look(const json::value& schema, const json::value& root, int depth) {
    type_set found;
    if (depth > 8 || !schema.is_object()) return found;
    if (const json::value* type = schema.find("type")) {
        add_named(found, *type);
        for (const json::value& each : type->items()) add_named(found, each);
        return found;
    }
    if (const json::value* constant = schema.find("const")) found.add(type_of(*constant));
    for (const json::value& each : schema["enum"].items()) found.add(type_of(each));
    if (!found.unknown()) return found;
    if (auto reference = schema["$ref"].if_string()) {
        if (const json::value* there = referenced(*reference, root)) return look(*there, root, depth + 1);
        return found;
    }
    for (const char* list : {"anyOf", "oneOf"}) {
        for (const json::value& each : schema[list].items()) {
            type_set one = look(each, root, depth + 1);
            if (one.unknown()) return {};  // this alternative may allow any type
            found.add(one);
        }
    }
    for (const json::value& each : schema["allOf"].items()) {
        if (found.unknown()) found = look(each, root, depth + 1);
    }
    return found;
}

}  // namespace

// Resolves "#/$defs/color". Other references are not resolved: the server checks the value.
const json::value* referenced(std::string_view reference, const json::value& root) {
    if (!reference.starts_with("#/")) return nullptr;
    reference.remove_prefix(2);
    const json::value* at = &root;
    while (at) {
        auto slash = reference.find('/');
        at = at->find(reference.substr(0, slash));
        if (slash == std::string_view::npos) return at;
        reference.remove_prefix(slash + 1);
    }
    return nullptr;
}

bool type_set::allows(const json::value& v) const noexcept {
    type is = type_of(v);
    return has(is) || (is == integer && has(number));
}

std::string type_set::text() const {
    std::string all;
    for (const auto& [name, type] : names) {
        if (has(type)) all += (all.empty() ? "" : " or ") + std::string(name);
    }
    return all;
}

type_set types_of(const json::value& schema, const json::value& root) { return look(schema, root, 0); }

}  // namespace keel::command
