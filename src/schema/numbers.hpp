#pragma once

// Compares numbers by their mathematical value, without rounding or overflow.

#include <keel/json.hpp>

#include <compare>
#include <cstdint>

namespace keel::inline KEEL_ABI::validation {

/// Exact, even between an integer above 2^53 and a real. Both must be numbers.
std::partial_ordering compare(const json::value& a, const json::value& b) noexcept;

/// True for 3, 3.0 and 1e300; false for 3.5, infinity and "3".
bool is_integral(const json::value& v) noexcept;

/// A number without its sign as digits * 10^exponent. For a real it is the shortest decimal that reads back as the same
/// value: 0.01 is one hundredth, not the nearest double.
struct decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
};
/// The number must be finite.
decimal to_decimal(const json::value& number) noexcept;

bool is_multiple(const json::value& number, const decimal& of) noexcept;

}  // namespace keel::validation
