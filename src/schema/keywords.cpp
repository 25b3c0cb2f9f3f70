#include "schema/keywords.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace keel::inline KEEL_ABI::validation {

namespace {

struct type_name {
    std::string_view name;
    type_set bits;
};
constexpr type_name type_names[] = {{"null", types::null},     {"boolean", types::boolean}, {"integer", types::integer},
                                    {"number", types::number}, {"string", types::string},   {"array", types::array},
                                    {"object", types::object}};

/// The maximum cost of a comparison with this value.
std::size_t weight_of(const json::value& v) {
    std::size_t weight = 0;
    std::vector<const json::value*> waiting{&v};
    while (!waiting.empty()) {
        const json::value& next = *waiting.back();
        waiting.pop_back();
        ++weight;
        if (const auto text = next.if_string()) weight += text->size() / 64;
        for (const json::value& item : next.items()) waiting.push_back(&item);
        for (const json::member& m : next.members()) {
            weight += m.key().size() / 64;
            waiting.push_back(&m.content);
        }
    }
    return weight;
}

}  // namespace

void keywords::fail(std::string_view keyword, const std::string& why) const { throw schema_error(where(keyword), why); }

void keywords::expected(std::string_view keyword, std::string_view what) const {
    const json::value& found = schema_[keyword];
    std::string shown(json::name_of(found.type()));
    if (found.is_number() && !json::write(shown.erase(), found)) shown = "NaN or infinity";
    fail(keyword, "expected " + std::string(what) + ", found " + shown);
}

void keywords::count(std::string_view keyword, std::size_t& into) const {
    const json::value* v = find(keyword);
    if (!v) return;
    if (const auto n = v->if_uint()) {
        into = *n;
        return;
    }
    if (!is_integral(*v) || *v->if_double() < 0) expected(keyword, "a non-negative integer");
    const double d = *v->if_double();  // 2.0 is an integer; a count beyond 64 bits cannot be reached
    into = d < 0x1p64 ? static_cast<std::size_t>(d) : unlimited;
}

void keywords::number(std::string_view keyword, json::value& into) const {
    const json::value* v = find(keyword);
    if (!v) return;
    if (!v->is_number() || !std::isfinite(*v->if_double())) expected(keyword, "a number");
    into = *v;
}

bool keywords::flag(std::string_view keyword) const {
    const json::value* v = find(keyword);
    if (!v) return false;
    if (!v->is_bool()) expected(keyword, "true or false");
    return *v->if_bool();
}

const json::value* keywords::text(std::string_view keyword) const {
    const json::value* v = find(keyword);
    if (v && !v->is_string()) expected(keyword, "a string");
    return v;
}

const json::value* keywords::list(std::string_view keyword) const {
    const json::value* v = find(keyword);
    if (v && !v->is_array()) expected(keyword, "an array");
    return v;
}

const json::value* keywords::object(std::string_view keyword) const {
    const json::value* v = find(keyword);
    if (v && !v->is_object()) expected(keyword, "an object");
    return v;
}

std::span<const json::value> keywords::items(std::string_view keyword) const noexcept {
    const json::value* v = find(keyword);
    return v ? v->items() : std::span<const json::value>();
}

std::span<const json::member> keywords::members(std::string_view keyword) const noexcept {
    const json::value* v = find(keyword);
    return v ? v->members() : std::span<const json::member>();
}

std::vector<std::string> keywords::names(const json::value& list, const std::string& where) const {
    if (!list.is_array()) {
        throw schema_error(where, "expected an array of strings, found " + std::string(json::name_of(list.type())));
    }
    std::vector<std::string> out;
    std::set<std::string_view> seen;
    for (const json::value& item : list.items()) {
        const auto name = item.if_string();
        const std::string here = pointer_to(where, out.size());
        if (!name) throw schema_error(here, "expected a string, found " + std::string(json::name_of(item.type())));
        if (!seen.insert(*name).second) throw schema_error(here, "duplicate name");
        out.emplace_back(*name);
    }
    return out;
}

void keywords::check_annotations() const {
    for (const std::string_view keyword : {"title", "description", "$comment", "contentEncoding", "contentMediaType"}) {
        text(keyword);
    }
    for (const std::string_view keyword : {"deprecated", "readOnly", "writeOnly"}) flag(keyword);
    list("examples");
    object("$vocabulary");
}

type_set read_types(const keywords& k) {
    const json::value* v = k.find("type");
    if (!v) return types::any;
    const auto one = [&](const json::value& word, const std::string& where) {
        const auto name = word.if_string();
        if (!name) throw schema_error(where, "expected a string, found " + std::string(json::name_of(word.type())));
        const auto at = std::ranges::find(type_names, *name, &type_name::name);
        if (at != std::end(type_names)) return at->bits;
        std::string shown;
        if (!json::write_string(shown, name->substr(0, 64))) shown = "(invalid UTF-8)";
        throw schema_error(where, "unknown type " + shown +
                                      ": expected null, boolean, integer, number, string, array "
                                      "and object");
    };
    if (v->is_string()) return one(*v, k.where("type"));
    if (!v->is_array()) k.expected("type", "a string or an array of strings");
    if (v->empty()) k.fail("type", "expected at least one type");
    type_set all = 0;
    for (std::size_t i = 0; i != v->size(); ++i) {
        const std::string where = pointer_to(k.where("type"), i);
        const type_set bits = one(v->items()[i], where);
        if (all & bits) throw schema_error(where, "duplicate type");
        all |= bits;
    }
    return all;
}

value_rules read_values(const keywords& k) {
    value_rules rules;
    // If both are present, "enum" is compiled here and "const" has its own node: see compiler.cpp.
    const json::value* one = k.find("const");
    const json::value* several = k.list("enum");
    const auto add = [&](const json::value& v) {
        rules.as_given.push_back(v);
        if (const auto text = v.if_string()) rules.texts.emplace_back(*text);
        else rules.others.push_back({v, weight_of(v)});
    };
    if (several) {
        for (const json::value& v : several->items()) add(v);
    } else if (one) {
        add(*one);
        rules.only_one = true;
    }
    std::ranges::sort(rules.texts, [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    return rules;
}

number_rules read_numbers(const keywords& k) {
    number_rules rules;
    k.number("minimum", rules.minimum);
    k.number("maximum", rules.maximum);
    k.number("exclusiveMinimum", rules.exclusive_minimum);
    k.number("exclusiveMaximum", rules.exclusive_maximum);
    k.number("multipleOf", rules.multiple_of);
    if (!rules.multiple_of.is_null()) {
        if (*rules.multiple_of.if_double() <= 0) k.expected("multipleOf", "a number greater than 0");
        rules.multiple_of_decimal = to_decimal(rules.multiple_of);
    }
    return rules;
}

}  // namespace keel::validation
