#include "auth/dpop.hpp"

#include "auth/digest.hpp"
#include "protocol/url_parts.hpp"

#include <keel/base64.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace keel::inline KEEL_ABI::auth {

namespace {

/// The same URL in another notation is the same URL (RFC 9449, section 4.3).
bool same_url(std::string_view claimed, const std::string& expected) {
    try {
        return dpop_url(claimed) == expected;
    } catch (const std::invalid_argument&) {
        return false;  // not an http(s) URL
    }
}

bool has_private_member(const json::value& jwk) {
    constexpr std::string_view members[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};
    return std::any_of(std::begin(members), std::end(members),
                       [&](std::string_view each) { return jwk.contains(each); });
}

}  // namespace

std::string dpop_url(std::string_view url) {
    const auto parts = protocol::url_parts::parse(url);
    return parts.origin() + parts.target.substr(0, parts.target.find('?'));
}

std::string make_proof(const signing_key& key, const dpop_request& request, std::string_view id, unix_time now) {
    json::value claims = json::object("jti", id, "htm", request.method, "htu", request.url, "iat",
                                      static_cast<std::int64_t>(now.time_since_epoch().count()));
    if (request.token) claims.set("ath", base64url_encode(sha256(request.token->reveal())));
    if (!request.nonce.empty()) claims.set("nonce", request.nonce);
    std::string text;
    if (!json::write(text, claims)) throw std::logic_error("keel: a proof contains no reals");
    return write_jws(json::object("typ", "dpop+jwt", "jwk", key.public_part().jwk()), text, key,
                     key.default_algorithm());
}

std::optional<dpop_proof> check_proof(std::string_view proof, const dpop_request& request, unix_time now,
                                      const dpop_rules& rules, std::string& problem) {
    const auto fail = [&](const char* why) -> std::optional<dpop_proof> {
        problem = why;
        return std::nullopt;
    };
    const auto jws = parse_jws(proof, rules.max_size, problem);
    if (!jws) return std::nullopt;
    if (jws->type != "dpop+jwt") return fail("the proof has the wrong type (typ)");
    if (!rules.algorithms.contains(jws->signed_with)) return fail("the algorithm of the proof is not accepted");
    const json::value& jwk = jws->header["jwk"];
    if (has_private_member(jwk)) return fail("the proof contains a private key");
    const auto key = public_key::from_jwk(jwk, problem);
    if (!key) return std::nullopt;

    json::document document;
    const json::value* claims = document.read(jws->payload, {.max_depth = 16});
    if (!claims || !claims->is_object()) return fail("the claims of the proof are not an object");
    const auto text = [&](std::string_view name) { return (*claims)[name].if_string().value_or(""); };
    if (text("htm") != request.method) return fail("the proof is for another method (htm)");
    if (!same_url(text("htu"), request.url)) return fail("the proof is for another URL (htu)");
    const auto issued_at = (*claims)["iat"].if_double();
    const auto seconds = static_cast<double>(now.time_since_epoch().count());
    if (!issued_at || !(std::abs(*issued_at - seconds) <= static_cast<double>(rules.leeway.count())))
        return fail("the proof is too old, or the clocks differ (iat)");
    if (request.token && text("ath") != base64url_encode(sha256(request.token->reveal())))
        return fail("the proof is for another token (ath)");
    dpop_proof out;
    out.id = std::string(text("jti"));
    if (out.id.empty() || out.id.size() > rules.max_id) return fail("the proof has no usable id (jti)");
    out.nonce = std::string(text("nonce"));
    out.issued_at = unix_time(std::chrono::seconds(static_cast<std::int64_t>(*issued_at)));
    out.thumbprint = key->thumbprint();
    // Last, because it is expensive.
    if (!key->verify(jws->signed_with, jws->signed_text, jws->signature)) return fail("the proof is not valid");
    return out;
}

}  // namespace keel::auth
