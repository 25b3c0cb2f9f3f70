#pragma once

// The settings and sets of events that every run of the tests explores.

#include "explore_http/search.hpp"

#include <vector>

namespace keel::explore_http {

const std::vector<setting>& all_settings();
std::vector<scenario> all_scenarios();

}  // namespace keel::explore_http
