#pragma once

// What all sessions of a server share. Outlives each of them; sessions live on several loops.

#include "async/worker_pool.hpp"
#include "rpc/peer_core.hpp"
#include "server/tool_table.hpp"

#include <keel/server.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace keel::server_side {

struct totals {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> dropped_late{0};
    std::atomic<std::uint64_t> rejected_input{0};
    std::atomic<std::uint64_t> abandoned{0};
};

class server_core {
public:
    server_core(implementation about, server_options options);

    const implementation about;
    const server_options options;
    const std::shared_ptr<rpc::flight_budget> budget;
    server_side::totals totals;

    /// Changes whenever tools() would return another table.
    std::uint64_t tools_version() const noexcept { return tools_version_.load(std::memory_order_acquire); }
    std::shared_ptr<const tool_table> tools() const;
    void put(std::shared_ptr<const tool> t);
    bool remove(std::string_view name);

    /// Threads for handlers that may block; started when first used.
    std::shared_ptr<worker_pool> workers();
    /// The pool, if there is one already.
    std::shared_ptr<worker_pool> started_workers() const;

    void log(log_level level, std::string_view text) const noexcept;
    /// A program that is nothing but a server and has no log of its own writes to standard error. Before serving.
    void set_fallback_log(log_level least) noexcept { fallback_log_ = least; }

    /// serverInfo as older revisions know it, and the end of every result of the modern one.
    std::string info_json(protocol::revision r) const;
    const std::string& modern_tail() const noexcept { return modern_tail_; }

private:
    // add_tool and remove_tool come from any thread while sessions look tools up.
    mutable std::mutex mutex_;
    std::shared_ptr<const tool_table> tools_;
    std::atomic<std::uint64_t> tools_version_{1};
    std::shared_ptr<worker_pool> workers_;
    std::string modern_tail_;
    std::optional<log_level> fallback_log_;
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
