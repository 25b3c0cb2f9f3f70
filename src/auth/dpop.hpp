#pragma once

// DPoP (RFC 9449): proofs that the sender of a token has the private key that the token is bound to.

#include "auth/jwt.hpp"
#include "auth/signing_key.hpp"

#include <keel/secret.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::auth {

/// `htu`: the URL without query and fragment, with scheme and host in lower case and without the default port. Throws
/// std::invalid_argument for an invalid URL.
std::string dpop_url(std::string_view url);

/// The request that a proof is for.
struct dpop_request {
    std::string_view method = {};
    std::string url = {};  // from dpop_url
    /// The access token that the request carries; null for a request to a token endpoint.
    const secret* token = nullptr;
    std::string_view nonce = {};  // "" if the server has given none
};

/// A proof for one request. `id` is its `jti`: fresh random text.
std::string make_proof(const signing_key&, const dpop_request&, std::string_view id, unix_time now);

/// A valid proof.
struct dpop_proof {
    std::string thumbprint = {};  // of the key; compare with the token's `cnf.jkt`
    std::string id = {};          // `jti`; the caller rejects one that it has seen before
    std::string nonce = {};       // "" if there is none
    unix_time issued_at = {};
};

struct dpop_rules {
    algorithm_set algorithms = {algorithm::es256, algorithm::eddsa};
    std::chrono::seconds leeway = std::chrono::seconds(60);  // of `iat`, in both directions
    std::size_t max_size = 8 * 1024;
    std::size_t max_id = 256;
};

/// Checks type, signature, method, URL, time and the digest of the token. The caller compares thumbprint, id and nonce. Returns
/// nullopt, and the reason in `problem`; the reason contains nothing of the proof.
std::optional<dpop_proof> check_proof(std::string_view proof, const dpop_request&, unix_time now, const dpop_rules&,
                                      std::string& problem);

}  // namespace keel::auth
