#pragma once

// State shared by a keel::subscription and the client engine: queued changes, and how the subscription ended.

#include <keel/subscription.hpp>
#include <keel/task.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace keel::inline KEEL_ABI::client_side {

/// Has two owners with different lifetimes: the user's subscription (and a task that waits in next()), and the engine.
///
/// A repeated change is queued once. If more than max_uris resources, or max_bytes of their URIs, are queued, they are replaced by one
/// change of kind `resources` (reload everything), so memory stays bounded.
///
/// Thread-safe: the engine's loop and the loop of the waiting task both use it.
class subscription_state {
public:
    static constexpr std::size_t max_uris = 4096;
    static constexpr std::size_t max_bytes = 4 * 1024 * 1024;

    subscription_state() = default;
    subscription_state(const subscription_state&) = delete;
    subscription_state& operator=(const subscription_state&) = delete;

    // ---- the engine ----

    void set_agreed(subscription_request what);
    /// Ignored after the end.
    void push(change c);
    /// Ends the subscription; queued changes are still delivered. Only the first call counts.
    void finish(subscription_end how, std::string why = {});
    /// `tell` is called once, on any thread, when the user calls stop(): immediately if that has happened. Never after finish.
    void set_on_stop(std::function<void()> tell);

    // ---- the user ----

    subscription_request agreed() const;
    subscription_end how_ended() const;
    std::string why() const;
    void stop();

    /// Cancellation loses no change: it stays queued for the next call.
    static task<std::optional<change>> next(std::shared_ptr<subscription_state> self);

private:
    class change_wait;
    struct waiting;

    bool something_to_say() const { return !changes_.empty() || end_ != subscription_end::none; }
    void collapse();
    bool keep(change c);  // under the lock; false: already queued
    static void wake(const std::shared_ptr<waiting>& whom);
    std::optional<change> take();

    mutable std::mutex mutex_;
    std::deque<change> changes_;
    std::set<std::string> uris_;  // URIs in changes_
    std::size_t uri_bytes_ = 0;
    bool all_resources_ = false;  // the queued change of kind `resources` stands for every resource, too
    subscription_end end_ = subscription_end::none;
    std::string why_;
    subscription_request agreed_;
    std::function<void()> on_stop_;
    bool stopped_ = false;
    std::shared_ptr<waiting> waiting_;  // null: no task waits
};

}  // namespace keel::client_side
