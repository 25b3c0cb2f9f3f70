#include "schema/numbers.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace keel::inline KEEL_ABI::validation {

namespace {

__extension__ using wide = unsigned __int128;

// Both bounds are powers of two and exact as doubles.
std::partial_ordering compare_with(std::int64_t n, double d) noexcept {
    if (std::isnan(d)) return std::partial_ordering::unordered;
    if (d >= 0x1p63) return std::partial_ordering::less;
    if (d < -0x1p63) return std::partial_ordering::greater;
    const auto whole = static_cast<std::int64_t>(d);
    if (n != whole) return n <=> whole;
    return 0.0 <=> d - static_cast<double>(whole);
}

std::partial_ordering compare_with(std::uint64_t n, double d) noexcept {
    if (std::isnan(d)) return std::partial_ordering::unordered;
    if (d >= 0x1p64) return std::partial_ordering::less;
    if (d < 0) return std::partial_ordering::greater;
    const auto whole = static_cast<std::uint64_t>(d);
    if (n != whole) return n <=> whole;
    return 0.0 <=> d - static_cast<double>(whole);
}

/// Compares an integer of either kind with a real.
std::partial_ordering compare_with(const json::value& n, double d) noexcept {
    if (const auto i = n.if_int()) return compare_with(*i, d);
    return compare_with(*n.if_uint(), d);
}

std::uint64_t magnitude(const json::value& integer) noexcept {
    if (const auto n = integer.if_int()) {
        return *n < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(*n) : static_cast<std::uint64_t>(*n);
    }
    return *integer.if_uint();
}

std::uint64_t power_of_ten_modulo(unsigned exponent, std::uint64_t modulus) noexcept {
    wide result = 1 % modulus;
    wide base = 10 % modulus;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) result = result * base % modulus;
        base = base * base % modulus;
    }
    return static_cast<std::uint64_t>(result);
}

}  // namespace

std::partial_ordering compare(const json::value& a, const json::value& b) noexcept {
    if (a.type() == json::kind::integer && b.type() == json::kind::integer) [[likely]]
        return *a.if_int() <=> *b.if_int();
    if (a.type() == json::kind::real) {
        if (b.type() == json::kind::real) return *a.if_double() <=> *b.if_double();
        return 0 <=> compare_with(b, *a.if_double());
    }
    if (b.type() == json::kind::real) return compare_with(a, *b.if_double());
    if (a.type() != b.type()) {  // unsigned integers are above the signed range
        return a.type() == json::kind::unsigned_integer ? std::partial_ordering::greater : std::partial_ordering::less;
    }
    return *a.if_uint() <=> *b.if_uint();
}

bool is_integral(const json::value& v) noexcept {
    if (v.is_integer()) return true;
    if (v.type() != json::kind::real) return false;
    const double d = *v.if_double();
    return std::isfinite(d) && std::trunc(d) == d;
}

decimal to_decimal(const json::value& number) noexcept {
    if (number.is_integer()) return {magnitude(number), 0};
    char text[40];
    const double d = std::fabs(*number.if_double());
    const char* end = std::to_chars(text, text + sizeof text, d, std::chars_format::scientific).ptr;
    decimal out;
    bool fraction = false;
    const char* p = text;
    for (; p != end && *p != 'e'; ++p) {  // at most 17 digits
        if (*p == '.') {
            fraction = true;
            continue;
        }
        out.digits = out.digits * 10 + static_cast<std::uint64_t>(*p - '0');
        if (fraction) --out.exponent;
    }
    int exponent = 0;
    if (p != end) {
        ++p;
        if (*p == '+') ++p;  // from_chars does not accept a plus sign
        std::from_chars(p, end, exponent);
    }
    out.exponent += exponent;
    return out;
}

bool is_multiple(const json::value& number, const decimal& of) noexcept {
    if (number.is_integer() && of.exponent == 0) [[likely]]
        return magnitude(number) % of.digits == 0;
    if (!std::isfinite(*number.if_double())) return false;
    const decimal n = to_decimal(number);
    if (n.digits == 0) return true;
    // Is digits * 10^shift / of.digits an integer?
    const int shift = n.exponent - of.exponent;
    if (shift >= 0) {
        const std::uint64_t rest = n.digits % of.digits;
        const std::uint64_t power = power_of_ten_modulo(static_cast<unsigned>(shift), of.digits);
        return static_cast<wide>(rest) * power % of.digits == 0;
    }
    wide divisor = of.digits;
    for (int i = shift; i != 0; ++i) {
        divisor *= 10;
        if (divisor > std::numeric_limits<std::uint64_t>::max()) return false;
    }
    return n.digits % static_cast<std::uint64_t>(divisor) == 0;
}

}  // namespace keel::validation
