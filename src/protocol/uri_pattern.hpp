#pragma once

// The parts of a URI template, and matching of URIs. Used through uri_template.

#include <keel/version.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::protocol {

/// The operators of RFC 6570, appendix A.
struct template_operator {
    char sign;       // 0 for a simple expression
    char first;      // written before the first value; 0: nothing
    char separator;  // between values
    bool named;      // each value is preceded by its name
    bool equals_if_empty;
    bool allows_reserved;
};

/// The operator with this sign, or nullptr. Simple expressions have the sign 0.
const template_operator* find_template_operator(char sign) noexcept;

struct template_variable {
    std::size_t index = 0;   // into the variable names of the template
    std::size_t prefix = 0;  // maximum number of characters; 0: unlimited
    bool explode = false;
};

/// A literal, or an expression if it has variables.
struct template_part {
    std::string literal;  // with escapes
    const template_operator* op = nullptr;
    std::vector<template_variable> variables;
};

/// The first `count` characters of UTF-8 text.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

/// A backtracking matcher with memory: it tries alternatives in order and never tries the same position twice. Time and
/// memory are bounded by the product of both lengths.
class uri_pattern {
public:
    static constexpr std::size_t max_uri_size = 8192;

    uri_pattern(const std::vector<std::string>& names, const std::vector<template_part>& parts);

    /// The values, indexed by variable. See uri_template::match.
    std::optional<std::vector<std::optional<std::string>>> match(std::string_view uri) const;

private:
    enum class step : std::uint8_t {
        text,      // the bytes of texts_[target]
        unit,      // one character
        units,     // any number of characters, as few as possible
        counted,   // up to `count` characters since the capture `target` began, as many as possible
        either,    // first the next instruction, then `target`
        jump,      // to `target`
        begin,     // the capture `target` begins
        end,       // the capture `target` ends
        unused,    // fails if the capture `target` has already ended
        accepted,  // succeeds at the end of the URI
    };
    struct instruction {
        step what = step::accepted;
        bool reserved_too = false;  // also accept reserved characters
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
