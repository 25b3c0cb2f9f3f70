#pragma once

// Requests to the endpoints of an authorization server: the grants, client authentication, and what the server answers.

#include "auth/form.hpp"
#include "auth/jwt.hpp"
#include "auth/metadata.hpp"
#include "auth/pkce.hpp"
#include "auth/scopes.hpp"
#include "auth/signing_key.hpp"

#include <keel/secret.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

/// A POST of a form to an endpoint.
struct endpoint_request {
    form fields = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
};

// ---- grants; each request names the resource (AUC-08), unless it is "" (servers of 2025-03-26) ----

endpoint_request authorization_code_request(std::string_view code, const secret& verifier,
                                            std::string_view redirect_uri, std::string_view resource);
/// Without scopes: the same as before.
endpoint_request refresh_request(const secret& refresh_token, std::string_view resource);
/// CCX-02.
endpoint_request client_credentials_request(const scope_set& scopes, std::string_view resource);
/// EMA-01: exchanges the user's ID token or SAML assertion for an ID-JAG at the identity provider. `audience` is the issuer of the
/// server's authorization server.
endpoint_request token_exchange_request(const secret& subject_token, std::string_view subject_token_type,
                                        std::string_view audience, const scope_set& scopes, std::string_view resource);
/// EMA-03, and workload identity.
endpoint_request jwt_bearer_request(const secret& assertion, const scope_set& scopes, std::string_view resource);
/// RFC 7009.
endpoint_request revocation_request(const secret& token, std::string_view token_type_hint);

inline constexpr std::string_view id_token_type = "urn:ietf:params:oauth:token-type:id_token";
inline constexpr std::string_view saml2_token_type = "urn:ietf:params:oauth:token-type:saml2";
inline constexpr std::string_view id_jag_token_type = "urn:ietf:params:oauth:token-type:id-jag";

// ---- client authentication ----

enum class client_auth_method : unsigned char { none, client_secret_basic, client_secret_post, private_key_jwt };

std::string_view name_of(client_auth_method) noexcept;
std::optional<client_auth_method> find_client_auth_method(std::string_view name) noexcept;

/// A client as one authorization server knows it.
struct client_identity {
    std::string client_id = {};
    client_auth_method method = client_auth_method::none;
    secret client_secret = {};
    std::optional<signing_key> key = {};
};

/// The first method that the client can use and the server lists: private_key_jwt with a key; client_secret_basic or client_secret_post
/// with a secret; none without. A server that lists nothing supports client_secret_basic (RFC 8414). Returns nullopt if they have no
/// method in common.
std::optional<client_auth_method> choose_auth_method(const client_identity&, const server_metadata&);

/// Adds the authentication of the client: header, fields or assertion (CCX-03, with the issuer as audience). `random` makes the `jti` of
/// an assertion.
void authenticate(endpoint_request&, const client_identity&, const server_metadata&, const random_bytes& random,
                  unix_time now);

// ---- responses ----

/// A response of a token endpoint.
struct token_response {
    secret access_token = {};
    bool dpop = false;  // `token_type` is DPoP
    std::optional<std::chrono::seconds> expires_in = {};
    std::optional<secret> refresh_token = {};
    std::optional<scope_set> scopes = {};  // nullopt: those that were requested
    std::string issued_token_type = {};    // token exchange only

    static constexpr std::size_t max_token = 16 * 1024;
    static constexpr std::chrono::seconds longest = std::chrono::hours(24 * 365);

    /// Reads a 2xx response. `token_type` is Bearer or DPoP without regard to case; `expects_id_jag`: it is N_A, and `issued_token_type`
    /// that of an ID-JAG (EMA-02). `expires_in` may be a string, as some servers send it, and is limited to a year. Returns nullopt, and
    /// the reason in `problem`; the reason contains no token.
    static std::optional<token_response> parse(std::string_view body, bool expects_id_jag, std::string& problem);
};

/// An error of an authorization server (RFC 6749, section 5.2), for messages: printable ASCII, at most 200 characters each.
struct oauth_error {
    std::string code = {};         // "invalid_grant"; "" if the body has none
    std::string description = {};  // "" if there is none

    static oauth_error parse(std::string_view body);
    /// `invalid_grant: the code has expired`; "" if there is nothing to show.
    std::string text() const;
};

/// What a registration response says (RFC 7591). Its values apply, not those that were requested.
struct registration_response {
    client_identity client = {};
    std::optional<unix_time> secret_expires_at = {};

    /// Returns nullopt, and the reason in `problem`.
    static std::optional<registration_response> parse(std::string_view body, client_auth_method requested,
                                                      std::string& problem);
};

// ---- the user's part ----

/// What must be remembered while the user is in the browser (AUC-13).
struct login_record {
    std::string issuer = {};
    bool sends_issuer = false;  // the server's metadata promises `iss`
    secret state = {};
    secret verifier = {};
    std::string redirect_uri = {};
    std::string resource = {};
    scope_set scopes = {};
};

/// The URL for the browser.
std::string authorization_url(const server_metadata&, const login_record&, std::string_view client_id);

/// What came back from the browser.
struct login_outcome {
    enum class kind : unsigned char {
        code,          // `code` is set
        denied,        // the server answered with an error: `error`
        not_ours,      // wrong or missing `state`: ignore it and continue to wait
        wrong_issuer,  // `iss` is missing or wrong: stop, and show nothing of it (AUC-14)
        malformed,     // neither code nor error, or a repeated parameter: stop
    };
    kind what = kind::malformed;
    secret code = {};
    oauth_error error = {};
};

/// AUC-13, AUC-25: checks `state` in constant time, then `iss` byte by byte, also in errors, before anything else is read.
login_outcome read_callback(std::string_view query, const login_record&);

}  // namespace keel::auth
