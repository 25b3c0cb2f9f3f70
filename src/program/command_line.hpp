#pragma once

// The command line of a server program that uses keel::main.

#include "program/foreground.hpp"

#include <keel/http_server.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::program {

struct command_line {
    foreground_options serving;
    std::vector<std::string> http_addresses;
    http_options http;  // for each of these addresses
    bool help = false;
    std::string problem;  // the first error in the command line; empty if it is valid
};

command_line read_command_line(int argc, const char* const* argv);
/// Parses "1.5s", "200ms", "2m" or "1h"; a number without a unit is in seconds. Returns nullopt if the text is invalid.
std::optional<duration> read_duration(std::string_view text);
std::string help_text(std::string_view program, const implementation& about);

}  // namespace keel::program
