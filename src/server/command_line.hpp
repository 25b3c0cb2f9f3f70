#pragma once

// The command line of a server program.

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

struct command_line {
    std::vector<endpoint> endpoints;
    std::vector<std::string> http;  // addresses
    http_options http_rules;        // for all of them
    std::optional<duration> drain;
    log_level level = log_level::warning;
    bool help = false;
    std::string problem;  // not empty: the command line is wrong
};

command_line read_command_line(int argc, const char* const* argv);
/// "1.5s", "200ms", "2m", "1h"; a bare number is seconds. Nothing when it is none of these.
std::optional<duration> read_duration(std::string_view text);
std::string help_text(std::string_view program, const implementation& about);

}  // namespace keel::server_side
