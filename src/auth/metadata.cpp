#include "auth/metadata.hpp"

#include "auth/well_known.hpp"
#include "protocol/url_parts.hpp"

#include <algorithm>
#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

namespace {

constexpr std::size_t max_list = 256;
constexpr json::parse_options depth{.max_depth = 32};

/// Reads the members of a document and remembers the first that has the wrong type.
class member_reader {
public:
    member_reader(const json::value& document, std::string& problem) : document_(document), problem_(problem) {}

    std::string text(std::string_view name) {
        const json::value* found = document_.find(name);
        if (!found || found->is_null()) return {};
        if (!found->is_string()) return refuse(name, "a string"), std::string();
        return std::string(found->as_string());
    }

    bool flag(std::string_view name) {
        const json::value* found = document_.find(name);
        if (!found || found->is_null()) return false;
        if (!found->is_bool()) return refuse(name, "true or false"), false;
        return found->as_bool();
    }

    std::vector<std::string> list(std::string_view name, std::size_t most = max_list) {
        std::vector<std::string> out;
        const json::value* found = document_.find(name);
        if (!found || found->is_null()) return out;
        if (!found->is_array()) return refuse(name, "a list of strings"), out;
        for (const json::value& each : found->items()) {
            if (out.size() == most) break;
            if (!each.is_string()) return refuse(name, "a list of strings"), std::vector<std::string>();
            out.emplace_back(each.as_string());
        }
        return out;
    }

    /// Invalid scopes are left out: an authorization server would refuse a request with them.
    scope_set scopes(std::string_view name) {
        scope_set out;
        for (const std::string& each : list(name)) {
            if (is_scope(each)) out.add(each);
        }
        return out;
    }

    std::string endpoint(std::string_view name, bool allow_loopback) {
        std::string url = text(name);
        if (!url.empty() && !is_secure_endpoint(url, allow_loopback) && problem_.empty()) {
            problem_ = std::string(name) + " is not an https URL" + (allow_loopback ? " or a loopback URL" : "");
        }
        return url;
    }

private:
    void refuse(std::string_view name, const char* expected) {
        if (problem_.empty()) problem_ = std::string(name) + " is not " + expected;
    }

    const json::value& document_;
    std::string& problem_;
};

json::value text_list(const std::vector<std::string>& list) {
    json::value out = json::array();
    for (const std::string& each : list) out.push_back(each);
    return out;
}

}  // namespace

std::optional<resource_metadata> resource_metadata::parse(std::string_view text, std::string& problem) {
    problem.clear();
    json::document document;
    const json::value* root = document.read(text, depth);
    if (!root || !root->is_object()) {
        problem = "not a JSON object";
        return std::nullopt;
    }
    member_reader in(*root, problem);
    resource_metadata out;
    out.resource = in.text("resource");
    out.authorization_servers = in.list("authorization_servers", max_authorization_servers);
    out.scopes_supported = in.scopes("scopes_supported");
    out.requires_dpop = in.flag("dpop_bound_access_tokens_required");
    if (problem.empty() && out.resource.empty()) problem = "resource is missing";
    if (problem.empty() && out.authorization_servers.empty()) problem = "authorization_servers is missing";
    if (!problem.empty()) return std::nullopt;
    return out;
}

json::value resource_metadata::write() const {
    json::value out = json::object("resource", resource, "authorization_servers", text_list(authorization_servers),
                                   "bearer_methods_supported", json::array("header"));
    if (!scopes_supported.empty()) out.set("scopes_supported", text_list(scopes_supported.list()));
    if (requires_dpop) out.set("dpop_bound_access_tokens_required", true);
    return out;
}

std::optional<server_metadata> server_metadata::parse(std::string_view text, std::string_view expected_issuer,
                                                      bool allow_loopback, std::string& problem) {
    problem.clear();
    json::document document;
    const json::value* root = document.read(text, depth);
    if (!root || !root->is_object()) {
        problem = "not a JSON object";
        return std::nullopt;
    }
    member_reader in(*root, problem);
    server_metadata out;
    out.issuer = in.text("issuer");
    if (problem.empty() && out.issuer != expected_issuer) {
        problem = "issuer is \"" + out.issuer + "\", but \"" + std::string(expected_issuer) + "\" was expected";
    }
    out.authorization_endpoint = in.endpoint("authorization_endpoint", allow_loopback);
    out.token_endpoint = in.endpoint("token_endpoint", allow_loopback);
    out.registration_endpoint = in.endpoint("registration_endpoint", allow_loopback);
    out.revocation_endpoint = in.endpoint("revocation_endpoint", allow_loopback);
    out.introspection_endpoint = in.endpoint("introspection_endpoint", allow_loopback);
    out.jwks_uri = in.endpoint("jwks_uri", allow_loopback);
    out.code_challenge_methods = in.list("code_challenge_methods_supported");
    out.token_auth_methods = in.list("token_endpoint_auth_methods_supported");
    out.token_auth_algorithms = in.list("token_endpoint_auth_signing_alg_values_supported");
    out.dpop_algorithms = in.list("dpop_signing_alg_values_supported");
    out.grant_types = in.list("grant_types_supported");
    out.scopes_supported = in.scopes("scopes_supported");
    out.sends_issuer = in.flag("authorization_response_iss_parameter_supported");
    out.reads_client_documents = in.flag("client_id_metadata_document_supported");
    if (!problem.empty()) return std::nullopt;
    return out;
}

bool server_metadata::supports_s256() const noexcept {
    return std::find(code_challenge_methods.begin(), code_challenge_methods.end(), "S256") !=
           code_challenge_methods.end();
}

json::value client_metadata::write() const {
    json::value out =
        json::object("client_name", client_name, "redirect_uris", text_list(redirect_uris), "grant_types",
                     text_list(grant_types), "response_types", json::array("code"), "token_endpoint_auth_method",
                     token_auth_method, "application_type", application_type(redirect_uris));
    if (!client_id.empty()) out.set("client_id", client_id);
    if (!client_uri.empty()) out.set("client_uri", client_uri);
    if (!scope.empty()) out.set("scope", scope);
    return out;
}

bool is_client_id_url(std::string_view url) {
    try {
        const auto parts = protocol::url_parts::parse(url);
        if (!parts.secure || !parts.authorization.empty() || url.find('#') != std::string_view::npos) return false;
        std::string_view path = parts.target;
        path = path.substr(0, path.find('?'));
        if (path.size() < 2) return false;
        for (std::string_view rest = path; !rest.empty();) {
            rest.remove_prefix(1);  // the slash
            const std::string_view segment = rest.substr(0, rest.find('/'));
            if (segment == "." || segment == "..") return false;
            rest.remove_prefix(segment.size());
        }
        return true;
    } catch (const std::invalid_argument&) {
        return false;  // not a URL
    }
}

std::string_view application_type(const std::vector<std::string>& redirect_uris) {
    const bool native = std::all_of(redirect_uris.begin(), redirect_uris.end(), [](const std::string& each) {
        if (!each.starts_with("https:") && !each.starts_with("http:")) return true;  // "com.example.app:/callback"
        try {
            return protocol::url_parts::parse(each).is_loopback();
        } catch (const std::invalid_argument&) {
            return false;  // the authorization server will say what is wrong with it
        }
    });
    return native ? "native" : "web";
}

}  // namespace keel::auth
