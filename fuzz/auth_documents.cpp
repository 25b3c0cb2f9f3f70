// Documents that an authorization server sends: metadata, JWK sets, forms. The first byte selects the kind.

#include "auth/form.hpp"
#include "auth/jwk.hpp"
#include "auth/metadata.hpp"
#include "auth/well_known.hpp"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace keel::auth;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void read_resource(std::string_view text) {
    std::string problem;
    const auto m = resource_metadata::parse(text, problem);
    require(m.has_value() == problem.empty());
    if (!m) return;
    require(!m->resource.empty() && !m->authorization_servers.empty() &&
            m->authorization_servers.size() <= resource_metadata::max_authorization_servers);
    if (resource_matches(m->resource, "https://mcp.example/mcp")) {
        require(m->resource.find('#') == std::string::npos && m->resource.find('@') == std::string::npos);
    }
}

void read_server(std::string_view text) {
    std::string problem;
    const auto m = server_metadata::parse(text, "https://as", false, problem);
    require(m.has_value() == problem.empty());
    if (!m) return;
    require(m->issuer == "https://as");
    for (const std::string* url : {&m->authorization_endpoint, &m->token_endpoint, &m->registration_endpoint,
                                   &m->revocation_endpoint, &m->introspection_endpoint, &m->jwks_uri}) {
        require(url->empty() || is_secure_endpoint(*url, false));
    }
}

void read_keys(std::string_view text) {
    std::string problem;
    const auto keys = key_set::parse(text, problem);
    if (!keys) return;
    require(keys->keys().size() <= key_set::max_keys);
    for (const public_key& key : keys->keys()) {
        require(key.thumbprint().size() == 43);
        std::string again;
        const auto same = public_key::from_jwk(key.jwk(), again);
        require(same && same->thumbprint() == key.thumbprint());
    }
}

void read_form(std::string_view text) {
    const auto f = form::parse(text);
    if (!f) return;
    const auto again = form::parse(f->text());
    require(again && again->fields() == f->fields());
}

void read_urls(std::string_view text) {
    try {
        for (const std::string& each : server_metadata_urls(text)) require(each.starts_with("http"));
        for (const std::string& each : resource_metadata_urls(text)) require(each.starts_with("http"));
        require(resource_matches(canonical_resource(text), text));
    } catch (const std::invalid_argument&) {
        return;  // not a URL
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 5) {
        case 0: read_resource(text); break;
        case 1: read_server(text); break;
        case 2: read_keys(text); break;
        case 3: read_form(text); break;
        default: read_urls(text); break;
    }
    return 0;
}
