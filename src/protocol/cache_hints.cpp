#include "protocol/cache_hints.hpp"

#include <cmath>
#include <optional>

namespace keel::inline KEEL_ABI::protocol {

namespace {

/// A non-negative integer below 2^63; also written as 1000.0.
std::optional<std::int64_t> ttl_of(const json::value& v) noexcept {
    std::optional<std::int64_t> ms = v.if_int();
    if (!ms) {
        const double real = v.if_double().value_or(-1);
        if (real >= 0 && real < 0x1p63 && std::trunc(real) == real) ms = static_cast<std::int64_t>(real);
    }
    return ms && *ms >= 0 ? ms : std::nullopt;
}

std::optional<cache_scope> scope_of(const json::value& v) noexcept {
    const auto name = v.if_string();
    if (name == "public") return cache_scope{.everyone = true};
    if (name == "private") return cache_scope{};
    return std::nullopt;
}

}  // namespace

json::value keel_encode(cache_ttl from) { return from.ms; }

bool keel_decode(const json::value& from, cache_ttl& into, decode_error&) {
    into.ms = ttl_of(from).value_or(0);
    return true;
}

json::value keel_encode(cache_scope from) { return from.everyone ? "public" : "private"; }

bool keel_decode(const json::value& from, cache_scope& into, decode_error&) {
    into = scope_of(from).value_or(cache_scope{});
    return true;
}

cache_hints read_cache_hints(const json::value& result) noexcept {
    cache_hints hints;
    if (const json::value* scope = result.find("cacheScope")) hints.valid = scope_of(*scope).has_value();
    const json::value* ttl = result.find("ttlMs");
    if (!ttl) return hints;
    const std::optional<std::int64_t> ms = ttl_of(*ttl);
    hints.valid = hints.valid && ms;
    if (hints.valid) hints.ttl = std::chrono::milliseconds(*ms);
    return hints;
}

}  // namespace keel::protocol
