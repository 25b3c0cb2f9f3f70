#pragma once

// Sessions whose client has not returned since `initialize`. They end first when a limit on sessions is reached.

#include "http/client_quotas.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace keel::inline KEEL_ABI::http {

/// Shared by the workers; thread-safe. A session leaves the list either because its client returns or because it was chosen to end,
/// never both.
class unused_sessions {
public:
    using place = std::uint64_t;
    /// Ends the session. Called on any thread.
    using end_function = std::function<void()>;

    place add(client_pair owner, end_function end) {
        std::lock_guard lock(mutex_);
        const place at = next_++;
        all_.emplace(at, entry{std::move(owner), std::move(end)});
        return at;
    }
    /// Returns false if it is not in the list (any more).
    bool remove(place at) {
        std::optional<entry> removed;  // destroyed after the lock is released
        std::lock_guard lock(mutex_);
        auto found = all_.find(at);
        if (found == all_.end()) return false;
        removed = std::move(found->second);
        all_.erase(found);
        return true;
    }
    /// Ends the oldest one; with `owner`, the oldest one of that client. Returns false if there is none.
    bool end_oldest(const client_usage* owner = nullptr) {
        std::optional<entry> oldest;
        {
            std::lock_guard lock(mutex_);
            auto at = all_.begin();
            while (owner && at != all_.end() && at->second.owner.address.get() != owner &&
                   at->second.owner.principal.get() != owner) {
                ++at;
            }
            if (at == all_.end()) return false;
            oldest = std::move(at->second);
            all_.erase(at);
        }
        oldest->end();
        return true;
    }
    std::size_t size() const {
        std::lock_guard lock(mutex_);
        return all_.size();
    }

private:
    struct entry {
        client_pair owner;
        end_function end;
    };

    mutable std::mutex mutex_;
    std::map<place, entry> all_;  // the oldest first
    place next_ = 1;
};

}  // namespace keel::http
