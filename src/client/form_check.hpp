#pragma once

// What goes back to a server that has asked something, made fit; and what a server must not ask.

#include "protocol/revision.hpp"

#include <keel/answering.hpp>
#include <keel/json.hpp>
#include <keel/sampling.hpp>

#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::client_side {

/// Makes an answer fit the form it belongs to. Accepted: the defaults of the schema are filled in where `values` has nothing, and the
/// whole is checked (ELI-18). Declined or cancelled: `values` is dropped. Gives a sentence about what does not fit, or nothing.
std::optional<std::string> fit_form(const json::value& schema, form_answer& answer);

/// Why a request for sampling must be refused (with -32602), or nothing. `params` is what `request` was read from; `with_tools`:
/// sampling.tools was declared (SAM-03, SAM-04, SAM-05). Revisions that know no tools ignore them: they are taken out.
std::optional<std::string> fit_sampling(protocol::revision r, bool with_tools, const json::value& params,
                                        sampling_request& request);

}  // namespace keel::client_side
