#pragma once

// Finds members of large objects by name in O(log n), for any names.

#include <keel/json.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace keel::inline KEEL_ABI::json::detail {

/// Up to this many members, linear search is faster than an index.
inline constexpr std::size_t few_members = 32;

/// No secret seed is necessary: colliding names only cost more comparisons, see key_index.
inline std::uint64_t hash_of(std::string_view key) noexcept {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    std::uint64_t h = key.size() * odd;
    const auto mix = [&](std::uint64_t word) { h = std::rotl((h ^ word) * odd, 29); };
    const char* p = key.data();
    std::size_t n = key.size();
    for (; n >= 8; p += 8, n -= 8) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        mix(word);
    }
    std::uint64_t rest = 0;
    for (; n != 0; --n) rest = rest << 8 | static_cast<unsigned char>(*p++);
    mix(rest);
    return h ^ h >> 32;
}

/// The indices of the members, sorted by hash, then name, then index. A hash table would be faster on average, but this
/// has no bad case: names with the same hash cost a few more comparisons each, never a quadratic search.
class key_index {
public:
    struct entry {
        std::uint64_t hash;
        std::size_t place;
    };

    /// Returns false if there is no memory.
    [[nodiscard]] bool build(std::span<const member> members) noexcept {
        entries_.reset(new (std::nothrow) entry[members.size()]);
        if (!entries_) return false;
        members_ = members;
        for (std::size_t i = 0; i != members.size(); ++i) entries_[i] = {hash_of(members[i].key()), i};
        std::sort(entries_.get(), entries_.get() + members.size(), [&](const entry& a, const entry& b) {
            if (a.hash != b.hash) return a.hash < b.hash;
            if (const int order = members[a.place].key().compare(members[b.place].key()); order != 0) return order < 0;
            return a.place < b.place;
        });
        return true;
    }

    explicit operator bool() const noexcept { return entries_ != nullptr; }
    std::span<const entry> entries() const noexcept { return {entries_.get(), members_.size()}; }

    const member* find(std::string_view key) const noexcept {
        const std::uint64_t hash = hash_of(key);
        const auto all = entries();
        const auto at = std::lower_bound(all.begin(), all.end(), key, [&](const entry& e, std::string_view wanted) {
            if (e.hash != hash) return e.hash < hash;
            return members_[e.place].key() < wanted;
        });
        if (at == all.end() || at->hash != hash || members_[at->place].key() != key) return nullptr;
        return &members_[at->place];
    }

private:
    std::unique_ptr<entry[]> entries_;
    std::span<const member> members_;
};

}  // namespace keel::json::detail
