#include "json/key_index.hpp"
#include "schema/program.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::validation {

namespace {

constexpr std::size_t linear_search_limit = 8;  // up to this size, linear search is fastest

}  // namespace

property& property_table::add(std::string_view name) {
    if (const auto known = build_.find(name); known != build_.end()) return all_[known->second];
    build_.emplace(name, static_cast<index>(all_.size()));
    return all_.emplace_back(property{std::string(name), none, false});
}

void property_table::finish() {
    build_.clear();
    required_ = static_cast<std::size_t>(std::ranges::count_if(all_, &property::required));
    if (all_.size() <= linear_search_limit) return;
    by_hash_.reserve(all_.size());
    for (std::size_t i = 0; i != all_.size(); ++i) {
        by_hash_.push_back({json::detail::hash_of(all_[i].name), static_cast<index>(i)});
    }
    std::ranges::sort(by_hash_, [&](const entry& a, const entry& b) {
        return a.hash != b.hash ? a.hash < b.hash : all_[a.place].name < all_[b.place].name;
    });
}

const property* property_table::search(std::string_view name, std::size_t& next) const noexcept {
    if (all_.size() <= linear_search_limit) {
        for (std::size_t i = 0; i != all_.size(); ++i) {
            if (all_[i].name == name) {
                next = i + 1;
                return &all_[i];
            }
        }
        return nullptr;
    }
    const std::uint64_t hash = json::detail::hash_of(name);
    const auto at = std::lower_bound(by_hash_.begin(), by_hash_.end(), hash, [&](const entry& e, std::uint64_t h) {
        return e.hash != h ? e.hash < h : all_[e.place].name < name;
    });
    if (at == by_hash_.end() || at->hash != hash || all_[at->place].name != name) return nullptr;
    next = at->place + std::size_t{1};
    return &all_[at->place];
}

}  // namespace keel::validation
