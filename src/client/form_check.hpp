#pragma once

// Validates answers to elicitation forms, and sampling requests.

#include "protocol/revision.hpp"

#include <keel/answering.hpp>
#include <keel/json.hpp>
#include <keel/sampling.hpp>

#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::client_side {

/// Fills the schema's defaults into an accepted answer and validates it (ELI-18). Drops `values` of a declined or cancelled answer.
/// Returns the error message, or nullopt if the answer is valid.
std::optional<std::string> fit_form(const json::value& schema, form_answer& answer);

/// Returns why a sampling request must be rejected (with -32602), or nullopt. `request` was decoded from `params`. `with_tools`: the
/// client declared sampling.tools (SAM-03, SAM-04, SAM-05). For revisions without sampling tools, `tools` is removed.
std::optional<std::string> fit_sampling(protocol::revision r, bool with_tools, const json::value& params,
                                        sampling_request& request);

}  // namespace keel::client_side
