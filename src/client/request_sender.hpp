#pragma once

// Sends requests and notifications to the server: single requests, requests with rounds of input requests (2026-07-28), and requests
// whose results may be cached.

#include "client/outgoing_request.hpp"
#include "client/session_user.hpp"
#include "rpc/peer.hpp"

#include <keel/client.hpp>

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

class client_environment;
class connection_manager;
class open_elicitations;
class response_cache;
class server_request_handler;

/// Throws keel::error of kind unavailable, with the code of an unknown method, if the server has not declared the capability (LIFE-04).
/// "": no capability is needed.
void require_feature(const client_session& s, std::string_view feature);

/// Owned by detail::client_engine; used on its loop only. The caller must keep the client and the outgoing_request alive until the task
/// ends. Results are borrowed: copy them before the next co_await.
class request_sender {
public:
    request_sender(const client_environment& environment, connection_manager& connections,
                   server_request_handler& handler, open_elicitations& elicitations, response_cache& cache) noexcept
        : environment_(environment), connections_(connections), handler_(handler), elicitations_(elicitations),
          cache_(cache) {}
    request_sender(const request_sender&) = delete;
    request_sender& operator=(const request_sender&) = delete;

    /// The current connection, or a new one. Throws keel::error, of kind timed_out if the deadline of `what` passes first.
    task<session_ptr> ready(const outgoing_request& what);
    /// Sends one request and returns its result as received. Throws keel::error. `members` replace those of the request.
    task<json::value> send(session_ptr s, outgoing_request& what, std::string_view members);
    task<json::value> send(session_ptr s, outgoing_request& what) { return send(std::move(s), what, what.members); }
    /// The same; answers the server's input requests until there is a complete result.
    task<json::value> send_in_rounds(session_ptr s, outgoing_request& what, bool* asked_back = nullptr);
    /// Sends one round and returns the server's input requests instead of answering them.
    task<request_round> send_once(session_ptr s, outgoing_request& what, round_answers answers);
    /// The same as send_in_rounds, from the cache if possible. `params` are part of the cache key.
    task<json::value> send_cached(session_ptr s, outgoing_request& what, json::value params);
    /// Dropped if there is no connection.
    void notify(std::string_view method, const json::value& params);

private:
    /// `calculator: tools/call "add": no answer within 5 s (call_options::total)`.
    keel::error timeout_error(const outgoing_request& what, rpc::time_limit limit, const char* missing) const;
    void report_invalid_hints(std::string_view method, const json::value& result);

    const client_environment& environment_;
    connection_manager& connections_;
    server_request_handler& handler_;
    open_elicitations& elicitations_;
    response_cache& cache_;
    bool invalid_hints_reported_ = false;
};

}  // namespace keel::client_side
