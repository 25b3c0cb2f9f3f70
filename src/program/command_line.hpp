#pragma once

// The command line of a server program that uses keel::main. option_table.hpp has the options.

#include "program/foreground.hpp"
#include "program/log_setup.hpp"

#include <keel/http_server.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::program {

struct command_line {
    foreground_options serving;
    std::vector<std::string> http_addresses;
    http_options http;  // for each of these addresses
    log_settings log;
    bool help = false;
    std::string problem;  // the first error in the command line or the environment; empty if they are valid
};

/// Returns the value of an environment variable, or null.
using environment = std::function<const char*(const char* name)>;

/// Options on the command line take precedence over environment variables; an endpoint on the command line, over all variables with
/// endpoints.
command_line read_command_line(int argc, const char* const* argv, const environment& variables = {},
                               http_options defaults = {});
std::string help_text(std::string_view program, const implementation& about);

}  // namespace keel::program
