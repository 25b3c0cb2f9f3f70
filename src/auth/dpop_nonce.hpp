#pragma once

// Nonces of a resource server for DPoP (RFC 9449, section 9), without a table.

#include "auth/jwt.hpp"
#include "auth/pkce.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// A nonce is the HMAC of a time window. It is valid in its own window and the next one, in every process with the same key.
/// Thread-safe.
class dpop_nonces {
public:
    explicit dpop_nonces(const random_bytes& key, std::chrono::seconds window = std::chrono::minutes(1))
        : key_(key), window_(window) {}

    std::string current(unix_time now) const { return nonce_of(now.time_since_epoch() / window_); }
    bool accepts(std::string_view nonce, unix_time now) const;

private:
    std::string nonce_of(std::int64_t window) const;

    const random_bytes key_;
    const std::chrono::seconds window_;
};

}  // namespace keel::auth
