#pragma once

// URI templates (RFC 6570, all four levels): expansion and matching.

#include "protocol/uri.hpp"
#include "protocol/uri_pattern.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace keel::inline KEEL_ABI::protocol {

/// The value of a variable: a string, a list, or ordered key-value pairs. An empty list or table counts as undefined,
/// an empty string does not.
using template_value =
    std::variant<std::string, std::vector<std::string>, std::vector<std::pair<std::string, std::string>>>;
/// Missing variables are undefined.
using template_values = std::map<std::string, template_value>;
using matched_values = std::map<std::string, std::string>;

/// Immutable after construction, so it is thread-safe.
class uri_template {
public:
    static constexpr std::size_t max_template_size = 8192;
    static constexpr std::size_t max_uri_size = uri_pattern::max_uri_size;

    /// Throws std::invalid_argument with the reason and the offset: `keel: URI template "x{": unclosed expression at
    /// 1`.
    explicit uri_template(std::string text);

    const std::string& text() const noexcept { return text_; }
    /// The variable names in order of first appearance.
    const std::vector<std::string>& variables() const noexcept { return variables_; }

    /// Throws std::invalid_argument if a list or table has a prefix modifier, which RFC 6570 does not define.
    std::string expand(const template_values&) const;

    /// Returns the values that expand to this URI, with percent escapes decoded, or nothing if the URI does not match.
    ///
    /// - {x} never matches a reserved character ('/', '?', '#', ',', …) that is not escaped; {+x} and {#x} may.
    /// - {x} and {+x} stand for at least one character: "note://{id}" is not "note://". All other expressions may be
    ///   absent, and their variables are then missing from the answer; of several variables in one expression any may
    ///   be absent in {?a,b}, {&a,b} and {;a,b}, which also match in any order, and the last ones in all others.
    /// - {x:3} matches at most three characters.
    /// - An exploded variable matches one item or more. They are given in one text, joined by the separator: '/' for
    ///   {/x*}, '.' for {.x*}, ',' for all others. A '/' that was escaped inside an item looks like one that joins.
    ///   Lists that are not exploded, and tables, are not matched.
    /// - A variable that appears twice must have the same value in both places.
    /// - Where several answers are possible, a variable takes as little as it can, one with a prefix as much as it can,
    ///   and expressions are rather present than absent: "a.b" is {name}{.ext} with both.
    ///
    /// Values are valid UTF-8 without NUL. URIs longer than max_uri_size do not match. The work is bounded by the
    /// product of both lengths and by a maximum number of steps; a search that exceeds it is no match. That happens
    /// only with hundreds of variables, or with many alternatives for a variable that appears twice.
    std::optional<matched_values> match(std::string_view uri) const;

private:
    [[noreturn]] void fail(std::string_view what, std::size_t offset) const;
    std::vector<template_part> parse();
    template_part parse_literal(std::size_t& at);
    template_part parse_expression(std::size_t& at);
    std::size_t parse_name(std::size_t at) const;
    std::size_t index_of(std::string_view name);

    std::string text_;
    std::vector<std::string> variables_;
    std::vector<template_part> parts_;
    uri_pattern pattern_;  // compiled from the two members above
};

}  // namespace keel::protocol
