#pragma once

// Validates an HTTP request and passes it to the session or handler that answers it.

#include "http/request_reader.hpp"

namespace keel::inline KEEL_ABI::http {

class http_connection;

/// Responds to a request whose body has not arrived if its head is enough: because it is refused, or because it is for a page.
void check_head(http_connection& c, const request& r);

/// Responds, or passes the request to a session that responds later.
void handle(http_connection& c, const request& r);

/// Responds with a JSON-RPC error without an id.
void respond_error(http_connection& c, int status, const char* reason);

/// True for the health and metrics pages, on the address that serves them.
bool is_monitor_page(const http_connection& c, const request& r);

/// Serves the pages besides the MCP endpoint: front page, health, metrics. Returns false for other paths.
bool serve_page(http_connection& c, const request& r);

}  // namespace keel::http
