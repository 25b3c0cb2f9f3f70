#pragma once

// Options of a described member: (name, "description", keel::minimum(1)).

#include <keel/describe/tables.hpp>

#include <type_traits>
#include <utility>

namespace keel::inline KEEL_ABI {

namespace detail {

struct text_option {
    std::string_view field_notes::* where;
    std::string_view text;
};
struct string_option {
    std::string_view field_notes::* where;
    std::string_view text;
};
struct length_option {
    std::size_t field_notes::* where;
    std::size_t count;
};
struct items_option {
    std::size_t field_notes::* where;
    std::size_t count;
};
struct number_option {
    limit field_notes::* where;
    limit bound;
};
struct defaulted_option {};
struct omit_empty_option {};
struct one_or_many_option {};
struct rest_option {};

constexpr void apply(field_notes& n, const char* description) { n.description = description; }
constexpr void apply(field_notes& n, const text_option& o) { n.*o.where = o.text; }
constexpr void apply(field_notes& n, const string_option& o) { n.*o.where = o.text; }
constexpr void apply(field_notes& n, const defaulted_option&) { n.defaulted = true; }
constexpr void apply(field_notes& n, const omit_empty_option&) { n.omit_empty = true; }
constexpr void apply(field_notes& n, const one_or_many_option&) { n.one_or_many = true; }
constexpr void apply(field_notes& n, const rest_option&) { n.rest = true; }
constexpr void apply(field_notes& n, const length_option& o) {
    n.*o.where = o.count;
    n.limited = true;
}
constexpr void apply(field_notes& n, const items_option& o) {
    n.*o.where = o.count;
    n.limited = true;
}
constexpr void apply(field_notes& n, const number_option& o) {
    n.*o.where = o.bound;
    n.limited = true;
}

template <class N>
constexpr limit make_limit(N n) {
    static_assert(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>, "keel: a limit must be a number");
    if constexpr (std::is_integral_v<N>) {
        if (std::in_range<std::int64_t>(n)) return {limit::form::integer, static_cast<std::int64_t>(n), 0};
    }
    return {limit::form::real, 0, static_cast<double>(n)};
}

}  // namespace detail

/// The name in JSON, if it differs from the name of the member: (input_schema, keel::wire("inputSchema")).
constexpr detail::text_option wire(const char* name) { return {&detail::field_notes::wire, name}; }
constexpr detail::text_option title(const char* text) { return {&detail::field_notes::title, text}; }
/// The member is not required; if it is missing, it keeps the value from the default constructor. The schema has that default.
inline constexpr detail::defaulted_option defaulted{};
/// The member is not required, and encode omits it if it is empty (string, list, map, JSON null) or, for an enum, number or bool,
/// if it has the value from the default constructor.
inline constexpr detail::omit_empty_option omit_empty{};
/// A json::value that collects all unknown members of the object. encode writes them last.
inline constexpr detail::rest_option rest{};

// Limits of numbers. Checked by decode.
template <class N>
constexpr detail::number_option minimum(N n) {
    return {&detail::field_notes::minimum, detail::make_limit(n)};
}
template <class N>
constexpr detail::number_option maximum(N n) {
    return {&detail::field_notes::maximum, detail::make_limit(n)};
}
template <class N>
constexpr detail::number_option exclusive_minimum(N n) {
    return {&detail::field_notes::exclusive_minimum, detail::make_limit(n)};
}
template <class N>
constexpr detail::number_option exclusive_maximum(N n) {
    return {&detail::field_notes::exclusive_maximum, detail::make_limit(n)};
}

// Limits of strings, in Unicode code points. Checked by decode.
constexpr detail::length_option min_length(std::size_t n) { return {&detail::field_notes::min_length, n}; }
constexpr detail::length_option max_length(std::size_t n) { return {&detail::field_notes::max_length, n}; }
// In the schema only: decode does not check them. Arguments of tools are validated against the schema.
constexpr detail::string_option format(const char* name) { return {&detail::field_notes::format, name}; }
constexpr detail::string_option pattern(const char* expression) { return {&detail::field_notes::pattern, expression}; }

// Limits of lists. Checked by decode.
constexpr detail::items_option min_items(std::size_t n) { return {&detail::field_notes::min_items, n}; }
constexpr detail::items_option max_items(std::size_t n) { return {&detail::field_notes::max_items, n}; }
/// encode writes a list with one element as that element, without an array; decode accepts both forms.
inline constexpr detail::one_or_many_option one_or_many{};

}  // namespace keel
