#pragma once

// The cache hints of a result, `ttlMs` and `cacheScope` (2026-07-28). Servers send invalid ones, which must not make the result useless:
// decoding never fails, and read_cache_hints tells whether the result may be cached.

#include <keel/decode_error.hpp>
#include <keel/json.hpp>

#include <chrono>
#include <cstdint>

namespace keel::inline KEEL_ABI::protocol {

/// Decoded from an invalid `ttlMs`: 0.
struct cache_ttl {
    std::int64_t ms = 0;
    bool operator==(const cache_ttl&) const = default;
};
json::value keel_encode(cache_ttl from);
bool keel_decode(const json::value& from, cache_ttl& into, decode_error& error);

/// Decoded from an invalid `cacheScope`: private.
struct cache_scope {
    bool everyone = false;
    bool operator==(const cache_scope&) const = default;
};
json::value keel_encode(cache_scope from);
bool keel_decode(const json::value& from, cache_scope& into, decode_error& error);

struct cache_hints {
    bool valid = true;                // both are absent or valid
    std::chrono::milliseconds ttl{};  // zero: do not cache
};
cache_hints read_cache_hints(const json::value& result) noexcept;

}  // namespace keel::protocol
