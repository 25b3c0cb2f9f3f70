#pragma once

// Passes a request of a revision up to 2025-11-25 to its session, which may live on another loop.

#include "http/client_quotas.hpp"
#include "http/exchange.hpp"
#include "rpc/request_id.hpp"

#include <keel/json.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

class http_worker;
class http_server_core;

struct legacy_request {
    enum class kind : unsigned char { post, listen, end };
    kind what = kind::post;
    bool old_transport = false;  // HTTP+SSE of 2024-11-05
    std::string_view session_id = {};
    std::string_view credential = {};
    std::string_view last_event_id = {};
    std::string_view body = {};
    const json::value* parsed = nullptr;  // the body, if it has been parsed
    rpc::request_id id = {};              // of the message, unless it is a batch
    std::shared_ptr<const std::string> principal = {};
    std::shared_ptr<exchange> answer = {};
    client_pair client = {};  // of a request that opens a session
};

/// Passes the request to the worker of its session; responds 404 if the session is unknown. `here` is the worker of the connection.
void hand_over(http_worker& here, const legacy_request& r);
/// Handles the first message, `initialize`: creates a session on this worker if it succeeds.
void open_session(http_worker& here, const legacy_request& r);
/// For the HTTP+SSE transport of 2024-11-05, whose session begins with its stream.
void open_old_session(http_worker& here, const legacy_request& r);

}  // namespace keel::http
