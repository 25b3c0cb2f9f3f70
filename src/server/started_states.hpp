#pragma once

// What the start hooks have made, for as long as somebody may use it.

#include <keel/middleware.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::server_side {

/// Shared by the server and by every context of the requests it serves: a handler that was abandoned keeps what it uses.
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
    /// The newest of a type; nullptr when there is none.
    void* find(detail::type_key type) const noexcept {
        std::lock_guard lock(mutex_);
        for (auto at = all_.rbegin(); at != all_.rend(); ++at) {
            if (at->type == type) return at->object.get();
        }
        return nullptr;
    }
    /// Lets go of all of them, the newest first.
    void release() noexcept {
        std::vector<detail::started_state> all;
        {
            std::lock_guard lock(mutex_);
            all.swap(all_);
        }
        while (!all.empty()) all.pop_back();  // a vector's own order is the other one
    }

private:
    mutable std::mutex mutex_;  // a context that was saved may ask on any thread, also when the server has stopped
    std::vector<detail::started_state> all_;
};

}  // namespace keel::server_side
