#pragma once

#include <keel/server.hpp>

namespace keel::demo {

/// One of each feature, so that a person can try all of them.
void add_tools(server& s);

}  // namespace keel::demo
