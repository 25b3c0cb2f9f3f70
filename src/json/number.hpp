#pragma once

#include <keel/version.hpp>

#include <optional>

namespace keel::inline KEEL_ABI::json::detail {

/// The double nearest to a number in JSON's form. What is too small becomes zero with its sign; nothing when it is too
/// large.
std::optional<double> to_double(const char* begin, const char* end);

}  // namespace keel::json::detail
