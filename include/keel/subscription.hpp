#pragma once

// Hearing of what changes at a server.

#include <keel/task.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI {

struct KEEL_API subscription_request {
    bool tools = false;
    bool prompts = false;
    bool resources = false;         // the list of them
    std::vector<std::string> uris;  // these resources

    subscription_request() = default;
};

struct KEEL_API change {
    enum class kind : unsigned char { tools, prompts, resources, resource };
    kind what = kind::tools;
    std::string uri = {};  // of a resource
};

/// Why nothing more comes.
enum class subscription_end : unsigned char {
    none,   // it goes on
    ended,  // the server has ended it, or we have
    lost,   // the connection, or its stream, is gone: subscribe again, and look at everything anew
};

namespace client_side {
class subscription_state;  // src/client/subscription_state.hpp
}

/// Changes that have not been taken are merged: what changed twice is told once; if thousands of resources change and nobody
/// takes the changes, one of kind `resources` stands for all of them. Older revisions over HTTP: a stream that broke is taken
/// up again for as long as the session lasts, and what happened meanwhile may be missed.
/// Dropping it ends it. Any thread; one task
/// at a time may wait in next().
class KEEL_API subscription {
public:
    subscription() = default;
    explicit subscription(std::shared_ptr<client_side::subscription_state> s) noexcept : state_(std::move(s)) {}
    subscription(subscription&&) noexcept = default;
    subscription& operator=(subscription&&) noexcept;
    ~subscription();

    /// What the server has agreed to tell of: perhaps less than was asked for.
    subscription_request agreed() const;
    /// Waits for the next change. Nothing: it is over, and `how_ended` says why.
    /// Cancellation: nothing is lost.
    task<std::optional<change>> next();
    subscription_end how_ended() const;
    /// The reason of a loss, for people.
    std::string why_lost() const;
    /// No more changes. Idempotent.
    void stop();

private:
    std::shared_ptr<client_side::subscription_state> state_;
};

}  // namespace keel
