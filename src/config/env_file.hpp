#pragma once

#include <keel/version.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::config {

/// The variables of an `envFile`: lines NAME=VALUE, optionally with `export` and quotes; `#` begins a comment. Throws config_error with
/// the number of an invalid line.
std::vector<std::pair<std::string, std::string>> read_env_file(std::string_view text);

}  // namespace keel::config
