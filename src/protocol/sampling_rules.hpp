#pragma once

// What a conversation must look like before a model may go on with it.

#include <keel/sampling.hpp>

#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::protocol {

/// Nothing when it is in order (SAM-04, SAM-05); else what is wrong, and in which message.
std::optional<std::string> sampling_problem(const sampling_request& request);

}  // namespace keel::protocol
