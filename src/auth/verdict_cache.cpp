#include "auth/verdict_cache.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::auth {

const token_verdict* verdict_cache::find(std::string_view digest, unix_time now) {
    const auto found = index_.find(digest);
    if (found == index_.end()) return nullptr;
    const auto at = found->second;
    if (now >= at->verdict.until) {
        index_.erase(found);
        used_.erase(at);
        return nullptr;
    }
    used_.splice(used_.begin(), used_, at);
    return &at->verdict;
}

void verdict_cache::add(std::string_view digest, token_verdict v) {
    if (most_ == 0) return;
    if (const auto found = index_.find(digest); found != index_.end()) {
        found->second->verdict = std::move(v);
        used_.splice(used_.begin(), used_, found->second);
        return;
    }
    if (used_.size() == most_) {
        index_.erase(used_.back().digest);
        used_.pop_back();
    }
    used_.push_front({std::string(digest), std::move(v)});
    index_.emplace(used_.front().digest, used_.begin());
}

}  // namespace keel::auth
