#include "auth/well_known.hpp"

#include "protocol/url_parts.hpp"

#include <algorithm>
#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

namespace {

using protocol::url_parts;

/// The path without the query. "/" is the empty path, and a slash at the end does not count.
std::string_view path_of(const url_parts& url) {
    std::string_view path = url.target;
    path = path.substr(0, path.find('?'));
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

std::optional<url_parts> parsed(std::string_view text) {
    try {
        return url_parts::parse(text);
    } catch (const std::invalid_argument&) {
        return std::nullopt;  // the caller only asks whether it is usable
    }
}

}  // namespace

std::string canonical_resource(std::string_view server_url) {
    const url_parts url = url_parts::parse(server_url);
    return url.target == "/" ? url.origin() : url.origin() + url.target;
}

bool resource_matches(std::string_view resource, std::string_view server_url) {
    if (resource.find('#') != std::string_view::npos) return false;
    const auto of = parsed(resource);
    const auto at = parsed(server_url);
    if (!of || !at || !of->authorization.empty() || !of->same_origin(*at)) return false;
    const std::string_view parent = path_of(*of);
    const std::string_view path = path_of(*at);
    return path.starts_with(parent) && (path.size() == parent.size() || path[parent.size()] == '/');
}

std::vector<std::string> resource_metadata_urls(std::string_view server_url) {
    const url_parts url = url_parts::parse(server_url);
    const std::string root = url.origin() + "/.well-known/oauth-protected-resource";
    std::string_view path = url.target;
    path = path.substr(0, path.find('?'));
    if (path == "/") return {root};
    return {root + std::string(path), root};
}

std::vector<std::string> server_metadata_urls(std::string_view issuer) {
    const url_parts url = url_parts::parse(issuer);
    const std::string path(path_of(url));
    const std::string known = url.origin() + "/.well-known/";
    std::vector<std::string> out = {known + "oauth-authorization-server" + path, known + "openid-configuration" + path};
    if (!path.empty()) out.push_back(url.origin() + path + "/.well-known/openid-configuration");
    return out;
}

bool is_secure_endpoint(std::string_view url, bool allow_loopback) {
    if (url.find('#') != std::string_view::npos) return false;
    const auto parts = parsed(url);
    if (!parts || !parts->authorization.empty()) return false;
    return parts->secure || (allow_loopback && parts->is_loopback());
}

}  // namespace keel::auth
