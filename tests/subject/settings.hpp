#pragma once

// Limits and options that the command line of a server does not offer, by name: `session_idle=200`.

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace keel::subject {

struct settings {
    std::string address;  // "": keel::main serves
    server_options server = {};
    http_options http = {};
};

/// Parses `--http-with HOST:PORT NAME=VALUE…`; other arguments are for keel::main. Durations are in milliseconds.
/// Throws std::invalid_argument if a name is unknown.
settings read_settings(const std::vector<std::string_view>& arguments);

/// Serves HTTP only, until SIGTERM or SIGINT.
int serve(server& s, const settings& with);

}  // namespace keel::subject
