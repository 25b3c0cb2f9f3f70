#include "describe/limits.hpp"

#include <algorithm>
#include <compare>

namespace keel::inline KEEL_ABI::detail {

namespace {

std::partial_ordering compare(const json::value& number, const limit& bound) noexcept {
    if (bound.kind == limit::form::integer) {
        // Compare integers as integers: doubles are inexact above 2^53.
        if (const auto n = number.if_int()) return *n <=> bound.integer;
        if (number.is_integer()) return std::partial_ordering::greater;
        return *number.if_double() <=> static_cast<double>(bound.integer);
    }
    return *number.if_double() <=> bound.real;
}

std::size_t characters(std::string_view text) noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string counted(std::size_t n, const char* noun) { return std::to_string(n) + ' ' + noun + (n == 1 ? "" : "s"); }

bool count_within(std::size_t n, std::size_t least, std::size_t most, const char* noun, std::string& why) {
    if (n < least) why = "expected at least " + counted(least, noun) + ", found " + std::to_string(n);
    else if (n > most) why = "expected at most " + counted(most, noun) + ", found " + std::to_string(n);
    else return true;
    return false;
}

bool number_within(const field_notes& n, const json::value& number, std::string& why) {
    const auto check = [&](const limit& bound, auto good, const char* words) {
        if (bound.kind == limit::form::none || good(compare(number, bound))) return true;
        why = words + json::to_string(to_value(bound)) + ", found " + json::to_string(number);
        return false;
    };
    using order = std::partial_ordering;
    return check(
               n.minimum, [](order o) { return o >= 0; }, "expected at least ") &&
           check(
               n.maximum, [](order o) { return o <= 0; }, "expected at most ") &&
           check(
               n.exclusive_minimum, [](order o) { return o > 0; }, "expected more than ") &&
           check(n.exclusive_maximum, [](order o) { return o < 0; }, "expected less than ");
}

}  // namespace

bool within_limits(const field_notes& n, const json::value& v, std::string& why) {
    if (v.is_number()) return number_within(n, v, why);
    if (const auto text = v.if_string()) {
        return count_within(characters(*text), n.min_length, n.max_length, "character", why);
    }
    if (v.is_array()) return count_within(v.size(), n.min_items, n.max_items, "item", why);
    return true;  // null, if the member is optional
}

json::value to_value(const limit& bound) {
    if (bound.kind == limit::form::integer) return bound.integer;
    return bound.real;
}

}  // namespace keel::detail
