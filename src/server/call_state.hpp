#pragma once

// What a context refers to.

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

/// What is known of the client: of a whole connection in the older revisions, of one request in the modern one.
struct client_facts {
    protocol::revision revision = protocol::latest_legacy;
    json::value info;
    json::value capabilities;
    /// The least severe level that is sent; older revisions may change it at any time from the loop.
    std::atomic<int> log_level{static_cast<int>(keel::log_level::debug)};
    static constexpr int no_logs = 100;
    /// Older revisions: the client has said notifications/initialized. Before that it is not to be asked anything.
    std::atomic<bool> confirmed{false};
};

struct call_state {
    std::shared_ptr<rpc::request> request;
    std::shared_ptr<const client_facts> client;
    std::shared_ptr<server_side::server_core> server;
    std::shared_ptr<const server_side::started_states> states;  // null: nothing was started
    json::value meta;
    std::string method;
    std::shared_ptr<const std::string> principal;
    /// 2026-07-28, where the method may ask: what was asked and answered. On the loop only.
    std::shared_ptr<server_side::questions> questions;
};

struct context_access {
    static const std::shared_ptr<call_state>& state(const context& ctx) noexcept { return ctx.state_; }
};

}  // namespace keel::detail
