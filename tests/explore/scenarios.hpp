#pragma once

// The sets of events that are explored on every run of the tests.

#include "explore/search.hpp"

#include <vector>

namespace keel::explore {

/// Servers and clients with different bounds: each brings other deadlines and other limits to bear.
std::vector<setting> all_settings();
std::vector<scenario> all_scenarios();

}  // namespace keel::explore
