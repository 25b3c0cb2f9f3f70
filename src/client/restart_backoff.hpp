#pragma once

// How often a client may still reconnect, and when.

#include <keel/client.hpp>
#include <keel/loop.hpp>

#include <algorithm>
#include <chrono>

namespace keel::inline KEEL_ABI::client_side {

/// Counts the restarts since the server last answered, for the restart_policy of the client. It has no clock: callers pass the time.
/// Owned by the connection_manager; used on its loop only.
class restart_backoff {
public:
    explicit restart_backoff(const restart_policy& policy) noexcept : policy_(policy) {}

    bool allows_restart() const noexcept { return restarts_ < policy_.attempts; }
    /// The earliest time of the next restart.
    time_point next_at() const noexcept { return next_at_; }

    void restart_began() noexcept { ++restarts_; }
    /// The caller was cancelled: the outcome is unknown, so the restart does not count.
    void restart_cancelled() noexcept {
        if (restarts_ > 0) --restarts_;
    }
    /// The restart has succeeded or failed. The delay before the next one doubles each time.
    void restart_ended(time_point now) noexcept {
        if (restarts_ == 0) return;  // the server has answered
        constexpr duration longest = std::chrono::seconds(30);
        duration wait = policy_.first_wait;
        for (unsigned i = 1; i < restarts_ && wait < longest; ++i) wait *= 2;
        next_at_ = after(now, std::min(wait, longest));
    }
    /// The server has answered, or connect() has succeeded: earlier failures no longer count.
    void reset() noexcept {
        restarts_ = 0;
        next_at_ = {};
    }

private:
    const restart_policy& policy_;  // part of the options of the client
    unsigned restarts_ = 0;
    time_point next_at_{};
};

}  // namespace keel::client_side
