// Described types as JSON Schema 2020-12.

#include <keel/describe.hpp>

#include "describe/limits.hpp"
#include "describe/scalars.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::detail {

namespace {

/// Structs are written inline. Only recursive structs go to $defs, under their C++ names.
class schema_writer {
public:
    json::value write(const type_table& root) {
        find_recursive(root);
        json::value made = root.kind == shape::object ? object(root.fields()) : any(root);
        if (definitions_.empty()) return made;
        json::value defs = json::object();
        // Writing a definition may add more of them.
        for (std::size_t i = 0; i < definitions_.size(); ++i) {
            json::value body = object(*definitions_[i].table);
            defs.append(definitions_[i].name, std::move(body));
        }
        made.set("$defs", std::move(defs));
        return made;
    }

private:
    struct definition {
        const struct_table* table;
        std::string name;
    };

    void find_recursive(const type_table& t) {
        if (t.kind == shape::object) {
            const struct_table* table = &t.fields();
            if (std::ranges::find(open_, table) != open_.end()) {
                if (!is_recursive(table)) recursive_.push_back(table);
                return;
            }
            if (std::ranges::find(visited_, table) != visited_.end()) return;
            visited_.push_back(table);
            open_.push_back(table);
            for (std::size_t i = 0; i < table->count; ++i) find_recursive(*table->fields[i].type);
            open_.pop_back();
        }
        if (t.element != nullptr) find_recursive(*t.element);
        for (std::size_t i = 0; t.alternatives != nullptr && i < t.count; ++i) find_recursive(*t.alternatives[i]);
    }

    bool is_recursive(const struct_table* table) const {
        return std::ranges::find(recursive_, table) != recursive_.end();
    }

    std::string reference(const struct_table& table) {
        const auto known = std::ranges::find(definitions_, &table, &definition::table);
        if (known != definitions_.end()) return "#/$defs/" + known->name;
        std::string_view as_written = table.name;
        if (const auto colons = as_written.rfind(':'); colons != as_written.npos) as_written.remove_prefix(colons + 1);
        std::string name(as_written);
        for (char& c : name) {
            const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
            if (!good) c = '_';
        }
        const std::string stem = name;
        for (int n = 2; std::ranges::find(definitions_, name, &definition::name) != definitions_.end(); ++n) {
            name = stem + '_' + std::to_string(n);
        }
        definitions_.push_back({&table, name});
        return "#/$defs/" + name;
    }

    json::value any(const type_table& t) {
        switch (t.kind) {
            case shape::null: return json::object({{"type", "null"}});
            case shape::boolean: return json::object({{"type", "boolean"}});
            case shape::integer: return integer(t);
            case shape::real: return json::object({{"type", "number"}});
            case shape::string: return json::object({{"type", "string"}});
            case shape::enumeration: return enumeration(t.names());
            case shape::nullable:
                // An element, not a member: it is encoded as null, not omitted.
                return json::object({{"anyOf", json::array({any(*t.element), json::object({{"type", "null"}})})}});
            case shape::list:
            case shape::bits: return json::object({{"type", "array"}, {"items", any(*t.element)}});
            case shape::array:
                return json::object(
                    {{"type", "array"}, {"items", any(*t.element)}, {"minItems", t.count}, {"maxItems", t.count}});
            case shape::set:
                return json::object({{"type", "array"}, {"items", any(*t.element)}, {"uniqueItems", true}});
            case shape::map: return json::object({{"type", "object"}, {"additionalProperties", any(*t.element)}});
            case shape::variant: {
                json::value forms = json::array();
                for (std::size_t i = 0; i < t.count; ++i) forms.push_back(any(*t.alternatives[i]));
                return json::object({{"anyOf", std::move(forms)}});
            }
            case shape::self: return t.self->schema != nullptr ? t.self->schema() : json::object();
            case shape::any: return json::object();
            case shape::object: {
                const struct_table& table = t.fields();
                if (is_recursive(&table)) return json::object({{"$ref", reference(table)}});
                return object(table);
            }
        }
        return json::object();
    }

    static json::value integer(const type_table& t) {
        json::value made = json::object({{"type", "integer"}});
        // The range of int64 is not written.
        if (t.size < 8 || !t.is_signed) made.append("minimum", smallest(t));
        if (t.size < 8) made.append("maximum", largest(t));
        return made;
    }

    static json::value enumeration(const enum_table& table) {
        json::value names = json::array();
        for (std::size_t i = 0; i < table.count; ++i) names.push_back(table.names[i].wire);
        return json::object({{"type", "string"}, {"enum", std::move(names)}});
    }

    json::value object(const struct_table& table) {
        json::value properties = json::object();
        json::value required = json::array();
        if (!table.tag.empty()) {
            properties.append(table.tag, json::object({{"type", "string"}, {"const", table.tag_value}}));
            required.push_back(table.tag);
        }
        for (std::size_t i = 0; i < table.count; ++i) {
            const field& f = table.fields[i];
            if (f.notes.rest) continue;
            properties.append(f.wire, property(table, f));
            if (f.required) required.push_back(f.wire);
        }
        json::value made = json::object({{"type", "object"}, {"properties", std::move(properties)}});
        if (!required.empty()) made.append("required", std::move(required));
        if (table.rest != nullptr) made.append("additionalProperties", true);
        return made;
    }

    json::value property(const struct_table& table, const field& f) {
        json::value made = any(f.type->kind == shape::nullable ? *f.type->element : *f.type);
        const field_notes& n = f.notes;
        const auto text = [&](const char* key, std::string_view words) {
            if (!words.empty()) made.set(key, words);
        };
        const auto number = [&](const char* key, const limit& bound) {
            if (bound.kind != limit::form::none) made.set(key, to_value(bound));
        };
        const auto count = [&](const char* key, std::size_t bound, std::size_t none) {
            if (bound != none) made.set(key, bound);
        };
        text("title", n.title);
        text("description", n.description);
        // Limits of the integer type are kept where they are narrower.
        const auto least = made["minimum"].if_double();
        const auto most = made["maximum"].if_double();
        if (!least || to_value(n.minimum).if_double() > least) number("minimum", n.minimum);
        if (!most || to_value(n.maximum).if_double() < most) number("maximum", n.maximum);
        number("exclusiveMinimum", n.exclusive_minimum);
        number("exclusiveMaximum", n.exclusive_maximum);
        count("minLength", n.min_length, 0);
        count("maxLength", n.max_length, no_limit);
        count("minItems", n.min_items, 0);
        count("maxItems", n.max_items, no_limit);
        text("pattern", n.pattern);
        text("format", n.format);
        if (n.one_or_many) {
            made.erase("title");
            made.erase("description");
            made = json::object({{"anyOf", json::array({any(*f.type->element), made})}});
            text("title", n.title);
            text("description", n.description);
        }
        if (n.defaulted) made.set("default", default_of(table, f));
        return made;
    }

    static json::value default_of(const struct_table& table, const field& f) {
        struct state {
            const field& which;
            json::value found;
        } s{.which = f, .found = {}};
        table.with_default(&s, [](void* context, void* object) {
            auto& [which, found] = *static_cast<state*>(context);
            found = encode(*which.type, which.reach(object));
        });
        return std::move(s.found);
    }

    std::vector<const struct_table*> open_, visited_, recursive_;
    std::vector<definition> definitions_;
};

}  // namespace

json::value schema_of(const type_table& t) { return schema_writer().write(t); }

bool decoding_checks_all(const type_table& root) {
    std::vector<const struct_table*> visited;
    std::vector<const type_table*> waiting{&root};
    while (!waiting.empty()) {
        const type_table& t = *waiting.back();
        waiting.pop_back();
        if (t.kind == shape::self && t.self->schema != nullptr && !t.self->complete) return false;
        if (t.element != nullptr) waiting.push_back(t.element);
        for (std::size_t i = 0; t.alternatives != nullptr && i < t.count; ++i) waiting.push_back(t.alternatives[i]);
        if (t.kind != shape::object || std::ranges::find(visited, &t.fields()) != visited.end()) continue;
        const struct_table& table = t.fields();
        visited.push_back(&table);
        for (std::size_t i = 0; i < table.count; ++i) {
            if (!table.fields[i].notes.pattern.empty() || !table.fields[i].notes.format.empty()) return false;
            waiting.push_back(table.fields[i].type);
        }
    }
    return true;
}

}  // namespace keel::detail
