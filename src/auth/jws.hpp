#pragma once

// JSON Web Signatures in their compact form (RFC 7515).

#include "auth/jwk.hpp"
#include "auth/signing_key.hpp"

#include <keel/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// A parsed but unverified signature. The views refer to the parsed text.
struct compact_jws {
    algorithm signed_with = algorithm::rs256;
    std::string key_id = {};  // `kid`; "" if there is none
    std::string type = {};    // `typ`; "" if there is none
    json::value header = {};
    std::string payload = {};
    std::string_view signed_text = {};
    std::string signature = {};
};

/// Parses `header.payload.signature`: three parts in canonical base64url, at most `max_size` bytes, the header an object with a
/// supported `alg`. Rejects `crit` and `b64`: Keel knows no extension that must be understood. Returns nullopt, and the reason in
/// `problem`; the reason contains nothing of the text.
std::optional<compact_jws> parse_jws(std::string_view text, std::size_t max_size, std::string& problem);

enum class jws_verdict : unsigned char { valid, invalid, unknown_key };

/// Verifies with the keys that the set has for it. The header's own hints where to find a key (jwk, jku, x5c, x5u) are never used.
/// `unknown_key`: the set has no key with this `kid`; a newer set may have it. `signer`, if given, is set to the key of a valid signature.
jws_verdict verify_jws(const compact_jws&, const key_set&, const algorithm_set& allowed,
                       const public_key** signer = nullptr);

/// Signs a payload. `header` gets `alg`.
std::string write_jws(json::value header, std::string_view payload, const signing_key&, algorithm);

}  // namespace keel::auth
