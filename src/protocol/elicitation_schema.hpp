#pragma once

// Which schemas a form can be made of (PROTOCOL 2.7).

#include <keel/json.hpp>

#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::protocol {

/// Nothing when the schema is a flat object of text, numbers, switches and choices; otherwise a sentence that names the
/// property and the reason. Everything that any revision knows is allowed: see form_for for what one of them lacks.
std::optional<std::string> elicitation_problem(const json::value& schema);

}  // namespace keel::protocol
