#pragma once

// Keys as JSON (RFC 7517): public keys that verify signatures, and key sets.

#include "auth/algorithm.hpp"

#include <keel/json.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;  // EVP_PKEY

namespace keel::inline KEEL_ABI::auth {

/// A public key. Immutable and cheap to copy; copies can be used on any thread.
class public_key {
public:
    /// Reads a JWK: RSA (2048 to 8192 bits), EC (P-256, P-384, P-521) or OKP (Ed25519). Private members are ignored. Returns nullopt,
    /// and the reason in `problem`, if the key is invalid, of another type, or not for signatures (`use`, `key_ops`).
    static std::optional<public_key> from_jwk(const json::value& jwk, std::string& problem);

    /// `kid`; "" if the key has none.
    const std::string& id() const noexcept { return id_; }
    /// True if the type and curve of the key fit the algorithm, and its `alg`, if present, is this one.
    bool fits(algorithm) const noexcept;
    /// Verifies a signature in the form of JWS (ECDSA: r and s, each of the full length). False for every other signature.
    bool verify(algorithm, std::string_view text, std::string_view signature) const;
    /// RFC 7638: base64url of the SHA-256 of the required members.
    const std::string& thumbprint() const noexcept { return thumbprint_; }
    /// The required members only: the form for the header of a DPoP proof.
    json::value jwk() const;

private:
    friend class signing_key;
    enum class family : unsigned char { rsa, p256, p384, p521, ed25519 };
    static public_key from_native(std::shared_ptr<evp_pkey_st> key);
    static std::string canonical(evp_pkey_st*, family);

    public_key() = default;

    std::shared_ptr<evp_pkey_st> key_;  // shared by all copies; OpenSSL reads it only
    family family_ = family::rsa;
    std::optional<algorithm> only_;  // `alg`
    std::string id_;
    std::string canonical_;  // the required members in lexicographic order, without spaces (RFC 7638)
    std::string thumbprint_;
};

/// A set of public keys (RFC 7517, section 5).
class key_set {
public:
    static constexpr std::size_t max_keys = 32;

    /// Reads a JWK set. Keys that Keel cannot use are skipped, as the RFC requires, and so are those after max_keys usable ones. Returns
    /// nullopt, and the reason in `problem`, if the document is not a JWK set.
    static std::optional<key_set> parse(std::string_view text, std::string& problem);

    /// The keys that may have made a signature: those with this `kid`, else those without a `kid`. Without `kid`: all that fit.
    std::vector<const public_key*> candidates(algorithm, std::string_view kid) const;
    const std::vector<public_key>& keys() const noexcept { return keys_; }
    bool contains(std::string_view thumbprint) const noexcept;

private:
    std::vector<public_key> keys_;
};

}  // namespace keel::auth
