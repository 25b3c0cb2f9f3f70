#pragma once

// The state of one request that `keel::context` refers to.

#include "protocol/methods.hpp"
#include "protocol/revision.hpp"
#include "rpc/request.hpp"

#include <keel/context.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::server_side {
class server_core;
class questions;
class started_states;
}  // namespace keel::server_side

namespace keel::inline KEEL_ABI::detail {

/// Facts about the client: per connection up to 2025-11-25, per request in 2026-07-28.
struct client_facts {
    protocol::revision revision = protocol::latest_legacy;
    json::value info;
    json::value capabilities;
    /// Minimum severity of log messages to send. Up to 2025-11-25 the loop may change it at any time.
    std::atomic<int> log_level{static_cast<int>(keel::log_level::debug)};
    static constexpr int no_logs = 100;
    /// Up to 2025-11-25: the client has sent notifications/initialized. Before that the server must not send it requests.
    std::atomic<bool> confirmed{false};
};

struct call_state {
    std::shared_ptr<rpc::request> request;
    std::shared_ptr<const client_facts> client;
    std::shared_ptr<server_side::server_core> server;
    std::shared_ptr<const server_side::started_states> states;  // null: there are no start hooks
    json::value meta;
    std::string method;
    protocol::method which = protocol::method::other;  // the same as `method`
    std::shared_ptr<const std::string> principal;
    /// 2026-07-28, if the method may ask the client: questions and answers. Used on the loop only.
    std::shared_ptr<server_side::questions> questions;
};

struct context_access {
    static const std::shared_ptr<call_state>& state(const context& ctx) noexcept { return ctx.state_; }
};

}  // namespace keel::detail
