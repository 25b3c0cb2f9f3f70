#pragma once

// HTTP error responses that are not JSON-RPC errors.

#include <keel/error.hpp>

#include <string>

namespace keel::command {

bool is_http_error(const error& e) noexcept;
/// "HTTP 404 Not Found" and the first line of the body, if the body is plain text.
std::string http_error_text(const error& e);

}  // namespace keel::command
