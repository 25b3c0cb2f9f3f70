#pragma once

// Validation of the messages of a sampling request.

#include <keel/sampling.hpp>

#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::protocol {

/// Returns nothing if the messages are valid (SAM-04, SAM-05), otherwise the reason and the number of the message.
std::optional<std::string> sampling_problem(const sampling_request& request);

}  // namespace keel::protocol
