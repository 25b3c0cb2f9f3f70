#include "json/number.hpp"

#include "json/ascii.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

namespace keel::inline KEEL_ABI::json::detail {

namespace {

/// Handles numbers that from_chars does not. It reports "out of range" both for too large and too small numbers, and
/// may fail for exponents with many digits even if a long row of zeros makes the number representable.
std::optional<double> odd_to_double(const char* p, const char* end) {
    const double sign = *p == '-' ? -1.0 : 1.0;
    if (*p == '-') ++p;

    // As 0.digits times ten to the power of `scale`.
    std::string digits;
    long long scale = 0;
    bool after_point = false;
    for (; p != end && (is_digit(*p) || *p == '.'); ++p) {
        if (*p == '.') {
            after_point = true;
        } else if (*p == '0' && digits.empty()) {
            if (after_point) --scale;
        } else {
            digits += *p;
            if (!after_point) ++scale;
        }
    }
    if (digits.empty()) return sign * 0.0;
    if (p != end) {
        ++p;  // e
        const bool negative = *p == '-';
        if (*p == '-' || *p == '+') ++p;
        constexpr long long huge = 1'000'000'000'000'000'000;  // larger than the length of any text
        long long exponent = 0;
        for (; p != end; ++p) exponent = std::min(exponent * 10 + (*p - '0'), huge / 10);
        scale += negative ? -exponent : exponent;
    }
    if (scale > 400) return std::nullopt;
    if (scale < -400) return sign * 0.0;

    const std::string plain = "0." + digits + 'e' + std::to_string(scale);
    double d = 0;
    if (std::from_chars(plain.data(), plain.data() + plain.size(), d).ec == std::errc()) return sign * d;
    if (scale > 0) return std::nullopt;
    return sign * 0.0;
}

}  // namespace

std::optional<double> to_double(const char* begin, const char* end) {
    double d = 0;
    // The exponent has at most five digits unless the text is long.
    if (end - begin < 64) {
        const auto [at, status] = std::from_chars(begin, end, d);
        if (status == std::errc() && at == end) return d;
        return odd_to_double(begin, end);
    }
    const char* e = std::find_if(begin, end, [](char c) { return c == 'e' || c == 'E'; });
    if (end - e <= 5) {
        const auto [at, status] = std::from_chars(begin, end, d);
        if (status == std::errc() && at == end) return d;
    }
    return odd_to_double(begin, end);
}

}  // namespace keel::json::detail
