#pragma once

// Access tokens in the form of JWTs (RFC 7519, RFC 9068, RFC 8725): reading and checking the claims.

#include "auth/jws.hpp"
#include "auth/scopes.hpp"

#include <keel/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

using unix_time = std::chrono::sys_seconds;

/// The claims of an access token.
struct token_claims {
    std::string issuer = {};
    std::string subject = {};    // `sub`; the client id if there is none
    std::string client_id = {};  // `client_id` or `azp`; "" if there is none
    std::vector<std::string> audience = {};
    scope_set scopes = {};  // `scope` or `scp`, a string or a list
    unix_time expires_at = {};
    std::optional<unix_time> not_before = {};
    std::optional<unix_time> issued_at = {};
    /// The thumbprint of the key that the token is bound to (`cnf.jkt`); nullopt: a bearer token.
    std::optional<std::string> key_thumbprint = {};
    json::value all = {};
};

/// Reads the claims of an access token. Returns nullopt, and the reason in `problem`, if a claim has the wrong type, `exp`, `iss` or
/// both `sub` and the client id are missing, `typ` is that of another kind of token, or the token is bound in a way that Keel does not
/// support (such a token must not be used as a bearer token).
std::optional<token_claims> read_claims(const compact_jws&, std::string& problem);

/// What a resource server accepts.
struct token_rules {
    std::vector<std::string> issuers = {};
    std::vector<std::string> audiences = {};  // the token must be for one of them
    std::chrono::seconds leeway = std::chrono::seconds(60);
};

enum class token_fault : unsigned char { none, wrong_issuer, wrong_audience, expired, not_yet_valid };

/// Issuer and audience are compared byte by byte (AUS-04). A token is expired from `exp` plus the leeway on.
token_fault check_claims(const token_claims&, const token_rules&, unix_time now);

}  // namespace keel::auth
