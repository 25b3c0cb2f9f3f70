#pragma once

// From an HTTP request to whoever answers it: the rules of HTTP that come before any message is served.

#include "http/request_reader.hpp"

namespace keel::inline KEEL_ABI::http {

class http_connection;

/// Answers now, or sees to it that somebody will.
void handle(http_connection& c, const request& r);

/// A refusal that belongs to no message: an error without an id.
void respond_error(http_connection& c, int status, const char* reason);

/// The program's own pages, and ours beside the protocol: what this is, health, metrics. False: there is no such page.
bool serve_page(http_connection& c, const request& r);

}  // namespace keel::http
