#pragma once

#include "protocol/revision.hpp"

#include <keel/json.hpp>

#include <optional>

namespace keel::inline KEEL_ABI::protocol {

/// Converts a form for a revision. 2025-06-18 has defaults only for booleans, titles of choices only in `enumNames`,
/// and no multiple choice. Returns nothing if the form requires a feature that the revision lacks. `form` must be in
/// the allowed subset.
std::optional<json::value> form_for(revision r, json::value form);

}  // namespace keel::protocol
