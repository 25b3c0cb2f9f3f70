#pragma once

// Numbers by their mathematical value: no rounding, no overflow.

#include <keel/json.hpp>

#include <compare>
#include <cstdint>

namespace keel::inline KEEL_ABI::validation {

/// Exact, also between an integer beyond 2^53 and a real. Both must be numbers.
std::partial_ordering compare(const json::value& a, const json::value& b) noexcept;

/// 3, 3.0 and 1e300 are; 3.5, infinity and "3" are not.
bool is_integral(const json::value& v) noexcept;

/// A number without its sign as digits * 10^exponent: of a real, the shortest decimal that reads back as it, which is
/// what its author wrote. 0.01 is one hundredth here, not the double beside it.
struct decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
};
/// The number must be finite.
decimal to_decimal(const json::value& number) noexcept;

bool is_multiple(const json::value& number, const decimal& of) noexcept;

}  // namespace keel::validation
