#pragma once

#include "commands.hpp"

namespace keel::command {

/// Runs a command. Returns the exit status.
int run(const command& c, options o);

/// Runs a command with the connection of `s`, which must be connected. Prints errors. Returns the exit status.
int run_connected(const command& c, command_session& s);

}  // namespace keel::command
