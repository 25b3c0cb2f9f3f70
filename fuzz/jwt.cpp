// Access tokens and DPoP proofs against fixed keys: only those that our own signer has made are accepted. The input is a token as it
// is, or edits of a valid token.

#include "auth/jwt.hpp"
#include "auth/dpop.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace keel;
using namespace keel::auth;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr unix_time now{std::chrono::seconds(1'800'000'000)};

struct fixture {
    signing_key key = signing_key::make_es256();
    key_set keys;
    std::string token;
    std::string proof;
    dpop_request request{.method = "POST", .url = "https://mcp.example/mcp"};

    fixture() {
        json::value jwk = key.public_part().jwk();
        jwk.set("kid", "k");
        std::string text;
        require(json::write(text, json::object("keys", json::array(jwk))));
        std::string problem;
        keys = *key_set::parse(text, problem);
        token = write_jws(json::object("typ", "at+jwt", "kid", "k"),
                          R"({"iss":"https://as","sub":"u","aud":"https://mcp","exp":1800000100,"scope":"a"})", key,
                          algorithm::es256);
        proof = make_proof(key, request, "id", now);
    }
};

const fixture& fixed() {
    static const fixture f;
    return f;
}

/// Applies edits of two bytes: a position and a character.
std::string edited(std::string text, std::string_view edits) {
    for (std::size_t i = 0; i + 2 < edits.size(); i += 3) {
        const std::size_t at =
            (static_cast<unsigned char>(edits[i]) * 256U + static_cast<unsigned char>(edits[i + 1])) % text.size();
        text[at] = edits[i + 2];
    }
    return text;
}

void check_token(const std::string& text) {
    const fixture& f = fixed();
    std::string problem;
    const auto jws = parse_jws(text, 8 * 1024, problem);
    if (!jws) {
        require(!problem.empty());
        return;
    }
    const auto claims = read_claims(*jws, problem);
    if (claims)
        static_cast<void>(check_claims(*claims, {.issuers = {"https://as"}, .audiences = {"https://mcp"}}, now));
    if (verify_jws(*jws, f.keys, default_algorithms) == jws_verdict::valid) require(text == f.token);
}

void check_dpop(const std::string& text) {
    const fixture& f = fixed();
    std::string problem;
    const auto proof = check_proof(text, f.request, now, {}, problem);
    require(proof.has_value() || !problem.empty());
    if (proof && proof->thumbprint == f.key.public_part().thumbprint()) require(text == f.proof);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 4) {
        case 0: check_token(std::string(rest)); break;
        case 1: check_token(edited(fixed().token, rest)); break;
        case 2: check_dpop(std::string(rest)); break;
        default: check_dpop(edited(fixed().proof, rest)); break;
    }
    return 0;
}
