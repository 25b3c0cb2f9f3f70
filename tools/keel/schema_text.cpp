#include "schema_text.hpp"

#include "printable.hpp"
#include "schema_properties.hpp"
#include "schema_types.hpp"

#include <vector>

namespace keel::command {

namespace {

constexpr int deepest_shown = 6;  // levels of nested properties; a schema may refer to itself

std::string text_of(const json::value& v) { return json::to_string(v); }

/// "1 to 3 items", "at least 1 character", "at most 5 items", "exactly 2 items"; "" without bounds.
std::string count_range(const json::value& least, const json::value& most, const std::string& one,
                        const std::string& many) {
    auto unit = [&](const json::value& n) { return " " + (n == json::value(1) ? one : many); };
    if (least.is_number() && most.is_number()) {
        if (least == most) return "exactly " + text_of(least) + unit(least);
        return text_of(least) + " to " + text_of(most) + unit(most);
    }
    if (least.is_number()) return "at least " + text_of(least) + unit(least);
    if (most.is_number()) return "at most " + text_of(most) + unit(most);
    return {};
}

/// "1 to 9", ">= 1", "< 5, multiple of 2".
std::string number_range(const json::value& schema) {
    std::string text;
    auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
    const json::value& least = schema["minimum"];
    const json::value& most = schema["maximum"];
    if (least.is_number() && most.is_number()) add(text_of(least) + " to " + text_of(most));
    else if (least.is_number()) add(">= " + text_of(least));
    else if (most.is_number()) add("<= " + text_of(most));
    if (schema["exclusiveMinimum"].is_number()) add("> " + text_of(schema["exclusiveMinimum"]));
    if (schema["exclusiveMaximum"].is_number()) add("< " + text_of(schema["exclusiveMaximum"]));
    if (schema["multipleOf"].is_number()) add("multiple of " + text_of(schema["multipleOf"]));
    return text;
}

std::string choices_of(const json::value& schema) {
    std::string text;
    for (const json::value& each : schema["enum"].items()) text += (text.empty() ? "one of " : ", ") + text_of(each);
    // Choices with titles: oneOf of constants.
    if (!text.empty()) return text;
    for (const json::value& each : schema["oneOf"].items()) {
        if (!each.contains("const")) return {};
        auto title = each["title"].if_string();
        text += (text.empty() ? "one of " : ", ") + text_of(each["const"]);
        if (title) text += " (" + std::string(*title) + ")";
    }
    return text;
}

std::string phrase(const json::value& given, const json::value& root, int depth) {
    const json::value& schema = resolved_schema(given, root);
    if (schema.if_bool() == false) return "nothing";
    type_set types = types_of(schema, root);
    std::string text;
    auto add = [&](const std::string& more) {
        if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
    };
    std::string choices = choices_of(schema);
    if (schema.contains("const")) {
        add("always " + text_of(schema["const"]));
    } else if (!choices.empty()) {
        add(choices);
    } else if (types.only(type_set::array)) {
        const json::value& items = schema["items"];
        std::string inner = items.is_object() && depth < deepest_shown ? phrase(items, root, depth + 1) : std::string();
        add("list" + (inner.empty() || inner == "any" ? "" : " of " + inner));
    } else if (!schema["anyOf"].empty() || !schema["oneOf"].empty()) {
        std::string all;
        for (const char* list : {"anyOf", "oneOf"}) {
            for (const json::value& each : schema[list].items()) {
                std::string one = depth < deepest_shown ? phrase(each, root, depth + 1) : "any";
                all += (all.empty() ? "" : ", or ") + one;
            }
        }
        add(all);
    } else {
        add(types.unknown() ? "any" : types.text());
    }
    if (auto format = schema["format"].if_string()) add("format " + std::string(*format));
    if (auto pattern = schema["pattern"].if_string()) add("matching " + std::string(*pattern));
    if (auto encoding = schema["contentEncoding"].if_string()) add("encoded as " + std::string(*encoding));
    add(number_range(schema));
    add(count_range(schema["minLength"], schema["maxLength"], "character", "characters"));
    add(count_range(schema["minItems"], schema["maxItems"], "item", "items"));
    if (schema["uniqueItems"].if_bool() == true) add("unique items");
    add(count_range(schema["minProperties"], schema["maxProperties"], "member", "members"));
    const json::value& rest = schema["additionalProperties"];
    if (rest.is_object() && types.has(type_set::object) && depth < deepest_shown)
        add("other members: " + phrase(rest, root, depth + 1));
    const json::value* preset = given.find("default");
    if (!preset) preset = schema.find("default");
    if (preset) add("default " + text_of(*preset));
    if (schema["deprecated"].if_bool() == true) add("deprecated");
    return text;
}

class schema_printer {
public:
    schema_printer(const json::value& root, std::size_t columns) : root_(root), columns_(columns) {}

    void properties(const json::value& schema, std::size_t indent, int depth) {
        for (const std::string& name : names_of(schema)) {
            const json::value& property = *lookup(schema, name);
            std::string line =
                name + (is_required(schema, name) ? " (required)" : "") + ": " + phrase(property, root_, 0);
            out_ += wrapped(printable_line(line), indent, columns_) + "\n";
            describe(property, indent + 4);
            if (depth < deepest_shown) nested(property, indent + 4, depth + 1);
        }
    }
    std::string take() { return std::move(out_); }

private:
    std::vector<std::string> names_of(const json::value& schema) const {
        std::vector<std::string> names;
        for (const json::value* part : parts(schema)) {
            for (const json::member& each : (*part)["properties"].members()) names.emplace_back(each.key());
        }
        return names;
    }
    const json::value* lookup(const json::value& schema, const std::string& name) const {
        for (const json::value* part : parts(schema)) {
            if (const json::value* found = (*part)["properties"].find(name)) return found;
        }
        return nullptr;
    }
    std::vector<const json::value*> parts(const json::value& schema) const {
        std::vector<const json::value*> all{&schema};
        for (const json::value& each : schema["allOf"].items()) all.push_back(&resolved_schema(each, root_));
        return all;
    }
    void describe(const json::value& property, std::size_t indent) {
        auto text = property["description"].if_string();
        if (!text) text = resolved_schema(property, root_)["description"].if_string();
        if (text && !text->empty()) out_ += wrapped(printable_line(*text), indent, columns_) + "\n";
    }
    /// The members of an object, of the elements of a list, and of alternatives.
    void nested(const json::value& given, std::size_t indent, int depth) {
        const json::value& schema = resolved_schema(given, root_);
        properties(schema, indent, depth);
        if (depth >= deepest_shown) return;
        if (schema["items"].is_object()) nested(schema["items"], indent, depth + 1);
        for (const char* list : {"anyOf", "oneOf"}) {
            for (const json::value& each : schema[list].items()) nested(each, indent, depth + 1);
        }
    }

    const json::value& root_;
    std::size_t columns_;
    std::string out_;
};

}  // namespace

std::string schema_phrase(const json::value& schema, const json::value& root) { return phrase(schema, root, 0); }

std::string schema_text(const json::value& schema, std::size_t columns) {
    schema_printer p(schema, columns);
    p.properties(resolved_schema(schema, schema), 2, 0);
    return p.take();
}

}  // namespace keel::command
