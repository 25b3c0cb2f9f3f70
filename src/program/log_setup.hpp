#pragma once

// The log and the access log of a server program, as set on its command line.

#include "program/foreground.hpp"

#include <keel/http_server.hpp>

#include <string>

namespace keel::inline KEEL_ABI::program {

struct log_settings {
    log_format format = log_format::text;
    std::string file = {};         // "": standard error
    std::string access_file = {};  // "": none; "-": standard output
};

/// Opens the files; SIGHUP reopens them. Throws std::system_error if that fails. `name` is the name of the server.
void set_up_logs(const log_settings& how, const std::string& name, foreground_options& serving, http_options& http);

}  // namespace keel::program
