#pragma once

// The limits in a member's description: keel::minimum, keel::max_items, …

#include <keel/describe.hpp>

namespace keel::inline KEEL_ABI::detail {

/// True if a value is within the limits; otherwise `why` is the reason.
bool within_limits(const field_notes&, const json::value&, std::string& why);

/// The limit as a JSON number for a schema.
json::value to_value(const limit&);

}  // namespace keel::detail
