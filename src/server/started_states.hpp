#pragma once

// The objects that the start hooks returned.

#include <keel/middleware.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// Shared by the server and the contexts of its requests, so that an abandoned handler can still use its objects.
class started_states {
public:
    started_states() = default;
    started_states(const started_states&) = delete;
    started_states& operator=(const started_states&) = delete;
    ~started_states() { release(); }

    void add(detail::started_state s) {
        std::lock_guard lock(mutex_);
        if (s.object) all_.push_back(std::move(s));
    }
    /// Returns the newest object of a type, or nullptr.
    void* find(detail::type_key type) const noexcept {
        std::lock_guard lock(mutex_);
        for (auto at = all_.rbegin(); at != all_.rend(); ++at) {
            if (at->type == type) return at->object.get();
        }
        return nullptr;
    }
    /// Releases all objects, the newest first.
    void release() noexcept {
        std::vector<detail::started_state> all;
        {
            std::lock_guard lock(mutex_);
            all.swap(all_);
        }
        while (!all.empty()) all.pop_back();  // a vector would destroy the oldest first
    }

private:
    mutable std::mutex mutex_;  // a saved context may call find() on any thread, even after the server has stopped
    std::vector<detail::started_state> all_;
};

}  // namespace keel::server_side
