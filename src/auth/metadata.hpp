#pragma once

// Metadata documents: protected resource (RFC 9728), authorization server (RFC 8414 and OpenID Connect Discovery), client
// (RFC 7591 and client id metadata documents).

#include "auth/scopes.hpp"

#include <keel/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

/// What the client reads of a protected resource's metadata.
struct resource_metadata {
    std::string resource = {};  // byte for byte
    std::vector<std::string> authorization_servers = {};
    scope_set scopes_supported = {};
    bool requires_dpop = false;  // dpop_bound_access_tokens_required

    static constexpr std::size_t max_authorization_servers = 16;

    /// Reads a document. Returns nullopt, and the reason in `problem`, if it is not a metadata document with a `resource` and at least
    /// one authorization server. Entries after the first max_authorization_servers are ignored.
    static std::optional<resource_metadata> parse(std::string_view text, std::string& problem);
    /// AUS-01: writes the document. `scopes_supported` is left out if it is empty.
    json::value write() const;
};

/// What the client reads of an authorization server's metadata.
struct server_metadata {
    std::string issuer = {};
    std::string authorization_endpoint = {};
    std::string token_endpoint = {};
    std::string registration_endpoint = {};
    std::string revocation_endpoint = {};
    std::string introspection_endpoint = {};
    std::string jwks_uri = {};
    std::vector<std::string> code_challenge_methods = {};
    std::vector<std::string> token_auth_methods = {};
    std::vector<std::string> token_auth_algorithms = {};
    std::vector<std::string> dpop_algorithms = {};
    std::vector<std::string> grant_types = {};
    scope_set scopes_supported = {};
    bool sends_issuer = false;            // authorization_response_iss_parameter_supported
    bool reads_client_documents = false;  // client_id_metadata_document_supported

    /// Reads a document. AUC-05: `issuer` must be equal to `expected_issuer`, byte by byte. `allow_loopback`: endpoints may be http on
    /// loopback; all others must be https. Endpoints that are not allowed are an error, not ignored. Returns nullopt, and the reason in
    /// `problem`.
    static std::optional<server_metadata> parse(std::string_view text, std::string_view expected_issuer,
                                                bool allow_loopback, std::string& problem);
    /// AUC-07: `S256` is listed.
    bool supports_s256() const noexcept;
};

/// A client id metadata document, or the body of a registration request (AUC-16, AUC-17).
struct client_metadata {
    std::string client_id = {};  // only in a client id metadata document: its own URL
    std::string client_name = {};
    std::string client_uri = {};
    std::vector<std::string> redirect_uris = {};
    std::vector<std::string> grant_types = {"authorization_code", "refresh_token"};
    std::string token_auth_method = "none";
    std::string scope = {};

    json::value write() const;
};

/// AUC-16: an https URL with a path, without dot segments, fragment and user info.
bool is_client_id_url(std::string_view url);

/// AUC-17: "native" if all redirect URIs are on loopback or of a private scheme, otherwise "web".
std::string_view application_type(const std::vector<std::string>& redirect_uris);

}  // namespace keel::auth
