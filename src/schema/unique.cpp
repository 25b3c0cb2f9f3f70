// "uniqueItems" without comparing all pairs.

#include "json/key_index.hpp"
#include "schema/runner.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace keel::inline KEEL_ABI::validation {

namespace {

constexpr std::size_t pairwise_limit = 12;

std::uint64_t mixed(std::uint64_t h) noexcept {
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/// Equal numbers have the same hash, whatever their kind.
std::uint64_t hash_of_number(const json::value& v) noexcept {
    if (v.is_integer()) {
        const auto n = v.if_int();
        return mixed(n ? static_cast<std::uint64_t>(*n) : *v.if_uint());
    }
    const double d = *v.if_double();
    if (is_integral(v)) {
        if (d >= -0x1p63 && d < 0x1p63) return mixed(static_cast<std::uint64_t>(static_cast<std::int64_t>(d)));
        if (d >= 0 && d < 0x1p64) return mixed(static_cast<std::uint64_t>(d));
    }
    return mixed(std::bit_cast<std::uint64_t>(d));
}

}  // namespace

/// Counts as work. Values nested deeper than the limit are rejected.
std::uint64_t runner::hash(const json::value& v, std::size_t depth) {
    if (depth == 0) stop("nested too deeply");
    if (stopped_ || !spend(1)) return 0;
    switch (v.type()) {
        case json::kind::null: return 1;
        case json::kind::boolean: return *v.if_bool() ? 2 : 3;
        case json::kind::integer:
        case json::kind::unsigned_integer:
        case json::kind::real: return hash_of_number(v);
        case json::kind::string: {
            const std::string_view text = *v.if_string();
            return spend(text.size() / 64) ? json::detail::hash_of(text) : 0;
        }
        case json::kind::array: {
            std::uint64_t h = 5;
            for (const json::value& item : v.items()) h = mixed(h) + hash(item, depth - 1);
            return mixed(h);
        }
        case json::kind::object: {
            std::uint64_t h = 7;  // a sum, because the order of members does not matter
            for (const json::member& m : v.members()) {
                if (!spend(m.key().size() / 64)) return 0;
                h += mixed(json::detail::hash_of(m.key()) + mixed(hash(m.content, depth - 1)));
            }
            return mixed(h);
        }
    }
    return 0;
}

/// Counts as work only if it is deep: otherwise hashing has already counted it, or there are few items.
bool runner::equal(const json::value& a, const json::value& b) {
    const bool deep = a.type() >= json::kind::string && a.type() == b.type() &&
                      (a.is_string() ? a.if_string()->size() == b.if_string()->size() : a.size() == b.size());
    if (deep) {
        hash(a, depth_ + 1);  // for its cost
        if (stopped_) return true;
    }
    return a == b;
}

bool runner::all_different(std::span<const json::value> items) {
    if (items.size() <= pairwise_limit) {
        for (std::size_t i = 1; i != items.size(); ++i) {
            for (std::size_t j = 0; j != i; ++j) {
                if (equal(items[i], items[j])) return false;
            }
        }
        return true;
    }
    struct entry {
        std::uint64_t hash;
        std::size_t place;
    };
    std::vector<entry> all(items.size());
    for (std::size_t i = 0; i != items.size(); ++i) all[i] = {hash(items[i], depth_ + 1), i};
    if (stopped_) return false;
    std::ranges::sort(all, {}, &entry::hash);
    // Items with equal hashes are compared pairwise, which counts as work and is therefore limited.
    for (std::size_t first = 0; first != all.size();) {
        std::size_t end = first + 1;
        while (end != all.size() && all[end].hash == all[first].hash) ++end;
        for (std::size_t i = first + 1; i < end; ++i) {
            for (std::size_t j = first; j != i; ++j) {
                if (!spend(1) || equal(items[all[i].place], items[all[j].place])) return false;
            }
        }
        first = end;
    }
    return true;
}

}  // namespace keel::validation
