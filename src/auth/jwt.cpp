#include "auth/jwt.hpp"

#include "http_common/tokens.hpp"

#include <algorithm>
#include <cmath>

namespace keel::inline KEEL_ABI::auth {

namespace {

/// What a claim of the wrong type throws inside this file.
struct invalid_claim {
    const char* reason;
};

std::string optional_text(const json::value& claims, std::string_view name) {
    const json::value* found = claims.find(name);
    if (!found) return {};
    if (!found->is_string()) throw invalid_claim{"a claim of the token has the wrong type"};
    return std::string(found->as_string());
}

std::vector<std::string> text_or_list(const json::value& found) {
    std::vector<std::string> out;
    if (found.is_string()) {
        out.emplace_back(found.as_string());
        return out;
    }
    if (!found.is_array()) throw invalid_claim{"a claim of the token has the wrong type"};
    for (const json::value& each : found.items()) {
        if (!each.is_string()) throw invalid_claim{"a claim of the token has the wrong type"};
        out.emplace_back(each.as_string());
    }
    return out;
}

/// NumericDate: seconds since 1970, possibly with a fraction. Times that no clock can reach are invalid: they would overflow.
std::optional<unix_time> time_of(const json::value& claims, std::string_view name) {
    const json::value* found = claims.find(name);
    if (!found) return std::nullopt;
    constexpr double most = 253402300799.0;  // the end of the year 9999
    const auto seconds = found->if_double();
    if (!seconds || !(*seconds >= 0 && *seconds <= most)) throw invalid_claim{"a time of the token is invalid"};
    return unix_time(std::chrono::seconds(static_cast<std::int64_t>(std::floor(*seconds))));
}

scope_set scopes_of(const json::value& claims) {
    scope_set out;
    for (std::string_view name : {"scope", "scp"}) {
        const json::value* found = claims.find(name);
        if (!found) continue;
        for (const std::string& each : text_or_list(*found)) {
            const auto scopes = scope_set::parse(each);
            if (!scopes) throw invalid_claim{"a scope of the token is invalid"};
            out.add(*scopes);
        }
    }
    if (out.list().size() > max_scopes) throw invalid_claim{"the token has too many scopes"};
    return out;
}

std::optional<std::string> binding_of(const json::value& claims) {
    const json::value* cnf = claims.find("cnf");
    if (!cnf) return std::nullopt;
    const json::value* thumbprint = cnf->find("jkt");
    if (!thumbprint || !thumbprint->is_string() || cnf->size() != 1)
        throw invalid_claim{"the token is bound to a key in an unsupported way (cnf)"};
    return std::string(thumbprint->as_string());
}

bool is_access_token(std::string_view type) {
    using http::same_ignoring_case;
    constexpr std::string_view prefix = "application/";
    if (type.size() > prefix.size() && same_ignoring_case(type.substr(0, prefix.size()), prefix))
        type.remove_prefix(prefix.size());
    return type.empty() || same_ignoring_case(type, "jwt") || same_ignoring_case(type, "at+jwt");
}

token_claims claims_of(const json::value& claims) {
    token_claims out;
    out.issuer = optional_text(claims, "iss");
    if (out.issuer.empty()) throw invalid_claim{"the token has no issuer"};
    out.client_id = optional_text(claims, "client_id");
    if (out.client_id.empty()) out.client_id = optional_text(claims, "azp");
    out.subject = optional_text(claims, "sub");
    if (out.subject.empty()) out.subject = out.client_id;
    if (out.subject.empty()) throw invalid_claim{"the token has neither a subject nor a client id"};
    if (const json::value* audience = claims.find("aud")) out.audience = text_or_list(*audience);
    out.scopes = scopes_of(claims);
    const auto expires_at = time_of(claims, "exp");
    if (!expires_at) throw invalid_claim{"the token does not expire"};
    out.expires_at = *expires_at;
    out.not_before = time_of(claims, "nbf");
    out.issued_at = time_of(claims, "iat");
    out.key_thumbprint = binding_of(claims);
    out.all = claims;
    return out;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

std::optional<token_claims> read_claims(const compact_jws& token, std::string& problem) {
    if (!is_access_token(token.type)) {
        problem = "the token is not an access token (typ)";
        return std::nullopt;
    }
    json::document document;
    const json::value* claims = document.read(token.payload, {.max_depth = 32});
    if (!claims || !claims->is_object()) {
        problem = "the claims of the token are not an object";
        return std::nullopt;
    }
    try {
        return claims_of(*claims);
    } catch (const invalid_claim& e) {
        problem = e.reason;
        return std::nullopt;
    }
}

token_fault check_claims(const token_claims& claims, const token_rules& rules, unix_time now) {
    if (!contains(rules.issuers, claims.issuer)) return token_fault::wrong_issuer;
    const bool for_us = std::any_of(claims.audience.begin(), claims.audience.end(),
                                    [&](const std::string& each) { return contains(rules.audiences, each); });
    if (!for_us) return token_fault::wrong_audience;
    if (now >= claims.expires_at + rules.leeway) return token_fault::expired;
    if (claims.not_before && now + rules.leeway < *claims.not_before) return token_fault::not_yet_valid;
    if (claims.issued_at && now + rules.leeway < *claims.issued_at) return token_fault::not_yet_valid;
    return token_fault::none;
}

}  // namespace keel::auth
