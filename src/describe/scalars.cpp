#include "describe/scalars.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace keel::inline KEEL_ABI::detail {

std::optional<float> to_float(double wide) noexcept {
    // Half a unit above the largest float: from here on rounding gives infinity.
    if (std::abs(wide) >= 0x1.ffffffp127 && std::isfinite(wide)) return std::nullopt;
    constexpr auto most = std::numeric_limits<float>::max();
    if (std::isfinite(wide) && std::abs(wide) > static_cast<double>(most)) return wide < 0 ? -most : most;
    return static_cast<float>(wide);
}

double load_real(const type_table& t, const void* from) noexcept {
    if (t.size == sizeof(double)) return *static_cast<const double*>(from);
    const float narrow = *static_cast<const float*>(from);
    const auto plain = static_cast<double>(narrow);
    const bool short_already = std::trunc(narrow) == narrow && std::abs(narrow) <= 0x1p24F;
    if (!std::isfinite(narrow) || short_already) return plain;
    char text[32];
    const auto written = std::to_chars(text, text + sizeof text, narrow);
    double wide = plain;
    std::from_chars(text, written.ptr, wide);
    return to_float(wide) == narrow ? wide : plain;
}

}  // namespace keel::detail
