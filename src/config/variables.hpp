#pragma once

// Variables in configuration files: ${env:NAME}, ${NAME}, ${NAME:-default}, ${workspaceFolder}, ${input:id}, …

#include <keel/config.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::config {

/// The values of variables. Not thread-safe.
struct variables {
    std::string workspace;
    std::function<std::optional<std::string>(const std::string&)> environment;
    std::map<std::string, config_input> inputs;
    std::function<std::optional<std::string>(const config_input&)> ask;
    std::map<std::string, std::string> answers = {};  // each input is asked for once
};

/// Replaces all variables. Other text, also "$NAME" and "${" without an end, stays as it is. Throws config_error (without file and
/// server) if a variable has no value or is unsupported.
std::string expand(std::string_view text, variables& with);

/// The home directory; "" if it is unknown.
std::string home(const variables& with);

/// Reads a file. Throws config_error if that fails or if it has more than `max_size` bytes.
std::string read_file(const std::string& path, std::size_t max_size);

}  // namespace keel::config
