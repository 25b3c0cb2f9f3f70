#pragma once

// Log messages about refused HTTP requests.

#include <keel/version.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::http {

class http_connection;

/// Logs a response with status 4xx or 5xx, with the reason that the client is told. `line` is "POST /mcp", or "" if it is not known any
/// more. Conditions that an administrator can change (wrong host name, exceeded limits) are warnings, mistakes of clients are not.
void log_refusal(const http_connection& c, int status, std::string_view line, std::string_view body);

}  // namespace keel::http
