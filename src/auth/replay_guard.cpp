#include "auth/replay_guard.hpp"

#include "auth/digest.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace keel::inline KEEL_ABI::auth {

namespace {

constexpr std::size_t first_size = 64;
constexpr std::int64_t sweep_interval = 10;  // seconds

}  // namespace

replay_guard::replay_guard(std::size_t max_entries) : most_per_part_(std::max<std::size_t>(1, max_entries / parts)) {}

void replay_guard::insert(std::vector<entry>& table, const entry& e) noexcept {
    std::size_t at = e.digest[1] & (table.size() - 1);
    while (table[at].until != 0) at = (at + 1) & (table.size() - 1);
    table[at] = e;
}

/// Copies the entries that are still needed into a new table.
void replay_guard::rebuild(part& p, std::size_t size, std::int64_t now) {
    std::vector<entry> table(size);
    p.used = 0;
    for (const entry& each : p.table) {
        if (each.until <= now) continue;
        insert(table, each);
        ++p.used;
    }
    p.table = std::move(table);
}

replay_guard::verdict replay_guard::note(std::string_view key_thumbprint, std::string_view id, unix_time until,
                                         unix_time now) {
    // The thumbprint has a fixed length, so the two cannot be confused.
    const std::string digest = sha256(std::string(key_thumbprint).append(id));
    entry e{};
    std::memcpy(e.digest.data(), digest.data(), sizeof e.digest);
    e.until = until.time_since_epoch().count();
    const std::int64_t seconds = now.time_since_epoch().count();
    if (e.until <= seconds) return verdict::replayed;  // it could not be remembered

    part& p = parts_[e.digest[0] % parts];
    const std::lock_guard held(p.lock);
    if (p.table.empty()) p.table.resize(first_size);
    for (std::size_t at = e.digest[1] & (p.table.size() - 1); p.table[at].until != 0;
         at = (at + 1) & (p.table.size() - 1)) {
        if (p.table[at].digest == e.digest && p.table[at].until > seconds) return verdict::replayed;
    }
    // Expired entries stay in the table until it is rebuilt: at most every few seconds, or when it is half full.
    if (seconds >= p.next_sweep || (p.used + 1) * 2 > p.table.size()) {
        p.next_sweep = seconds + sweep_interval;
        const auto live = static_cast<std::size_t>(
            std::count_if(p.table.begin(), p.table.end(), [&](const entry& each) { return each.until > seconds; }));
        std::size_t size = first_size;
        while (size < (live + 1) * 4) size *= 2;
        rebuild(p, size, seconds);
    }
    if (p.used >= most_per_part_) return verdict::full;
    insert(p.table, e);
    ++p.used;
    return verdict::fresh;
}

std::size_t replay_guard::size() const {
    std::size_t out = 0;
    for (const part& each : parts_) {
        const std::lock_guard held(each.lock);
        out += each.used;
    }
    return out;
}

}  // namespace keel::auth
