#pragma once

// Bounds and options that the command line of a server does not offer, by their names: `session_idle=200`.

#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace keel::subject {

struct settings {
    std::string address;  // "": keel::main serves, as it likes
    server_options server = {};
    http_options http = {};
};

/// `--http-with HOST:PORT NAME=VALUE…`; anything else is for keel::main. Durations are in milliseconds. Throws
/// std::invalid_argument for a name that is unknown.
settings read_settings(const std::vector<std::string_view>& arguments);

/// Serves by HTTP alone until SIGTERM or SIGINT.
int serve(server& s, const settings& with);

}  // namespace keel::subject
