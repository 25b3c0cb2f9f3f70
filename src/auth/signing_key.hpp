#pragma once

// Private keys: client assertions (private_key_jwt) and DPoP proofs.

#include "auth/jwk.hpp"

#include <keel/secret.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// A private key. Immutable and cheap to copy; copies can be used on any thread.
class signing_key {
public:
    /// Reads an unencrypted private key in PEM (PKCS #8, PKCS #1 or SEC 1): RSA (2048 to 8192 bits), EC or Ed25519. Throws
    /// std::invalid_argument; the message does not contain the key.
    static signing_key from_pem(const secret& pem);
    /// A new key for ES256. Throws std::runtime_error if OpenSSL fails.
    static signing_key make_es256();

    /// PKCS #8 in PEM, for storage.
    secret pem() const;
    const public_key& public_part() const noexcept { return public_; }
    /// RS256 for RSA, ES256/384/512 by curve, EdDSA.
    algorithm default_algorithm() const noexcept;
    bool fits(algorithm a) const noexcept { return public_.fits(a); }
    /// The signature in the form of JWS. Throws std::invalid_argument if the algorithm does not fit the key.
    std::string sign(algorithm, std::string_view text) const;

private:
    explicit signing_key(std::shared_ptr<evp_pkey_st> key);

    std::shared_ptr<evp_pkey_st> key_;  // shared by all copies
    public_key public_;
};

}  // namespace keel::auth
