#pragma once

// The subset of JSON Schema that elicitation forms support (docs/rules/protocol.md).

#include <keel/json.hpp>

#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::protocol {

/// Returns nothing if the schema is a flat object of strings, numbers, booleans and choices; otherwise the reason, with
/// the name of the property. Allows the features of all revisions; form_for converts a form for one of them.
std::optional<std::string> elicitation_problem(const json::value& schema);

}  // namespace keel::protocol
