#pragma once

// An answer over HTTP that is an error, and nothing that the protocol knows.

#include <keel/error.hpp>

#include <string>

namespace keel::command {

bool is_http_refusal(const error& e) noexcept;
/// "HTTP 404 Not Found", and the first line of what came with it, if that is text for people.
std::string http_refusal(const error& e);

}  // namespace keel::command
