#pragma once

// Decides by the head of a request whether it is served, so that the body of a refused request is never read.

#include <keel/version.hpp>

namespace keel::inline KEEL_ABI::http {

class http_connection;
struct request;

/// Checks Origin and Host, authentication, HTTP method and media types, in the order of docs/rules/protocol.md#order-of-checks.
/// Returns false if it has responded: the request was refused, or it was a CORS preflight. Needs no body. Call it once per request.
bool admit(http_connection& c, const request& r);

/// True if an admitted request is answered by its head alone, such as one for a page.
bool needs_no_body(const http_connection& c, const request& r);

}  // namespace keel::http
