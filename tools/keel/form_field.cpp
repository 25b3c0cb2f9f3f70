#include "form_field.hpp"

#include "printable.hpp"

#include <keel/schema.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace keel::command {

namespace {

std::string text_of(const json::value& v) {
    if (auto text = v.if_string()) return std::string(*text);
    return json::to_string(v);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

bool is_word(std::string_view text, std::string_view one, std::string_view other) {
    std::string low(text);
    for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    return low == one || low == other || low == one.substr(0, 1);
}

// ", from 1 to 9" or ", at least 2", depending on which bounds the schema has.
std::string bounds_of(const json::value& schema, std::string_view least_name, std::string_view most_name) {
    const json::value& least = schema[least_name];
    const json::value& most = schema[most_name];
    if (!least.is_null() && !most.is_null()) return ", from " + json::to_string(least) + " to " + json::to_string(most);
    if (!least.is_null()) return ", at least " + json::to_string(least);
    if (!most.is_null()) return ", at most " + json::to_string(most);
    return {};
}

std::optional<json::value> parsed(std::string_view text) {
    json::document document;
    const json::value* v = document.read(text);
    return v ? std::optional<json::value>(*v) : std::nullopt;
}

}  // namespace

form_field::form_field(std::string_view name, const json::value& schema, bool required)
    : name_(name), schema_(schema), required_(required) {
    std::string_view type = schema["type"].if_string().value_or("");
    if (schema.contains("enum") || schema.contains("oneOf")) {
        kind_ = kind::one_of;
        read_choices(schema);
    } else if (type == "array") {
        kind_ = kind::some_of;
        read_choices(schema["items"]);
    } else if (type == "string") {
        kind_ = kind::text;
    } else if (type == "number" || type == "integer") {
        kind_ = kind::number;
    } else if (type == "boolean") {
        kind_ = kind::yes_no;
    }
    if ((kind_ == kind::one_of || kind_ == kind::some_of) && choices_.empty()) kind_ = kind::other;

    std::string problem;
    const json::value* preset = schema.find("default");
    has_default_ = preset && fits(*preset, problem);
    if (has_default_) preset_ = *preset;
}

// Plain values; values with titles in enumNames (2025-06-18); values with titles in oneOf or anyOf.
void form_field::read_choices(const json::value& from) {
    auto names = from["enumNames"].items();
    for (const json::value& each : from["enum"].items()) {
        std::string label;
        if (choices_.size() < names.size()) label = text_of(names[choices_.size()]);
        choices_.push_back({each, std::move(label)});
    }
    for (const char* list : {"oneOf", "anyOf"}) {
        for (const json::value& each : from[list].items()) {
            if (const json::value* constant = each.find("const"))
                choices_.push_back({*constant, std::string(each["title"].if_string().value_or(""))});
        }
    }
}

std::string form_field::title() const {
    std::string text = printable_line(schema_["title"].if_string().value_or(""));
    if (text.empty()) text = printable_line(name_);
    std::string about = printable_line(schema_["description"].if_string().value_or(""));
    return about.empty() ? text : text + " (" + about + ")";
}

std::string form_field::hint() const {
    switch (kind_) {
        case kind::text: {
            std::string format = printable_line(schema_["format"].if_string().value_or(""));
            std::string length = bounds_of(schema_, "minLength", "maxLength");
            return (format.empty() ? "text" : format) + (length.empty() ? "" : length + " characters");
        }
        case kind::number: return text_of(schema_["type"]) + bounds_of(schema_, "minimum", "maximum");
        case kind::yes_no: return "yes or no";
        case kind::one_of: return "one of these";
        case kind::some_of: return "any of these, separated by commas" + bounds_of(schema_, "minItems", "maxItems");
        case kind::other: break;
    }
    return "JSON";
}

std::string form_field::shown(const json::value& v) const {
    if (auto yes = v.if_bool()) return *yes ? "yes" : "no";
    if (kind_ == kind::some_of && v.is_array()) {
        std::string all;
        for (const json::value& each : v.items()) all += (all.empty() ? "" : ", ") + text_of(each);
        return printable_line(all);
    }
    return printable_line(text_of(v));
}

std::optional<json::value> form_field::choose(std::string_view text, std::string& problem) const {
    auto same = [&](const choice& c) { return text_of(c.content) == text; };
    auto at = std::find_if(choices_.begin(), choices_.end(), same);
    if (at == choices_.end()) {
        auto named = [&](const choice& c) { return !c.label.empty() && c.label == text; };
        at = std::find_if(choices_.begin(), choices_.end(), named);
    }
    if (at != choices_.end()) return at->content;
    std::size_t number = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong == std::errc() && end == text.data() + text.size() && number >= 1 && number <= choices_.size())
        return choices_[number - 1].content;
    problem = "not a choice: " + printable_line(text);
    return std::nullopt;
}

std::optional<json::value> form_field::choose_some(std::string_view text, std::string& problem) const {
    json::value all = json::array();
    while (true) {
        auto comma = text.find(',');
        std::string_view one = trimmed(text.substr(0, comma));
        if (!one.empty()) {
            auto found = choose(one, problem);
            if (!found) return std::nullopt;
            all.push_back(std::move(*found));
        }
        if (comma == std::string_view::npos) return all;
        text.remove_prefix(comma + 1);
    }
}

std::optional<json::value> form_field::interpret(std::string_view text, std::string& problem) const {
    switch (kind_) {
        case kind::text:
            if (text == "\"\"") return json::value("");
            return json::value(text);
        case kind::number: {
            auto n = parsed(trimmed(text));
            if (n && n->is_number()) return n;
            problem = "not a number: " + printable_line(text);
            return std::nullopt;
        }
        case kind::yes_no:
            if (is_word(trimmed(text), "yes", "true")) return json::value(true);
            if (is_word(trimmed(text), "no", "false")) return json::value(false);
            problem = "not yes or no: " + printable_line(text);
            return std::nullopt;
        case kind::one_of: return choose(trimmed(text), problem);
        case kind::some_of: return choose_some(text, problem);
        case kind::other: break;
    }
    auto v = parsed(text);
    if (!v) problem = "invalid JSON: " + printable_line(text);
    return v;
}

std::optional<json::value> form_field::read(std::string_view text, std::string& problem) const {
    if (!json::is_utf8(text)) {
        problem = "invalid UTF-8";
        return std::nullopt;
    }
    auto v = interpret(text, problem);
    if (!v) return std::nullopt;
    return fits(*v, problem) ? std::move(v) : std::nullopt;
}

bool form_field::fits(const json::value& v, std::string& problem) const {
    try {
        decode_error wrong;
        if (schema(schema_, {.check_formats = true}).check(v, wrong)) return true;
        problem = printable_line(wrong.message());
        return false;
    } catch (const schema_error&) {
        return true;  // a schema that we cannot compile is left to the server
    }
}

std::vector<form_field> fields_of(const json::value& schema) {
    auto needed = schema["required"].items();
    std::vector<form_field> fields;
    for (const json::member& each : schema["properties"].members()) {
        bool required = std::any_of(needed.begin(), needed.end(),
                                    [&](const json::value& name) { return name.if_string() == each.key(); });
        fields.emplace_back(each.key(), each.content, required);
    }
    return fields;
}

}  // namespace keel::command
