#pragma once

#include "commands.hpp"

namespace keel::command {

/// Runs a command. Returns the exit status.
int run(const command& c, const options& o);

}  // namespace keel::command
