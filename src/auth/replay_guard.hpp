#pragma once

// Remembers the ids of DPoP proofs, so that each proof is accepted once (RFC 9449, section 11.1).

#include "auth/jwt.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

/// Thread-safe: connections on all threads share one. The table is divided into parts with a lock each.
class replay_guard {
public:
    enum class verdict : unsigned char { fresh, replayed, full };

    /// At most `max_entries` ids at a time; the memory grows with use, 24 bytes an entry.
    explicit replay_guard(std::size_t max_entries = std::size_t{1} << 20);

    /// Notes an id until `until`. `full`: the table has no room; the request must be refused, because a replay would not be noticed.
    verdict note(std::string_view key_thumbprint, std::string_view id, unix_time until, unix_time now);
    std::size_t size() const;

private:
    struct entry {
        std::array<std::uint64_t, 2> digest;
        std::int64_t until;  // 0: free
    };
    static_assert(sizeof(entry) == 24);

    struct part {
        mutable std::mutex lock;   // between the threads of the server
        std::vector<entry> table;  // open addressing; its size is a power of two
        std::size_t used = 0;
        std::int64_t next_sweep = 0;
    };
    static constexpr std::size_t parts = 16;

    static void insert(std::vector<entry>& table, const entry& e) noexcept;
    static void rebuild(part& p, std::size_t size, std::int64_t now);

    const std::size_t most_per_part_;
    std::array<part, parts> parts_;
};

}  // namespace keel::auth
