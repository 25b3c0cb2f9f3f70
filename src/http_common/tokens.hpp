#pragma once

// Helpers to parse header values.

#include <keel/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

inline bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
inline char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

inline bool is_token_char(char c) noexcept {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return c != '\0' && std::strchr("!#$%&'*+-.^_`|~", c) != nullptr;
}

inline bool is_token(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

/// False for control characters except TAB.
inline bool is_field_char(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t';
}

inline bool is_field_text(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), is_field_char);
}

inline std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

inline bool same_ignoring_case(std::string_view text, std::string_view lower_case) noexcept {
    return text.size() == lower_case.size() &&
           std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) { return lower(a) == b; });
}

/// Calls f for each item of a comma-separated list, without surrounding blanks.
template <class F>
void for_each_item(std::string_view list, F f) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (const std::string_view item = trim(list.substr(0, comma)); !item.empty()) f(item);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

}  // namespace keel::http
