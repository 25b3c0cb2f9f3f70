#pragma once

// The implementation of keel::client: owns the parts and connects them.

#include "client/client_environment.hpp"
#include "client/connection_manager.hpp"
#include "client/loop_thread.hpp"
#include "client/open_elicitations.hpp"
#include "client/request_sender.hpp"
#include "client/response_cache.hpp"
#include "client/server_notification_handler.hpp"
#include "client/server_request_handler.hpp"
#include "client/session_user.hpp"
#include "client/shared_state.hpp"
#include "client/tool_catalog.hpp"

#include <keel/client.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI {
namespace detail {

/// The parts of a client. Owned by keel::client, by its sessions and by its running tasks. The parts refer to each other and to this
/// without ownership, each only to parts above it; sessions reach the parts through session_user.
///
/// Its parts are used on its loop only, except those that say otherwise.
class client_engine final : public client_side::client_environment, private client_side::session_user {
public:
    /// Throws std::invalid_argument if the options are invalid.
    client_engine(std::shared_ptr<loop> l, std::shared_ptr<client_side::connector> server, client_options given)
        : client_environment(std::move(l), std::move(server), std::move(given)), shared(options), cache(options.cache),
          elicitations(options.limits.max_uri), requests(*this, shared, elicitations),
          notifications(*this, cache, tools, elicitations), connections(*this, shared, cache, tools, *this),
          sender(*this, connections, requests, elicitations, cache) {}
    ~client_engine() = default;

    client_side::shared_state shared;  // thread-safe
    client_side::response_cache cache;
    client_side::tool_catalog tools;
    client_side::open_elicitations elicitations;
    client_side::server_request_handler requests;
    client_side::server_notification_handler notifications;
    client_side::connection_manager connections;
    client_side::request_sender sender;
    client_side::loop_thread thread;  // only of clients that were created without a loop

private:
    using client_session = client_side::client_session;
    task<json::value> answer(client_session& from, std::string method, json::value params,
                             std::stop_token token) override {
        return requests.answer(from, std::move(method), std::move(params), std::move(token));
    }
    void on_notification(client_session& from, std::string_view method, const json::value& params) override {
        notifications.on_notification(from, method, params);
    }
    void on_connection_lost(const client_session& which) noexcept override { connections.connection_lost(which); }
    void on_session_expired(client_side::session_ptr which) override { connections.renew_session(std::move(which)); }
    void on_session_ended(client_session& which, const std::string& cause) override {
        connections.session_ended(which, cause);
    }
};

}  // namespace detail

/// Access for other parts of the library.
struct client_access {
    static const std::shared_ptr<detail::client_engine>& engine(const client& c) noexcept { return c.engine_; }
    static std::shared_ptr<loop> loop_of(const client& c) noexcept { return c.engine_ ? c.engine_->on : nullptr; }
    static const std::shared_ptr<client_side::connector>& connector_of(const server_target& t) noexcept {
        return t.connector_;
    }
};

}  // namespace keel
