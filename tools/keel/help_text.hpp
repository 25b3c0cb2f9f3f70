#pragma once

// The text of --help, from the tables of commands and options.

#include "commands.hpp"

#include <string>

namespace keel::command {

/// `keel --help`.
std::string general_help();
/// `keel COMMAND --help`.
std::string help_of(const command& c);

/// The ways to write the command, without "keel": "tools SERVER[.TOOL] [options]", …
std::vector<std::string> usages_of(const command& c);
/// "Exit status" of the client commands.
extern const char* const exit_status_help;

}  // namespace keel::command
