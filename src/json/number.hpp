#pragma once

#include <keel/version.hpp>

#include <optional>

namespace keel::inline KEEL_ABI::json::detail {

/// The double nearest to a JSON number. A number that is too small becomes zero with its sign; returns nothing if it is
/// too large.
std::optional<double> to_double(const char* begin, const char* end);

}  // namespace keel::json::detail
