#pragma once

// What a session of a client reports to its client.

#include <keel/json.hpp>
#include <keel/task.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

class client_session;
using session_ptr = std::shared_ptr<client_session>;

/// Callbacks of a client_session. Called on the loop.
class session_user {
public:
    /// Answers a request from the server. Returns the result. Throws keel::error for an error response.
    virtual task<json::value> answer(client_session& from, std::string method, json::value params,
                                     std::stop_token token) = 0;
    virtual void on_notification(client_session& from, std::string_view method, const json::value& params) = 0;
    /// No more requests can be sent on this session, though it may not have ended yet.
    virtual void on_connection_lost(const client_session& which) noexcept = 0;
    /// The HTTP session has expired on the server; see link_user::on_session_lost.
    virtual void on_session_expired(session_ptr which) = 0;
    virtual void on_session_ended(client_session& which, const std::string& cause) = 0;

protected:
    ~session_user() = default;
};

}  // namespace keel::client_side
