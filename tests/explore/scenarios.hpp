#pragma once

// The sets of events that are explored on every run of the tests.

#include "explore/search.hpp"

#include <vector>

namespace keel::explore {

/// Servers and clients with different limits, which lead to different deadlines.
std::vector<setting> all_settings();

// One group for each group of rules.
std::vector<scenario> cancelling();
std::vector<scenario> reused_ids();
std::vector<scenario> asking();
std::vector<scenario> ending();
std::vector<scenario> under_pressure();
std::vector<scenario> batches();
std::vector<scenario> all_scenarios();

}  // namespace keel::explore
