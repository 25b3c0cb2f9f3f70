#pragma once

// Resource identifiers, and the URLs at which metadata documents are found.

#include <keel/version.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::auth {

/// AUC-08: the resource identifier of a server without protected resource metadata: the URL as given, with scheme and host in lower case,
/// without the default port, user info, fragment, and a path that is only "/". Throws std::invalid_argument for an invalid URL.
std::string canonical_resource(std::string_view server_url);

/// RFC 9728: true if the `resource` of a metadata document is that of this server: the same origin, and the same path or a parent of
/// it, by whole segments. The query of both is ignored; a fragment is not allowed.
bool resource_matches(std::string_view resource, std::string_view server_url);

/// AUC-02: where the protected resource metadata of a server may be, in this order: with its path inserted, then without a path.
std::vector<std::string> resource_metadata_urls(std::string_view server_url);

/// AUC-04: where the metadata of an authorization server may be, in this order. With a path /t:
/// /.well-known/oauth-authorization-server/t, /.well-known/openid-configuration/t, /t/.well-known/openid-configuration. Without a path
/// the first two.
std::vector<std::string> server_metadata_urls(std::string_view issuer);

/// True for an https URL, or an http URL to a loopback host, without user info and fragment: what an endpoint may be. `allow_loopback`
/// is false if the MCP server itself is not on loopback.
bool is_secure_endpoint(std::string_view url, bool allow_loopback);

}  // namespace keel::auth
