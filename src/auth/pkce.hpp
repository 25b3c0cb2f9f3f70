#pragma once

// PKCE (RFC 7636) with S256, and other random texts of a flow.

#include <keel/secret.hpp>

#include <array>
#include <string>

namespace keel::inline KEEL_ABI::auth {

/// 32 random bytes, passed in so that flows can be replayed in tests.
using random_bytes = std::array<unsigned char, 32>;

/// From the system's random number generator. Throws std::runtime_error if it fails.
random_bytes make_random_bytes();

/// A text of 43 characters (base64url): a `code_verifier`, a `state`, a `jti`.
secret random_text(const random_bytes&);

/// BASE64URL(SHA256(verifier)).
std::string code_challenge(const secret& verifier);

}  // namespace keel::auth
