#pragma once

#include <keel/config.hpp>

#include <optional>
#include <string>

namespace keel::command {

/// Asks for a value of a configuration file in the controlling terminal; a password is not echoed. An empty answer is the default.
/// Without a terminal: the default.
std::optional<std::string> ask_for_input(const config_input& in);

}  // namespace keel::command
