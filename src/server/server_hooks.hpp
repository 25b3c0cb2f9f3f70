#pragma once

// The start and stop hooks of a server.

#include "server/server_core.hpp"

#include <keel/middleware.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// Runs the hooks once per start of the server, and releases the objects that the start hooks returned. Owned by server::impl. Safe to
/// call from any thread; a second caller waits until the hooks have run. Functions that a hook must not call throw
/// std::logic_error in it.
class server_hooks {
public:
    /// `core` must outlive this object.
    explicit server_hooks(server_core& core) noexcept : core_(core) {}

    // Both throw std::logic_error while the server is running, and in a hook.
    void add_start(std::function<detail::started_state()> hook);
    void add_stop(std::function<void()> hook);

    /// Runs the start hooks if they have not run. Rethrows their exceptions.
    void start();
    /// Runs the stop hooks and releases the objects. Idempotent.
    void finish();
    /// A loop ended before its sessions, so their handlers may still run: `finish` leaves the objects to them.
    void handlers_lost() noexcept { handlers_lost_ = true; }

    /// Throws std::logic_error if called in a hook, where `what` would wait for itself.
    void refuse_in_hook(const char* what) const;
    /// Throws std::logic_error in a hook, and once the start hooks have run.
    void refuse_while_running(const char* what);

private:
    void refuse_if_begun(const char* what) const;

    server_core& core_;
    std::mutex mutex_;  // serializes start and finish; guards the members below that are not atomic
    std::vector<std::function<detail::started_state()>> start_hooks_;
    std::vector<std::function<void()>> stop_hooks_;
    bool begun_ = false;
    std::uint64_t abandoned_before_ = 0;  // number of abandoned handlers at the start
    std::atomic<bool> handlers_lost_ = false;
    std::atomic<std::thread::id> thread_{};  // the thread that runs hooks
};

}  // namespace keel::server_side
