#pragma once

// One server of a configuration file.

#include "config/variables.hpp"

#include <keel/config.hpp>
#include <keel/json.hpp>

#include <variant>

namespace keel::inline KEEL_ABI::config {

/// Describes an entry without expanding variables. `problem` is set if the entry is invalid. Name, file and place are left to the
/// caller.
configured_server describe_entry(const json::value& entry);

/// The address, with variables expanded. `default_directory` is where a program runs if the entry names no directory. Throws
/// config_error with the path of the member.
std::variant<child_process, url> resolve_entry(const json::value& entry, variables& with,
                                               const std::string& default_directory);

}  // namespace keel::config
