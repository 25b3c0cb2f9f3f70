#pragma once

// What a keel::subscription and the engine behind it share: changes that nobody has taken yet, and the end.

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

/// Two owners that end at different times: the user's subscription (and a task that waits in it), and the engine.
///
/// What changed twice is told once. If nobody takes changes while thousands of resources change (max_uris of them, or max_bytes of
/// their names), the single ones are dropped for one change of kind `resources`: everything is to be looked at anew, which is true,
/// and takes no more memory.
///
/// Threads: any; the engine's loop and the loop of whoever waits meet here.
class subscription_state {
public:
    static constexpr std::size_t max_uris = 4096;
    static constexpr std::size_t max_bytes = 4 * 1024 * 1024;

    subscription_state() = default;
    subscription_state(const subscription_state&) = delete;
    subscription_state& operator=(const subscription_state&) = delete;

    // ---- the engine ----

    void set_agreed(subscription_request what);
    /// Nothing after the end.
    void push(change c);
    /// Nothing more comes; what was pushed is still delivered. The first end counts.
    void finish(subscription_end how, std::string why = {});
    /// Called once, on whatever thread, when the user wants no more: at once if that is so already. Never after finish.
    void set_on_stop(std::function<void()> tell);

    // ---- the user ----

    subscription_request agreed() const;
    subscription_end how_ended() const;
    std::string why() const;
    void stop();

    /// Cancellation: what has come stays for the next one.
    static task<std::optional<change>> next(std::shared_ptr<subscription_state> self);

private:
    class change_wait;
    struct waiting;

    bool something_to_say() const { return !changes_.empty() || end_ != subscription_end::none; }
    void collapse();
    bool keep(change c);  // under the lock; false: nothing new
    static void wake(const std::shared_ptr<waiting>& whom);
    std::optional<change> take();

    mutable std::mutex mutex_;
    std::deque<change> changes_;
    std::set<std::string> uris_;  // of those in changes_
    std::size_t uri_bytes_ = 0;
    bool all_resources_ = false;  // the change of kind `resources` that is waiting stands for every single one too
    subscription_end end_ = subscription_end::none;
    std::string why_;
    subscription_request agreed_;
    std::function<void()> on_stop_;
    bool stopped_ = false;
    std::shared_ptr<waiting> waiting_;  // null: nobody
};

}  // namespace keel::client_side
