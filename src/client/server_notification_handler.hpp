#pragma once

// Notifications from the server: invalidates what the client remembers and calls the callbacks of the user.

#include <keel/json.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

class client_environment;
class client_session;
class open_elicitations;
class response_cache;
class tool_catalog;

/// Owned by detail::client_engine; used on its loop only.
class server_notification_handler {
public:
    server_notification_handler(const client_environment& environment, response_cache& cache, tool_catalog& tools,
                                open_elicitations& elicitations) noexcept
        : environment_(environment), cache_(cache), tools_(tools), elicitations_(elicitations) {}
    server_notification_handler(const server_notification_handler&) = delete;
    server_notification_handler& operator=(const server_notification_handler&) = delete;

    /// Progress and cancellation never arrive here: they belong to a request and are handled by its peer.
    void on_notification(client_session& from, std::string_view method, const json::value& params);

private:
    const client_environment& environment_;
    response_cache& cache_;
    tool_catalog& tools_;
    open_elicitations& elicitations_;
};

}  // namespace keel::client_side
