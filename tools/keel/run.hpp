#pragma once

#include "commands.hpp"

namespace keel::command {

/// Carries out one of the commands. The exit status.
int run(const command& c, const options& o);

}  // namespace keel::command
