#include "protocol/meta_keys.hpp"

#include "json/ascii.hpp"

#include <algorithm>
#include <cstddef>

namespace keel::inline KEEL_ABI::protocol {

namespace {

using json::is_digit;
using json::is_letter;

bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

bool is_label(std::string_view text) {
    return !text.empty() && is_letter(text.front()) && is_letter_or_digit(text.back()) &&
           std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

bool is_name(std::string_view text) {
    return text.empty() || (is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
                            std::ranges::all_of(text, [](char c) {
                                return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
                            }));
}

bool is_ours(std::string_view label) { return label == "modelcontextprotocol" || label == "mcp"; }

/// Calls f(index, label, is_last) for each label of a prefix until it returns false.
template <class F>
void each_label(std::string_view prefix, F f) {
    for (std::size_t index = 0;; ++index) {
        const std::size_t dot = prefix.find('.');
        const bool last = dot == std::string_view::npos;
        if (!f(index, prefix.substr(0, dot), last) || last) return;
        prefix.remove_prefix(dot + 1);
    }
}

bool is_prefix(std::string_view text) {
    bool valid = true;
    each_label(text, [&](std::size_t, std::string_view label, bool) { return valid = is_label(label); });
    return valid;
}

}  // namespace

bool is_valid_meta_key(std::string_view key) noexcept {
    const std::size_t slash = key.find('/');
    if (slash == std::string_view::npos) return is_name(key);
    return is_prefix(key.substr(0, slash)) && is_name(key.substr(slash + 1));
}

bool is_reserved_meta_key(std::string_view key, revision r) noexcept {
    const std::size_t slash = key.find('/');
    if (slash == std::string_view::npos || r < revision::r2025_06_18 || !is_valid_meta_key(key)) return false;
    bool reserved = false;
    each_label(key.substr(0, slash), [&](std::size_t index, std::string_view label, bool last) {
        if (is_ours(label)) reserved |= r == revision::r2025_06_18 ? !last : index == 1;
        return true;
    });
    return reserved;
}

bool is_valid_extension_id(std::string_view id) noexcept {
    return id.find('/') != std::string_view::npos && is_valid_meta_key(id);
}

}  // namespace keel::protocol
