#pragma once

// The part of a server that all its sessions share. Outlives them; sessions live on several loops.

#include "async/worker_pool.hpp"
#include "protocol/methods.hpp"
#include "rpc/peer_core.hpp"
#include "server/method_stats.hpp"
#include "server/offers.hpp"
#include "server/registry.hpp"
#include "server/sealed_state.hpp"
#include "server/spent_states.hpp"
#include "server/started_states.hpp"
#include "server/topics.hpp"

#include <keel/server.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

struct totals {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> dropped_late{0};
    std::atomic<std::uint64_t> rejected_input{0};
    std::atomic<std::uint64_t> abandoned{0};
    /// `requests` by protocol revision; the last is for requests before the revision is known.
    std::array<std::atomic<std::uint64_t>, protocol::revision_count + 1> requests_of{};
    shared_duration_counts sessions;
};

class server_core final : public detail::work_executor {
public:
    server_core(implementation about, server_options options);

    const implementation about;
    server_options options;  // constant once the server has started
    std::shared_ptr<rpc::flight_budget> budget;
    /// Replaces the limits. Call it before serving.
    void set_limits(const limits& bounds, std::size_t max_connections);
    server_side::totals totals;
    method_stats stats;
    /// Safe to call from any thread. Without the number of connections, which is unknown here.
    server_health health() const;

    registry<tool> tools;  // see add_tool
    registry<resource_offer> resources;
    registry<template_offer> templates;
    registry<prompt_offer> prompts;
    registry<method_offer> methods;
    server_side::topics topics;
    // Constant once the server has started.
    std::vector<middleware> around;
    using notification_handler = std::function<void(std::string_view principal, const json::value& params)>;
    std::map<std::string, notification_handler, std::less<>> notifications;
    const notification_handler* find_notification(std::string_view method) const noexcept {
        auto at = notifications.find(method);
        return at == notifications.end() ? nullptr : &at->second;
    }

    /// Adds a tool and its counters.
    void add_tool(detail::tool_entry entry, bool replace);

    // Not cached: entries may be added at any time.
    bool offers_resources() const;
    bool offers_prompts() const;
    bool offers_completions() const;
    /// The capabilities, as JSON text.
    std::string capabilities(protocol::revision r) const;
    const cache_hint& hint_for(protocol::method m) const noexcept { return hints_[static_cast<std::size_t>(m)]; }

    // Multi-round requests.
    /// Created at first use: few servers ask clients, and OpenSSL is slow to initialize.
    const state_sealer& sealer() const;
    server_side::spent_states& spent_states() noexcept { return spent_states_; }
    const std::string& audience() const noexcept;

    /// The objects of the start hooks. A new set each time the server is started.
    std::shared_ptr<started_states> states() const {
        std::lock_guard lock(mutex_);
        return states_;
    }
    /// Returns the previous set.
    std::shared_ptr<started_states> set_states(std::shared_ptr<started_states> made) {
        std::lock_guard lock(mutex_);
        return std::exchange(states_, std::move(made));
    }

    /// Threads for handlers that may block; started when first used.
    std::shared_ptr<async::worker_pool> workers();
    /// Number of calls that the executors of the program (run_on) have not run or destroyed.
    std::atomic<std::size_t> waiting_for_executor{0};
    /// For on_worker in handlers. Throws keel::error if too many functions wait for a thread or the server has stopped.
    void run_on_worker(std::function<void()> work) override;
    /// The pool; null if it has not been used.
    std::shared_ptr<async::worker_pool> started_workers() const;

    /// False: messages of this level are dropped, so there is no need to build them.
    bool logs(log_level level) const noexcept { return log_sink_of().wants(level); }
    void log(log_level level, std::string_view text) const noexcept { log({.level = level, .message = text}); }
    /// Sets the time of the record.
    void log(log_record record) const noexcept;
    /// For messages that a peer can cause repeatedly: at most 20 per second (J6).
    void report(log_level level, std::string_view text) const noexcept { report({.level = level, .message = text}); }
    void report(const log_record& record) const noexcept;
    /// The log if the options have none. Call it before serving.
    void set_fallback_log(log_sink sink) { fallback_log_ = std::move(sink); }

    /// `serverInfo` in the format of the revision.
    std::string info_json(protocol::revision r) const;
    const std::string& modern_tail() const noexcept { return modern_tail_; }
    /// The member of `_meta` with the server's name and version.
    const std::string& server_info_member() const noexcept { return server_info_member_; }

private:
    const log_sink& log_sink_of() const noexcept { return options.log ? options.log : fallback_log_; }

    // Guards workers_ and states_.
    mutable std::mutex mutex_;
    std::shared_ptr<started_states> states_;
    std::array<cache_hint, protocol::method_count> hints_;
    mutable std::mutex report_mutex_;  // guards reports_ and reports_left_out_
    mutable rpc::rate_limiter reports_{20};
    mutable std::uint64_t reports_left_out_ = 0;
    mutable std::once_flag sealer_once_;
    mutable std::unique_ptr<const state_sealer> sealer_;
    server_side::spent_states spent_states_;
    std::shared_ptr<async::worker_pool> workers_;
    std::string modern_tail_;
    std::string server_info_member_;
    log_sink fallback_log_;
};

/// True while this thread runs a handler of that server.
bool in_handler_of(const server_core& s) noexcept;

/// Marks the current thread as running a handler.
class handler_mark {
public:
    explicit handler_mark(const server_core& s) noexcept;
    handler_mark(const handler_mark&) = delete;
    handler_mark& operator=(const handler_mark&) = delete;
    ~handler_mark();

private:
    const server_core* before_;
};

}  // namespace keel::server_side
