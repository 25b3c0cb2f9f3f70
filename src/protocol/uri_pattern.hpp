#pragma once

// The parts of a URI template, and the matching of URIs against them. Used through uri_template.

#include <keel/version.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::protocol {

/// The table of RFC 6570, appendix A.
struct template_operator {
    char sign;       // 0 for a simple expression
    char first;      // written before the first value, or 0
    char separator;  // between values
    bool named;      // each value has its name in front
    bool equals_if_empty;
    bool allows_reserved;
};

/// The operator with that sign, or nullptr. 0 is the sign of simple expressions.
const template_operator* find_template_operator(char sign) noexcept;

struct template_variable {
    std::size_t index = 0;   // into the names of the template
    std::size_t prefix = 0;  // at most that many characters; 0: all
    bool explode = false;
};

/// A literal, or an expression when it has variables.
struct template_part {
    std::string literal;  // escaped where it must be
    const template_operator* op = nullptr;
    std::vector<template_variable> variables;
};

/// The first `count` characters of UTF-8 text.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

/// A small program that looks for a way through the URI, trying alternatives in order and never trying the same place
/// twice: time and memory are bounded by the product of both lengths, whatever the URI.
class uri_pattern {
public:
    static constexpr std::size_t max_uri_size = 8192;

    uri_pattern(const std::vector<std::string>& names, const std::vector<template_part>& parts);

    /// By index of the variable. See uri_template::match.
    std::optional<std::vector<std::optional<std::string>>> match(std::string_view uri) const;

private:
    enum class step : std::uint8_t {
        text,      // the bytes of texts_[target]
        unit,      // one character
        units,     // any number of characters, as few as possible
        counted,   // up to `count` characters since the capture `target` began, as many as possible
        either,    // rather the next instruction, else `target`
        jump,      // to `target`
        begin,     // the capture `target` begins
        end,       // the capture `target` ends
        unused,    // fails when the capture `target` has ended before
        accepted,  // succeeds at the end of the URI
    };
    struct instruction {
        step what = step::accepted;
        bool reserved_too = false;  // whether characters may be reserved ones
        std::uint32_t target = 0;
        std::uint32_t count = 0;
    };
    struct capture {
        template_variable variable;
        const template_operator* op = nullptr;
        std::string name;
    };
    class search;

    std::uint32_t emit(step, std::uint32_t target = 0);
    void emit_text(std::string);
    void emit_units(const template_operator&, bool at_least_one);
    void emit_value(std::uint32_t capture, bool at_least_one);
    void emit_unnamed(const std::vector<std::uint32_t>& captures);
    void emit_named(const std::vector<std::uint32_t>& captures);
    void emit_named_value(std::uint32_t capture);
    void land(std::uint32_t from);

    std::vector<instruction> program_;
    std::vector<std::string> texts_;
    std::vector<capture> captures_;
    std::vector<std::vector<std::uint32_t>> captures_of_;  // by variable
    bool repeats_ = false;                                 // some variable appears twice
};

}  // namespace keel::protocol
