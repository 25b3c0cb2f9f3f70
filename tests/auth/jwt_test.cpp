#include "auth/jwt.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using namespace keel::auth;
using namespace std::chrono_literals;

namespace {

constexpr unix_time now{1'800'000'000s};

struct read_outcome {
    std::optional<token_claims> claims;
    std::string problem;
};

read_outcome read(std::string_view claims, std::string type = "at+jwt") {
    compact_jws token;
    token.type = std::move(type);
    token.payload = std::string(claims);
    read_outcome out;
    out.claims = read_claims(token, out.problem);
    return out;
}

token_claims good() {
    token_claims out;
    out.issuer = "https://as.example";
    out.subject = "u";
    out.audience = {"https://other", "https://mcp.example/mcp"};
    out.expires_at = now + 60s;
    return out;
}

const token_rules rules{.issuers = {"https://as.example", "https://as2.example"},
                        .audiences = {"https://mcp.example/mcp"}};

}  // namespace

TEST_CASE("AUS-03: the claims of an access token are read") {
    const auto [c, problem] = read(
        R"({"iss":"https://as","sub":"u","client_id":"c","aud":["a","b"],"scope":"r w","scp":["x"],"exp":1800000060.9,"nbf":1,"iat":2,"cnf":{"jkt":"T"}})");
    REQUIRE_MESSAGE(c, problem);
    CHECK(c->issuer == "https://as");
    CHECK(c->subject == "u");
    CHECK(c->client_id == "c");
    CHECK(c->audience == std::vector<std::string>{"a", "b"});
    CHECK(c->scopes.text() == "r w x");
    CHECK(c->expires_at == now + 60s);
    CHECK(c->not_before == unix_time(1s));
    CHECK(c->issued_at == unix_time(2s));
    CHECK(c->key_thumbprint == "T");
    CHECK(c->all["sub"] == "u");
    // A service has no user: its client id is the subject.
    CHECK(read(R"({"iss":"i","azp":"job","exp":1})").claims->subject == "job");
    for (std::string type : {"", "JWT", "jwt", "AT+JWT", "application/at+jwt"})
        CHECK(read(R"({"iss":"i","sub":"u","exp":1})", type).claims);
}

TEST_CASE("AUS-03: tokens with missing or malformed claims are rejected") {
    constexpr std::string_view bad[] = {
        "",
        "[]",
        "1",
        "{}",
        R"({"iss":"i","sub":"u"})",
        R"({"iss":"i","exp":1})",
        R"({"sub":"u","exp":1})",
        R"({"iss":1,"sub":"u","exp":1})",
        R"({"iss":"i","sub":["u"],"exp":1})",
        R"({"iss":"i","sub":"u","exp":"1"})",
        R"({"iss":"i","sub":"u","exp":null})",
        R"({"iss":"i","sub":"u","exp":-1})",
        R"({"iss":"i","sub":"u","exp":1e300})",
        R"({"iss":"i","sub":"u","exp":1,"nbf":"x"})",
        R"({"iss":"i","sub":"u","exp":1,"iat":true})",
        R"({"iss":"i","sub":"u","exp":1,"aud":{}})",
        R"({"iss":"i","sub":"u","exp":1,"aud":[1]})",
        R"({"iss":"i","sub":"u","exp":1,"scope":1})",
        R"({"iss":"i","sub":"u","exp":1,"scope":"a\"b"})",
        R"({"iss":"i","sub":"u","exp":1,"cnf":{}})",
        R"({"iss":"i","sub":"u","exp":1,"cnf":null})",
        R"({"iss":"i","sub":"u","exp":1,"cnf":{"x5t#S256":"a"}})",
        R"({"iss":"i","sub":"u","exp":1,"cnf":{"jkt":"a","x5t#S256":"a"}})",
        R"({"iss":"i","sub":"u","exp":1,"cnf":{"jkt":1}})",
    };
    for (std::string_view each : bad) {
        CAPTURE(each);
        const auto outcome = read(each);
        CHECK(!outcome.claims);
        CHECK(!outcome.problem.empty());
    }
    // ID-JAG, DPoP proof, logout token, ID token of some servers.
    for (std::string type : {"oauth-id-jag+jwt", "dpop+jwt", "logout+jwt", "id_token+jwt", "application/"}) {
        CAPTURE(type);
        CHECK(!read(R"({"iss":"i","sub":"u","exp":1})", type).claims);
    }
}

TEST_CASE("AUS-04: only tokens of a known issuer for this server are accepted, byte by byte") {
    CHECK(check_claims(good(), rules, now) == token_fault::none);
    token_claims c = good();
    c.issuer = "https://as.example/";
    CHECK(check_claims(c, rules, now) == token_fault::wrong_issuer);
    c = good();
    for (std::string audience : {"https://mcp.example/mcp/", "https://mcp.example", "https://MCP.example/mcp", ""}) {
        c.audience = {audience};
        CHECK(check_claims(c, rules, now) == token_fault::wrong_audience);
    }
    c.audience = {};
    CHECK(check_claims(c, rules, now) == token_fault::wrong_audience);
}

TEST_CASE("AUS-03: expired and future tokens are rejected, with the leeway") {
    token_claims c = good();
    CHECK(check_claims(c, rules, c.expires_at + 59s) == token_fault::none);
    CHECK(check_claims(c, rules, c.expires_at + 60s) == token_fault::expired);
    c.not_before = now + 60s;
    CHECK(check_claims(c, rules, now) == token_fault::none);
    CHECK(check_claims(c, rules, now - 1s) == token_fault::not_yet_valid);
    c.not_before = {};
    c.issued_at = now + 61s;
    CHECK(check_claims(c, rules, now) == token_fault::not_yet_valid);
}
