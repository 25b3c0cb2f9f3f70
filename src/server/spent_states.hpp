#pragma once

// The used states of multi-round requests, if each may be used only once.

#include <keel/version.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace keel::inline KEEL_ABI::server_side {

/// Thread-safe.
class spent_states {
public:
    using nonce = std::array<unsigned char, 12>;

    /// Returns true the first time. `until`: when the state expires and can be forgotten.
    bool spend(const nonce& which, std::int64_t now, std::int64_t until) {
        std::lock_guard lock(mutex_);
        while (!by_time_.empty() && (by_time_.begin()->first < now || by_time_.size() >= most)) {
            seen_.erase(by_time_.begin()->second);
            by_time_.erase(by_time_.begin());
        }
        if (!seen_.insert(which).second) return false;
        by_time_.emplace(until, which);
        return true;
    }

private:
    // States are created only by calls that ran and expire soon, so this limit is far above normal use.
    static constexpr std::size_t most = 1'000'000;

    std::mutex mutex_;
    std::set<nonce> seen_;
    std::multimap<std::int64_t, nonce> by_time_;
};

}  // namespace keel::server_side
