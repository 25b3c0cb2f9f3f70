#pragma once

#include "commands.hpp"

namespace keel::command {

/// Carries out one of the commands; `argv[0]` is its name. The exit status.
int run(const command& c, int argc, const char* const* argv);

}  // namespace keel::command
