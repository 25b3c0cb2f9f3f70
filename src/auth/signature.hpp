#pragma once

// Signatures of JWS on keys of OpenSSL.

#include "auth/algorithm.hpp"
#include "auth/openssl.hpp"

#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// Verifies a signature of JWS. The caller has checked that the key fits the algorithm. Returns false for every invalid signature;
/// throws std::runtime_error only if OpenSSL cannot create its objects.
bool verify_signature(EVP_PKEY* key, algorithm, std::string_view text, std::string_view signature);

/// Signs `text`. Throws std::runtime_error if OpenSSL fails.
std::string make_signature(EVP_PKEY* key, algorithm, std::string_view text);

}  // namespace keel::auth
