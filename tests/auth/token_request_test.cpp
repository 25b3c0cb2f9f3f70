#include "auth/token_request.hpp"

#include <keel/base64.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using namespace keel::auth;
using namespace std::chrono_literals;

namespace {

constexpr unix_time request_time{1'800'000'000s};
const std::string mcp_url = "https://mcp.example/mcp";

std::string problem_with(std::string_view body, bool expects_id_jag = false) {
    std::string problem;
    CHECK(!token_response::parse(body, expects_id_jag, problem));
    return problem;
}

login_record login() {
    return {.issuer = "https://as.example",
            .sends_issuer = false,
            .state = secret("st ate"),
            .verifier = secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            .redirect_uri = "http://127.0.0.1:4711/callback",
            .resource = mcp_url,
            .scopes = {"a", "b"}};
}

using kind = login_outcome::kind;

}  // namespace

TEST_CASE("AUC-08: every grant names the resource, byte for byte") {
    const secret token("T");
    CHECK(authorization_code_request("C", secret("V"), "http://127.0.0.1:1/callback", mcp_url).fields.text() ==
          "grant_type=authorization_code&resource=https%3A%2F%2Fmcp.example%2Fmcp&code=C&redirect_uri="
          "http%3A%2F%2F127.0.0.1%3A1%2Fcallback&code_verifier=V");
    CHECK(refresh_request(token, mcp_url).fields.text() ==
          "grant_type=refresh_token&resource=https%3A%2F%2Fmcp.example%2Fmcp&refresh_token=T");
    CHECK(refresh_request(token, "").fields.text() == "grant_type=refresh_token&refresh_token=T");
}

TEST_CASE("CCX-02: the client credentials request") {
    CHECK(client_credentials_request({"a", "b"}, "r").fields.text() ==
          "grant_type=client_credentials&resource=r&scope=a+b");
    CHECK(client_credentials_request({}, "r").fields.text() == "grant_type=client_credentials&resource=r");
}

TEST_CASE("EMA-01: the token exchange asks the identity provider for an ID-JAG") {
    const auto r = token_exchange_request(secret("IDT"), id_token_type, "https://as", {"s"}, "r").fields;
    CHECK(r.field("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange");
    CHECK(r.field("requested_token_type") == "urn:ietf:params:oauth:token-type:id-jag");
    CHECK(r.field("subject_token_type") == "urn:ietf:params:oauth:token-type:id_token");
    CHECK(r.field("subject_token") == "IDT");
    CHECK(r.field("audience") == "https://as");
    CHECK(r.field("resource") == "r");
    CHECK(r.field("scope") == "s");
}

TEST_CASE("EMA-03: the ID-JAG is the assertion of the jwt-bearer grant") {
    const auto r = jwt_bearer_request(secret("JAG"), {}, "r").fields;
    CHECK(r.text() == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&resource=r&assertion=JAG");
}

TEST_CASE("a client authenticates with the method it is registered for") {
    const server_metadata server{.issuer = "https://as"};
    const auto with = [&](client_identity c) {
        endpoint_request r;
        authenticate(r, c, server, {}, request_time);
        return r;
    };
    CHECK(with({.client_id = "me"}).fields.text() == "client_id=me");
    const auto basic =
        with({.client_id = "m:e", .method = client_auth_method::client_secret_basic, .client_secret = secret("p w%")});
    CHECK(basic.fields.text().empty());
    REQUIRE(basic.headers.size() == 1);
    CHECK(basic.headers[0].second == "Basic " + base64_encode("m%3Ae:p+w%25"));
    CHECK(with({.client_id = "me", .method = client_auth_method::client_secret_post, .client_secret = secret("s")})
              .fields.text() == "client_id=me&client_secret=s");
}

TEST_CASE("CCX-03: the assertion names the client, the issuer as audience, and expires") {
    const signing_key key = signing_key::make_es256();
    endpoint_request r;
    authenticate(r, {.client_id = "job", .method = client_auth_method::private_key_jwt, .key = key},
                 {.issuer = "https://as", .token_auth_algorithms = {"RS256", "ES256"}}, random_bytes{1}, request_time);
    CHECK(r.fields.field("client_id") == std::nullopt);
    CHECK(r.fields.field("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    std::string problem;
    const std::string assertion(r.fields.field("client_assertion").value());
    const auto jws = parse_jws(assertion, 8192, problem);
    REQUIRE_MESSAGE(jws, problem);
    CHECK(key.public_part().verify(algorithm::es256, jws->signed_text, jws->signature));
    const json::value claims = json::parse(jws->payload);
    CHECK(claims["iss"] == "job");
    CHECK(claims["sub"] == "job");
    CHECK(claims["aud"] == "https://as");
    CHECK(claims["iat"].as_int() == 1'800'000'000);
    CHECK(claims["exp"].as_int() == 1'800'000'060);
    CHECK(claims["jti"].as_string().size() == 43);
}

TEST_CASE("CCX-01: the authentication method is one that both sides have") {
    using m = client_auth_method;
    const client_identity open{.client_id = "a"};
    const client_identity with_secret{.client_id = "a", .client_secret = secret("s")};
    const client_identity with_key{.client_id = "a", .key = signing_key::make_es256()};
    const auto choose = [](const client_identity& c, std::vector<std::string> offered) {
        return choose_auth_method(c, {.token_auth_methods = std::move(offered)});
    };
    CHECK(choose(open, {"client_secret_basic", "none"}) == m::none);
    CHECK(choose(open, {"client_secret_basic"}) == std::nullopt);
    CHECK(choose(open, {}) == m::none);
    CHECK(choose(with_secret, {"none", "client_secret_post", "client_secret_basic"}) == m::client_secret_basic);
    CHECK(choose(with_secret, {"client_secret_post"}) == m::client_secret_post);
    CHECK(choose(with_secret, {}) == m::client_secret_basic);
    CHECK(choose(with_secret, {"none"}) == std::nullopt);
    CHECK(choose(with_key, {"private_key_jwt"}) == m::private_key_jwt);
    CHECK(choose(with_key, {}) == m::private_key_jwt);
    CHECK(choose(with_key, {"client_secret_basic"}) == std::nullopt);
}

TEST_CASE("a token response is read, with and without its optional members") {
    std::string problem;
    const auto full = token_response::parse(
        R"({"access_token":"A","token_type":"bearer","expires_in":3600,"refresh_token":"R","scope":"a b"})", false,
        problem);
    REQUIRE_MESSAGE(full, problem);
    CHECK(full->access_token.reveal() == "A");
    CHECK(!full->dpop);
    CHECK(full->expires_in == 3600s);
    CHECK(full->refresh_token->reveal() == "R");
    CHECK(*full->scopes == scope_set{"a", "b"});
    const auto least =
        token_response::parse(R"({"access_token":"A","token_type":"DPoP","refresh_token":null})", false, problem);
    REQUIRE_MESSAGE(least, problem);
    CHECK(least->dpop);
    CHECK(!least->expires_in);
    CHECK(!least->refresh_token);
    CHECK(!least->scopes);
    CHECK(token_response::parse(R"({"access_token":"A","token_type":"Bearer","expires_in":"60"})", false, problem)
              ->expires_in == 60s);
    CHECK(token_response::parse(R"({"access_token":"A","token_type":"Bearer","expires_in":1e300})", false, problem)
              ->expires_in == token_response::longest);
}

TEST_CASE("malformed token responses are refused, and the reason shows no token") {
    CHECK(problem_with("<html>") == "not a JSON object");
    CHECK(problem_with("[]") == "not a JSON object");
    constexpr std::string_view no_token = "access_token is missing or is not visible ASCII of at most 16 KB";
    CHECK(problem_with(R"({"token_type":"bearer"})") == no_token);
    CHECK(problem_with(R"({"access_token":"","token_type":"bearer"})") == no_token);
    CHECK(problem_with(R"({"access_token":"a b","token_type":"bearer"})") == no_token);
    CHECK(problem_with(R"({"access_token":"a\r\nX: y","token_type":"bearer"})") == no_token);
    CHECK(problem_with(R"({"access_token":")" + std::string(20000, 'a') + R"(","token_type":"bearer"})") == no_token);
    CHECK(problem_with(R"({"access_token":"CANARY"})") == "token_type is missing");
    CHECK(problem_with(R"({"access_token":"CANARY","token_type":"mac"})") == "unsupported token_type");
    for (std::string_view bad : {"-1", "\"x\"", "true", "[]", "\"\""}) {
        CAPTURE(bad);
        CHECK(problem_with(R"({"access_token":"CANARY","token_type":"bearer","expires_in":)" + std::string(bad) +
                           "}") == "expires_in is not a number of seconds");
    }
    CHECK(problem_with(R"({"access_token":"A","token_type":"bearer","refresh_token":"a b"})") ==
          "refresh_token is not visible ASCII of at most 16 KB");
    CHECK(problem_with(R"({"access_token":"A","token_type":"bearer","scope":[]})") == "scope is not a list of scopes");
}

TEST_CASE("EMA-02: the response of the identity provider must be an ID-JAG") {
    std::string problem;
    CHECK(token_response::parse(
        R"({"access_token":"J","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"})",
        true, problem));
    CHECK(problem_with(R"({"access_token":"J","token_type":"N_A"})", true) ==
          "issued_token_type is not that of an ID-JAG");
    CHECK(
        problem_with(
            R"({"access_token":"J","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"})",
            true) == "token_type is not N_A");
    CHECK(problem_with(R"({"access_token":"J","token_type":"N_A"})") == "unsupported token_type");
}

TEST_CASE("errors of an authorization server are shown as short printable text") {
    CHECK(oauth_error::parse(R"({"error":"invalid_grant","error_description":"expired"})").text() ==
          "invalid_grant: expired");
    CHECK(oauth_error::parse(R"({"error":"invalid_grant"})").text() == "invalid_grant");
    CHECK(oauth_error::parse("<html>").text().empty());
    CHECK(oauth_error::parse(R"({"error":7})").text().empty());
    CHECK(oauth_error::parse(R"({"error":"a\u001b[31m\n"})").code == "a?[31m?");
    CHECK(oauth_error::parse(R"({"error":")" + std::string(1000, 'x') + "\"}").code.size() == 200);
}

TEST_CASE("AUC-27: the values of a registration response apply, not the requested ones") {
    std::string problem;
    const auto with_secret = registration_response::parse(
        R"({"client_id":"c","client_secret":"s","client_secret_expires_at":1800000000,"token_endpoint_auth_method":"client_secret_post"})",
        client_auth_method::none, problem);
    REQUIRE_MESSAGE(with_secret, problem);
    CHECK(with_secret->client.client_id == "c");
    CHECK(with_secret->client.method == client_auth_method::client_secret_post);
    CHECK(with_secret->client.client_secret.reveal() == "s");
    CHECK(with_secret->secret_expires_at == request_time);
    const auto open = registration_response::parse(R"({"client_id":"c","client_secret_expires_at":0})",
                                                   client_auth_method::none, problem);
    REQUIRE_MESSAGE(open, problem);
    CHECK(open->client.method == client_auth_method::none);
    CHECK(!open->secret_expires_at);
    for (std::string_view bad : {"", "[]", "{}", R"({"client_id":""})", R"({"client_id":1})",
                                 R"({"client_id":"c","token_endpoint_auth_method":"client_secret_basic"})",
                                 R"({"client_id":"c","token_endpoint_auth_method":"tls_client_auth"})",
                                 R"({"client_id":"c","client_secret":"a b"})"}) {
        CAPTURE(bad);
        problem.clear();
        CHECK(!registration_response::parse(bad, client_auth_method::none, problem));
        CHECK(!problem.empty());
    }
}

TEST_CASE("AUC-06: the authorization URL has PKCE, state, scopes and resource, and keeps the server's own parameters") {
    const server_metadata server{.authorization_endpoint = "https://as.example/authorize?tenant=x"};
    CHECK(authorization_url(server, login(), "https://app/client.json") ==
          "https://as.example/"
          "authorize?tenant=x&response_type=code&client_id=https%3A%2F%2Fapp%2Fclient.json&redirect_uri=http%3A%"
          "2F%2F127.0.0.1%3A4711%2Fcallback&state=st+ate&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&"
          "code_challenge_"
          "method=S256&scope=a+b&resource=https%3A%2F%2Fmcp.example%2Fmcp");
    login_record offline = login();
    offline.scopes = {"offline_access"};
    CHECK(authorization_url(server, offline, "c").ends_with("&prompt=consent"));
}

TEST_CASE("AUC-25: a callback without the right state is not ours") {
    for (std::string_view query : {"", "code=c", "code=c&state=", "code=c&state=st+at", "code=c&state=x&state=st+ate",
                                   "state=st+ate&state=st+ate&code=c", "%", "error=access_denied"}) {
        CAPTURE(query);
        CHECK(read_callback(query, login()).what == kind::not_ours);
    }
    const auto good = read_callback("code=c%2B&state=st+ate", login());
    CHECK(good.what == kind::code);
    CHECK(good.code.reveal() == "c+");
}

TEST_CASE("AUC-13: the issuer of a callback is compared byte by byte") {
    const auto outcome = [](bool promised, std::string_view iss) {
        login_record record = login();
        record.sends_issuer = promised;
        return read_callback("code=c&state=st+ate" + std::string(iss), record).what;
    };
    for (bool promised : {false, true}) {
        CHECK(outcome(promised, "&iss=https%3A%2F%2Fas.example") == kind::code);
        CHECK(outcome(promised, "&iss=https%3A%2F%2Fas.example%2F") == kind::wrong_issuer);
        CHECK(outcome(promised, "&iss=https%3A%2F%2FAS.example") == kind::wrong_issuer);
        CHECK(outcome(promised, "&iss=") == kind::wrong_issuer);
        CHECK(outcome(promised, "&iss=https%3A%2F%2Fas.example&iss=x") == kind::wrong_issuer);
    }
    CHECK(outcome(true, "") == kind::wrong_issuer);
    CHECK(outcome(false, "") == kind::code);
}

TEST_CASE("AUC-14: after a wrong issuer neither the code nor the error is used or shown") {
    const auto out =
        read_callback("error=evil&error_description=click+here&code=c&state=st+ate&iss=https%3A%2F%2Fevil", login());
    CHECK(out.what == kind::wrong_issuer);
    CHECK(out.error.text().empty());
    CHECK(out.code.empty());
}

TEST_CASE("a callback is an error, a code, or malformed") {
    const auto denied = read_callback("error=access_denied&error_description=no%0Away&state=st+ate", login());
    CHECK(denied.what == kind::denied);
    CHECK(denied.error.text() == "access_denied: no?way");
    CHECK(read_callback("state=st+ate", login()).what == kind::malformed);
    CHECK(read_callback("state=st+ate&code=", login()).what == kind::malformed);
    CHECK(read_callback("state=st+ate&code=a&code=b", login()).what == kind::malformed);
}
