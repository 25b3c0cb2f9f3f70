#pragma once

// Character classes of ASCII. Those of <cctype> depend on the locale and are undefined for negative values.

#include <keel/version.hpp>

namespace keel::inline KEEL_ABI::json {

constexpr bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace keel::json
