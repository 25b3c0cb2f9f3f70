#include "auth/dpop.hpp"
#include "auth/digest.hpp"

#include <keel/base64.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using namespace keel::auth;
using namespace std::chrono_literals;

namespace {

constexpr unix_time proof_time{1'800'000'000s};

struct fixture {
    signing_key key = signing_key::make_es256();
    secret token{"access-token"};
    dpop_request request{.method = "POST", .url = dpop_url("https://mcp.example/mcp"), .token = &token, .nonce = "n"};

    std::string problem_with(const std::string& proof, const dpop_request& sent, unix_time at = proof_time) const {
        std::string problem;
        CHECK(!check_proof(proof, sent, at, {}, problem));
        return problem;
    }
    /// A proof with other claims or another header, signed by the key.
    std::string forged(json::value header, json::value claims) const {
        std::string text;
        REQUIRE(json::write(text, claims));
        return write_jws(std::move(header), text, key, algorithm::es256);
    }
    json::value header() const { return json::object("typ", "dpop+jwt", "jwk", key.public_part().jwk()); }
    json::value claims() const {
        return json::object("jti", "1", "htm", "POST", "htu", "https://mcp.example/mcp", "iat", 1'800'000'000, "ath",
                            base64url_encode(sha256("access-token")));
    }
};

}  // namespace

TEST_CASE("DPoP: a proof is accepted for its request and gives key, id and nonce") {
    const fixture f;
    const std::string proof = make_proof(f.key, f.request, "id-1", proof_time);
    std::string problem;
    const auto checked = check_proof(proof, f.request, proof_time + 60s, {}, problem);
    REQUIRE_MESSAGE(checked, problem);
    CHECK(checked->thumbprint == f.key.public_part().thumbprint());
    CHECK(checked->id == "id-1");
    CHECK(checked->nonce == "n");
    CHECK(checked->issued_at == proof_time);
}

TEST_CASE("DPoP: the proof of RFC 9449, section 4.1, is valid") {
    constexpr std::string_view proof =
        "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscE"
        "JoRjQyVVFVZldW"
        "QVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19."
        "eyJqdGkiOiItQndDM0VTYzZhY2My"
        "bFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-"
        "GxA6T8lP4vfrg8v-FdWP0"
        "A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";
    std::string problem;
    const auto checked = check_proof(proof, {.method = "POST", .url = dpop_url("https://server.example.com/token")},
                                     unix_time(1562262616s), {}, problem);
    REQUIRE_MESSAGE(checked, problem);
    CHECK(checked->id == "-BwC3ESc6acc2lTc");
    CHECK(checked->thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
}

TEST_CASE("DPoP: a proof is valid only for its method, URL, token and time") {
    const fixture f;
    const std::string proof = make_proof(f.key, f.request, "id", proof_time);
    dpop_request other = f.request;
    other.method = "GET";
    CHECK(f.problem_with(proof, other) == "the proof is for another method (htm)");
    other = f.request;
    for (std::string_view url : {"https://mcp.example/mcp2", "https://other.example/mcp", "http://mcp.example/mcp",
                                 "https://mcp.example:8443/mcp", "https://mcp.example/mcp/"}) {
        other.url = dpop_url(url);
        CHECK(f.problem_with(proof, other) == "the proof is for another URL (htu)");
    }
    const secret stolen("another-token");
    other = f.request;
    other.token = &stolen;
    CHECK(f.problem_with(proof, other) == "the proof is for another token (ath)");
    CHECK(f.problem_with(proof, f.request, proof_time + 61s) == "the proof is too old, or the clocks differ (iat)");
    CHECK(f.problem_with(proof, f.request, proof_time - 61s) == "the proof is too old, or the clocks differ (iat)");
}

TEST_CASE("DPoP: the URL is compared in normal form") {
    CHECK(dpop_url("HTTPS://MCP.example:443/mcp?x=1#y") == "https://mcp.example/mcp");
    fixture f;
    f.request.url = "https://MCP.EXAMPLE:443/mcp?query";  // as a client of another vendor might write it
    const std::string proof = make_proof(f.key, f.request, "id", proof_time);
    f.request.url = dpop_url("https://mcp.example/mcp");
    std::string problem;
    CHECK(check_proof(proof, f.request, proof_time, {}, problem));
}

TEST_CASE("DPoP: altered proofs are rejected") {
    const fixture f;
    const auto without = [](json::value v, std::string_view name) {
        v.erase(name);
        return v;
    };
    const auto with = [](json::value v, std::string_view name, json::value content) {
        v.set(name, std::move(content));
        return v;
    };
    std::string problem;
    REQUIRE_MESSAGE(check_proof(f.forged(f.header(), f.claims()), f.request, proof_time, {}, problem), problem);

    CHECK(f.problem_with("", f.request) == "a token has three parts");
    CHECK(f.problem_with(f.forged(with(f.header(), "typ", "JWT"), f.claims()), f.request) ==
          "the proof has the wrong type (typ)");
    CHECK(f.problem_with(f.forged(without(f.header(), "jwk"), f.claims()), f.request) == "a key must be an object");
    json::value leaked = f.key.public_part().jwk();
    leaked.set("d", "AAAA");
    CHECK(f.problem_with(f.forged(with(f.header(), "jwk", leaked), f.claims()), f.request) ==
          "the proof contains a private key");
    for (std::string_view claim : {"htm", "htu", "iat", "ath", "jti"}) {
        CAPTURE(claim);
        CHECK(!f.problem_with(f.forged(f.header(), without(f.claims(), claim)), f.request).empty());
        CHECK(!f.problem_with(f.forged(f.header(), with(f.claims(), claim, json::array())), f.request).empty());
    }
    CHECK(f.problem_with(f.forged(f.header(), with(f.claims(), "jti", std::string(300, 'x'))), f.request) ==
          "the proof has no usable id (jti)");
    // Signed by another key than the one in the header.
    const signing_key another = signing_key::make_es256();
    CHECK(f.problem_with(f.forged(with(f.header(), "jwk", another.public_part().jwk()), f.claims()), f.request) ==
          "the proof is not valid");
}
