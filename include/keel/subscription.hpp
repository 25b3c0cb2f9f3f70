#pragma once

// Subscriptions: notifications about changes at a server.

#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI {

struct KEEL_API subscription_request {
    bool tools = false;
    bool prompts = false;
    bool resources = false;         // the list of resources
    std::vector<std::string> uris;  // the contents of these resources

    subscription_request() = default;
};

struct KEEL_API change {
    enum class kind : unsigned char { tools, prompts, resources, resource };
    kind what = kind::tools;
    std::string uri = {};  // if `what` is resource
};

/// Why a subscription ended.
enum class subscription_end : unsigned char {
    none,   // it has not ended
    ended,  // the server ended it, or stop() was called
    lost,   // the connection was lost: subscribe again, and fetch everything again
};

namespace client_side {
class subscription_state;  // src/client/subscription_state.hpp
}

/// A subscription to changes; the destructor ends it.
///
/// Changes wait in a queue and are merged there: two changes of one resource become one, and if thousands of resources have
/// changed, one change of kind `resources` stands for all of them. HTTP before 2026-07-28: a broken stream is reopened while the
/// session lasts, and changes in between may be missed.
///
/// Thread-safe, but only one task at a time may wait in next().
class KEEL_API subscription {
public:
    subscription() = default;
    explicit subscription(std::shared_ptr<client_side::subscription_state> s) noexcept : state_(std::move(s)) {}
    subscription(subscription&&) noexcept = default;
    subscription& operator=(subscription&&) noexcept;
    ~subscription();

    /// The changes that the server agreed to report, possibly fewer than requested.
    subscription_request agreed() const;
    /// Waits for the next change. Returns nullopt if the subscription has ended; how_ended() tells why.
    /// Cancellation: no change is lost.
    task<std::optional<change>> next();
    subscription_end how_ended() const;
    /// The reason why the subscription was lost, as text for the user.
    std::string why_lost() const;
    /// Ends the subscription. Idempotent.
    void stop();

private:
    std::shared_ptr<client_side::subscription_state> state_;
};

}  // namespace keel
