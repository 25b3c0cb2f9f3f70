#pragma once

#include "protocol/revision.hpp"

#include <keel/json.hpp>

#include <optional>

namespace keel::inline KEEL_ABI::protocol {

/// A form as a revision knows it: 2025-06-18 has no defaults but of booleans, names the titles of choices beside them, and
/// has no choice of several. Nothing when the form cannot do without what the revision lacks. `form` is of the allowed subset.
std::optional<json::value> form_for(revision r, json::value form);

}  // namespace keel::protocol
