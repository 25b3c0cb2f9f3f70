#include "schema/error_messages.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::validation::words {

namespace {

bool is_word(std::string_view key) noexcept {
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '$';
    };
    return !key.empty() && key.size() <= 64 && std::ranges::all_of(key, good);
}

std::string counted(std::size_t n, const char* noun) {
    std::string out = std::to_string(n) + ' ';
    if (n == 1) return out + noun;
    const std::string_view one(noun);
    if (one.ends_with('y')) return out.append(one.substr(0, one.size() - 1)) + "ies";
    return out.append(one) + 's';
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;  // do not split a character
    return std::string(text.substr(0, most)) + "…";
}

std::string shown(std::string_view text) {
    std::string out;
    return json::write_string(out, shortened(text, 64)) ? out : "(invalid UTF-8)";
}

std::string shown(const json::value& v) {
    if (const auto text = v.if_string()) return shown(*text);
    if (v.is_array() || v.is_object()) {
        if (v.size() > 8) return "an " + std::string(json::name_of(v.type()));
    }
    std::string out;
    if (!json::write(out, v)) return v.is_number() ? "NaN or infinity" : "(invalid JSON)";
    return shortened(out, 64);
}

void step_into(decode_error& e, std::string_view key) {
    e.path.insert(0, is_word(key) ? '.' + std::string(key) : '[' + shown(key) + ']');
}

void step_into(decode_error& e, std::size_t index) { e.path.insert(0, '[' + std::to_string(index) + ']'); }

std::string wrong_type(type_set allowed, const json::value& found) {
    if (allowed == 0) return "not allowed";
    struct word {
        type_set bit;
        const char* name;
    };
    constexpr word all[] = {{types::string, "string"},   {types::integer, "integer"}, {types::number, "number"},
                            {types::boolean, "boolean"}, {types::array, "array"},     {types::object, "object"},
                            {types::null, "null"}};
    std::string out;
    for (const auto& [bit, name] : all) {
        if (!(allowed & bit) || (bit == types::integer && (allowed & types::number))) continue;
        if (!out.empty()) out += " or ";
        out += name;
    }
    // "expected integer, found number" would not tell the reason.
    const bool fraction = found.is_number() && (allowed & types::integer);
    return "expected " + out + ", found " + (fraction ? shown(found) : std::string(json::name_of(found.type())));
}

std::string wrong_value(const value_rules& rules, const json::value& found) {
    if (rules.as_given.empty()) return "no value is allowed here";
    std::string out = rules.as_given.size() == 1 ? "expected " : "expected one of ";
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i != std::min(most, rules.as_given.size()); ++i) {
        if (i != 0) out += ", ";
        out += shown(rules.as_given[i]);
    }
    if (rules.as_given.size() > most) out += ", … (" + std::to_string(rules.as_given.size()) + " in all)";
    return out + ", found " + shown(found);
}

std::string wrong_number(const number_rules& r, const json::value& found) {
    const auto say = [&](const char* words, const json::value& bound) {
        return words + shown(bound) + ", found " + shown(found);
    };
    if (!r.minimum.is_null() && !(compare(found, r.minimum) >= 0)) return say("expected at least ", r.minimum);
    if (!r.maximum.is_null() && !(compare(found, r.maximum) <= 0)) return say("expected at most ", r.maximum);
    if (!r.exclusive_minimum.is_null() && !(compare(found, r.exclusive_minimum) > 0))
        return say("expected more than ", r.exclusive_minimum);
    if (!r.exclusive_maximum.is_null() && !(compare(found, r.exclusive_maximum) < 0))
        return say("expected less than ", r.exclusive_maximum);
    return say("expected a multiple of ", r.multiple_of);
}

std::string wrong_count(std::size_t found, std::size_t least, std::size_t most, const char* noun) {
    const bool few = found < least;
    return (few ? "expected at least " : "expected at most ") + counted(few ? least : most, noun) + ", found " +
           std::to_string(found);
}

}  // namespace keel::validation::words
