#pragma once

// The URL elicitations that the server has not reported as complete.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

/// Owned by detail::client_engine; used on its loop only.
class open_elicitations {
public:
    /// Longer ids are ignored.
    explicit open_elicitations(std::size_t max_length) noexcept : max_length_(max_length) {}

    void add(std::string id) {
        // A server may never report an elicitation as complete, so the oldest ids are dropped.
        if (id.size() > max_length_ || std::ranges::count(ids_, id) > 0) return;
        if (ids_.size() == max_ids) ids_.pop_front();
        ids_.push_back(std::move(id));
    }
    /// Returns false for an unknown id.
    bool complete(std::string_view id) { return std::erase(ids_, id) > 0; }

private:
    static constexpr std::size_t max_ids = 1000;

    const std::size_t max_length_;
    std::deque<std::string> ids_;
};

}  // namespace keel::client_side
