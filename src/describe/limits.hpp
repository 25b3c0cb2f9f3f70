#pragma once

// The limits that a member's description sets: keel::minimum, keel::max_items, …

#include <keel/describe.hpp>

namespace keel::inline KEEL_ABI::detail {

/// True when a value of the right kind keeps the limits; otherwise `why` says which one it does not.
bool within_limits(const field_notes&, const json::value&, std::string& why);

/// The limit as it stands in a schema.
json::value to_value(const limit&);

}  // namespace keel::detail
