#pragma once

// Durations in messages.

#include <keel/loop.hpp>

#include <string>

namespace keel::inline KEEL_ABI::async {

/// "5 s", "1500 ms", "30 min": exact, in the largest unit without a fraction.
std::string duration_text(duration d);

}  // namespace keel::async
