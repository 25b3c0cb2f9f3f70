#include "auth/token_request.hpp"

#include "http_common/tokens.hpp"

#include <keel/base64.hpp>

#include <algorithm>
#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

namespace {

endpoint_request grant(std::string_view type, std::string_view resource) {
    endpoint_request out;
    out.fields.add("grant_type", type);
    if (!resource.empty()) out.fields.add("resource", resource);
    return out;
}

void add_scopes(endpoint_request& out, const scope_set& scopes) {
    if (!scopes.empty()) out.fields.add("scope", scopes.text());
}

bool lists(const std::vector<std::string>& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

/// The algorithm of an assertion: that of the key, or for RSA the first that the server lists.
algorithm assertion_algorithm(const signing_key& key, const server_metadata& server) {
    for (const std::string& each : server.token_auth_algorithms) {
        const auto found = find_algorithm(each);
        if (found && key.fits(*found)) return *found;
    }
    return key.default_algorithm();
}

std::string client_assertion(const client_identity& client, const server_metadata& server, const random_bytes& random,
                             unix_time now) {
    const auto seconds = static_cast<std::int64_t>(now.time_since_epoch().count());
    const json::value claims = json::object("iss", client.client_id, "sub", client.client_id, "aud", server.issuer,
                                            "jti", random_text(random).reveal(), "iat", seconds, "exp", seconds + 60);
    std::string text;
    if (!json::write(text, claims)) throw std::logic_error("keel: an assertion contains no reals");
    return write_jws(json::object("typ", "JWT"), text, *client.key, assertion_algorithm(*client.key, server));
}

std::string printable(std::string_view text) {
    constexpr std::size_t most = 200;
    std::string out;
    for (char c : text) {
        if (out.size() == most) break;
        out += c >= ' ' && c < 0x7f ? c : '?';
    }
    return out;
}

oauth_error error_of(std::string_view code, std::string_view description) {
    return {.code = printable(code), .description = printable(description)};
}

bool is_visible(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// A token of a response: visible ASCII of limited length, because it becomes part of a header.
std::optional<secret> token_in(const json::value& member) {
    const auto text = member.if_string();
    if (!text || text->size() > token_response::max_token || !is_visible(*text)) return std::nullopt;
    return secret(*text);
}

/// nullopt: the member is invalid.
std::optional<std::chrono::seconds> lifetime_in(const json::value& member) {
    std::optional<double> seconds = member.if_double();
    if (const auto text = member.if_string(); text && text->size() <= 12) {
        double digits = 0;
        for (char c : *text) {
            if (c < '0' || c > '9') return std::nullopt;
            digits = digits * 10 + (c - '0');
        }
        if (!text->empty()) seconds = digits;
    }
    if (!seconds || !(*seconds >= 0)) return std::nullopt;
    const double most = static_cast<double>(token_response::longest.count());
    return std::chrono::seconds(static_cast<std::int64_t>(std::min(*seconds, most)));
}

}  // namespace

endpoint_request authorization_code_request(std::string_view code, const secret& verifier,
                                            std::string_view redirect_uri, std::string_view resource) {
    endpoint_request out = grant("authorization_code", resource);
    out.fields.add("code", code).add("redirect_uri", redirect_uri).add("code_verifier", verifier.reveal());
    return out;
}

endpoint_request refresh_request(const secret& refresh_token, std::string_view resource) {
    endpoint_request out = grant("refresh_token", resource);
    out.fields.add("refresh_token", refresh_token.reveal());
    return out;
}

endpoint_request client_credentials_request(const scope_set& scopes, std::string_view resource) {
    endpoint_request out = grant("client_credentials", resource);
    add_scopes(out, scopes);
    return out;
}

endpoint_request token_exchange_request(const secret& subject_token, std::string_view subject_token_type,
                                        std::string_view audience, const scope_set& scopes, std::string_view resource) {
    endpoint_request out = grant("urn:ietf:params:oauth:grant-type:token-exchange", resource);
    out.fields.add("requested_token_type", id_jag_token_type)
        .add("audience", audience)
        .add("subject_token", subject_token.reveal())
        .add("subject_token_type", subject_token_type);
    add_scopes(out, scopes);
    return out;
}

endpoint_request jwt_bearer_request(const secret& assertion, const scope_set& scopes, std::string_view resource) {
    endpoint_request out = grant("urn:ietf:params:oauth:grant-type:jwt-bearer", resource);
    out.fields.add("assertion", assertion.reveal());
    add_scopes(out, scopes);
    return out;
}

endpoint_request revocation_request(const secret& token, std::string_view token_type_hint) {
    endpoint_request out;
    out.fields.add("token", token.reveal()).add("token_type_hint", token_type_hint);
    return out;
}

std::string_view name_of(client_auth_method m) noexcept {
    switch (m) {
        case client_auth_method::client_secret_basic: return "client_secret_basic";
        case client_auth_method::client_secret_post: return "client_secret_post";
        case client_auth_method::private_key_jwt: return "private_key_jwt";
        case client_auth_method::none: break;
    }
    return "none";
}

std::optional<client_auth_method> find_client_auth_method(std::string_view name) noexcept {
    for (client_auth_method each : {client_auth_method::none, client_auth_method::client_secret_basic,
                                    client_auth_method::client_secret_post, client_auth_method::private_key_jwt}) {
        if (name_of(each) == name) return each;
    }
    return std::nullopt;
}

std::optional<client_auth_method> choose_auth_method(const client_identity& client, const server_metadata& server) {
    const auto& offered = server.token_auth_methods;
    const auto offers = [&](client_auth_method m) {
        if (offered.empty()) return m == client_auth_method::client_secret_basic || m == client_auth_method::none;
        return lists(offered, name_of(m));
    };
    if (client.key) {
        // A server that lists nothing may still know the key: its owner registered it there.
        if (offered.empty() || offers(client_auth_method::private_key_jwt)) return client_auth_method::private_key_jwt;
        if (client.client_secret.empty()) return std::nullopt;
    }
    if (client.client_secret.empty()) {
        return offers(client_auth_method::none) ? std::optional(client_auth_method::none) : std::nullopt;
    }
    for (client_auth_method each : {client_auth_method::client_secret_basic, client_auth_method::client_secret_post}) {
        if (offers(each)) return each;
    }
    return std::nullopt;
}

void authenticate(endpoint_request& request, const client_identity& client, const server_metadata& server,
                  const random_bytes& random, unix_time now) {
    switch (client.method) {
        case client_auth_method::none: request.fields.add("client_id", client.client_id); return;
        case client_auth_method::client_secret_basic:
            // RFC 6749, section 2.3.1: both are form-encoded first, so that a colon in the id is not taken for the separator.
            request.headers.emplace_back("Authorization",
                                         "Basic " + base64_encode(form_encode(client.client_id) + ':' +
                                                                  form_encode(client.client_secret.reveal())));
            return;
        case client_auth_method::client_secret_post:
            request.fields.add("client_id", client.client_id).add("client_secret", client.client_secret.reveal());
            return;
        case client_auth_method::private_key_jwt:
            if (!client.key) throw std::logic_error("keel: private_key_jwt needs a key");
            request.fields.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
                .add("client_assertion", client_assertion(client, server, random, now));
            return;
    }
}

std::optional<token_response> token_response::parse(std::string_view body, bool expects_id_jag, std::string& problem) {
    const auto fail = [&](const char* why) -> std::optional<token_response> {
        problem = why;
        return std::nullopt;
    };
    json::document document;
    const json::value* root = document.read(body, {.max_depth = 32});
    if (!root || !root->is_object()) return fail("not a JSON object");
    token_response out;
    auto token = token_in((*root)["access_token"]);
    if (!token) return fail("access_token is missing or is not visible ASCII of at most 16 KB");
    out.access_token = std::move(*token);
    const auto type = (*root)["token_type"].if_string();
    if (!type) return fail("token_type is missing");
    out.issued_token_type = (*root)["issued_token_type"].if_string().value_or("");
    if (expects_id_jag) {
        if (!http::same_ignoring_case(*type, "n_a")) return fail("token_type is not N_A");
        if (out.issued_token_type != id_jag_token_type) return fail("issued_token_type is not that of an ID-JAG");
    } else {
        out.dpop = http::same_ignoring_case(*type, "dpop");
        if (!out.dpop && !http::same_ignoring_case(*type, "bearer")) return fail("unsupported token_type");
    }
    if (const json::value* found = root->find("expires_in"); found && !found->is_null()) {
        out.expires_in = lifetime_in(*found);
        if (!out.expires_in) return fail("expires_in is not a number of seconds");
    }
    if (const json::value* found = root->find("refresh_token"); found && !found->is_null()) {
        out.refresh_token = token_in(*found);
        if (!out.refresh_token) return fail("refresh_token is not visible ASCII of at most 16 KB");
    }
    if (const json::value* found = root->find("scope"); found && !found->is_null()) {
        const auto text = found->if_string();
        out.scopes = text ? scope_set::parse(*text) : std::nullopt;
        if (!out.scopes) return fail("scope is not a list of scopes");
    }
    return out;
}

oauth_error oauth_error::parse(std::string_view body) {
    json::document document;
    const json::value* root = document.read(body, {.max_depth = 32});
    if (!root) return {};
    return error_of((*root)["error"].if_string().value_or(""), (*root)["error_description"].if_string().value_or(""));
}

std::string oauth_error::text() const {
    if (code.empty() || description.empty()) return code + description;
    return code + ": " + description;
}

std::optional<registration_response> registration_response::parse(std::string_view body, client_auth_method requested,
                                                                  std::string& problem) {
    const auto fail = [&](const char* why) -> std::optional<registration_response> {
        problem = why;
        return std::nullopt;
    };
    json::document document;
    const json::value* root = document.read(body, {.max_depth = 32});
    if (!root || !root->is_object()) return fail("not a JSON object");
    registration_response out;
    const auto id = (*root)["client_id"].if_string();
    if (!id || id->empty() || id->size() > 1024) return fail("client_id is missing or too long");
    out.client.client_id = std::string(*id);
    if (const json::value* found = root->find("client_secret"); found && !found->is_null()) {
        auto text = token_in(*found);
        if (!text) return fail("client_secret is not visible ASCII of at most 16 KB");
        out.client.client_secret = std::move(*text);
    }
    out.client.method = requested;
    if (const auto method = (*root)["token_endpoint_auth_method"].if_string()) {
        const auto found = find_client_auth_method(*method);
        if (!found || *found == client_auth_method::private_key_jwt)
            return fail("the server registered the client for an unsupported token_endpoint_auth_method");
        out.client.method = *found;
    }
    if (out.client.method != client_auth_method::none && out.client.client_secret.empty())
        return fail("the server registered the client for a secret, but sent none");
    if (const auto expires = (*root)["client_secret_expires_at"].if_int(); expires && *expires > 0)
        out.secret_expires_at = unix_time(std::chrono::seconds(*expires));
    return out;
}

std::string authorization_url(const server_metadata& server, const login_record& login, std::string_view client_id) {
    form f;
    f.add("response_type", "code")
        .add("client_id", client_id)
        .add("redirect_uri", login.redirect_uri)
        .add("state", login.state.reveal())
        .add("code_challenge", code_challenge(login.verifier))
        .add("code_challenge_method", "S256");
    if (!login.scopes.empty()) f.add("scope", login.scopes.text());
    if (!login.resource.empty()) f.add("resource", login.resource);
    // OpenID Connect, section 11: a refresh token is granted only after consent.
    if (login.scopes.contains("offline_access")) f.add("prompt", "consent");
    return with_query(server.authorization_endpoint, f);
}

login_outcome read_callback(std::string_view query, const login_record& login) {
    using kind = login_outcome::kind;
    login_outcome out;
    const auto parameters = form::parse(query);
    const auto state = parameters ? parameters->field("state") : std::nullopt;
    if (!state || !secret::equal(secret(*state), login.state)) {
        out.what = kind::not_ours;
        return out;
    }
    const auto iss = parameters->field("iss");
    const bool missing = !iss && (login.sends_issuer || parameters->repeats("iss"));
    if (missing || (iss && *iss != login.issuer)) {
        out.what = kind::wrong_issuer;
        return out;
    }
    for (std::string_view name : {"code", "error", "error_description"}) {
        if (parameters->repeats(name)) return out;
    }
    if (const auto error = parameters->field("error")) {
        out.what = kind::denied;
        out.error = error_of(*error, parameters->field("error_description").value_or(""));
    } else if (const auto code = parameters->field("code"); code && !code->empty()) {
        out.what = kind::code;
        out.code = secret(*code);
    }
    return out;
}

}  // namespace keel::auth
