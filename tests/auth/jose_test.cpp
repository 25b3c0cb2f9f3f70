// Keys, signatures and JWTs against published vectors and altered tokens.

#include "auth/digest.hpp"
#include "auth/jwk.hpp"
#include "auth/jws.hpp"
#include "support/test_data.hpp"

#include <keel/base64.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

using namespace keel;
using namespace keel::auth;

namespace {

constexpr algorithm_set all_algorithms = {algorithm::rs256, algorithm::rs384, algorithm::rs512, algorithm::ps256,
                                          algorithm::ps384, algorithm::ps512, algorithm::es256, algorithm::es384,
                                          algorithm::es512, algorithm::eddsa};

public_key key_of(std::string_view jwk) {
    std::string problem;
    auto key = public_key::from_jwk(json::parse(jwk), problem);
    REQUIRE_MESSAGE(key.has_value(), problem);
    return *key;
}

std::string refusal_of(std::string_view jwk) {
    std::string problem;
    CHECK(!public_key::from_jwk(json::parse(jwk), problem));
    return problem;
}

key_set set_of(std::initializer_list<std::string_view> keys) {
    std::string text = R"({"keys":[)";
    for (std::string_view each : keys) {
        if (text.back() != '[') text += ',';
        text += each;
    }
    std::string problem;
    auto set = key_set::parse(text + "]}", problem);
    REQUIRE_MESSAGE(set.has_value(), problem);
    return *set;
}

jws_verdict verdict_on(std::string_view token, const key_set& keys, algorithm_set allowed = all_algorithms) {
    std::string problem;
    const auto jws = parse_jws(token, 16 * 1024, problem);
    return jws ? verify_jws(*jws, keys, allowed) : jws_verdict::invalid;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// RFC 7515, appendices A.2.1 and A.3.1; RFC 8037, appendix A.
constexpr std::string_view rfc7515_rsa =
    R"({"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"})";
constexpr std::string_view rfc7515_rs256 =
    "eyJhbGciOiJSUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
    "O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjb"
    "KBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"
    "eOkHWEsqtFZES"
    "c6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
constexpr std::string_view rfc7515_ec =
    R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
constexpr std::string_view rfc7515_es256 =
    "eyJhbGciOiJFUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
constexpr std::string_view rfc8037_key =
    R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})";
constexpr std::string_view rfc8037_eddsa =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

}  // namespace

TEST_CASE("AUS-03: the signatures of RFC 7515 and RFC 8037 are valid") {
    CHECK(verdict_on(rfc7515_rs256, set_of({rfc7515_rsa})) == jws_verdict::valid);
    CHECK(verdict_on(rfc7515_es256, set_of({rfc7515_ec})) == jws_verdict::valid);
    CHECK(verdict_on(rfc8037_eddsa, set_of({rfc8037_key})) == jws_verdict::valid);
    CHECK(verdict_on(rfc7515_es256, set_of({rfc7515_rsa, rfc7515_ec, rfc8037_key})) == jws_verdict::valid);
}

TEST_CASE("the thumbprints of RFC 7638 and RFC 8037 are computed") {
    CHECK(
        key_of(
            R"({"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"})")
            .thumbprint() == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    CHECK(key_of(rfc8037_key).thumbprint() == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    CHECK(key_of(rfc7515_ec).jwk() == json::parse(rfc7515_ec));
    CHECK(key_of(rfc7515_rsa).jwk() == json::parse(rfc7515_rsa));
}

TEST_CASE("AUS-03: every altered byte makes a token invalid") {
    const std::map<std::string_view, std::string_view> tokens = {
        {rfc7515_rs256, rfc7515_rsa}, {rfc7515_es256, rfc7515_ec}, {rfc8037_eddsa, rfc8037_key}};
    for (const auto& [token, key] : tokens) {
        const key_set keys = set_of({key});
        std::size_t valid = 0;
        for (std::size_t i = 0; i < token.size(); ++i) {
            std::string altered(token);
            altered[i] = altered[i] == 'A' ? 'B' : 'A';
            if (verdict_on(altered, keys) == jws_verdict::valid) ++valid;
        }
        CHECK(valid == 0);
    }
}

TEST_CASE("AUS-03: tokens that are not three parts of canonical base64url with a supported header are rejected") {
    const key_set keys = set_of({rfc7515_ec});
    const auto token = [](std::string_view header) {
        const std::size_t first = rfc7515_es256.find('.');
        return base64url_encode(header) + std::string(rfc7515_es256.substr(first));
    };
    const std::string valid(rfc7515_es256);
    const std::string bad[] = {
        "",
        ".",
        "..",
        "a.b.c",
        valid + ".",
        valid + ".x",
        '.' + valid,
        valid + "=",
        valid + " ",
        ' ' + valid,
        valid + "\n",
        valid.substr(0, valid.rfind('.')),
        valid.substr(0, valid.rfind('.') + 1),
        token(R"({"alg":"none"})"),
        token(R"({"alg":"None"})"),
        token(R"({"alg":"HS256"})"),
        token(R"({"alg":"es256"})"),
        token(R"({"alg":["ES256"]})"),
        token(R"({})"),
        token(R"([])"),
        token(R"("ES256")"),
        token("{"),
        token(R"({"alg":"ES256","crit":["exp"],"exp":1})"),
        token(R"({"alg":"ES256","crit":[]})"),
        token(R"({"alg":"ES256","b64":false})"),
        token(R"({"alg":"ES256","kid":1})"),
        token(R"({"alg":"ES256","typ":null})"),
    };
    for (const std::string& each : bad) {
        CAPTURE(each);
        std::string problem;
        CHECK(!parse_jws(each, 16 * 1024, problem));
        CHECK(!problem.empty());
    }
    std::string problem;
    CHECK(!parse_jws(valid, valid.size() - 1, problem));
    CHECK(parse_jws(valid, valid.size(), problem));
}

TEST_CASE("AUS-03: an algorithm that is not allowed makes a token invalid") {
    CHECK(verdict_on(rfc7515_es256, set_of({rfc7515_ec}), {algorithm::rs256}) == jws_verdict::invalid);
}

TEST_CASE("AUS-03: a key is used only if its name, type and algorithm fit") {
    const signing_key key = signing_key::make_es256();
    json::value jwk = key.public_part().jwk();
    const auto with = [&](std::string_view name, json::value v) {
        json::value out = jwk;
        out.set(name, std::move(v));
        std::string text;
        REQUIRE(json::write(text, out));
        return text;
    };
    const std::string named = write_jws(json::object("kid", "k1"), "x", key, algorithm::es256);
    const std::string unnamed = write_jws(json::object(), "x", key, algorithm::es256);

    CHECK(verdict_on(named, set_of({with("kid", "k1")})) == jws_verdict::valid);
    CHECK(verdict_on(named, set_of({with("kid", "k2")})) == jws_verdict::unknown_key);
    CHECK(verdict_on(named, set_of({with("use", "sig")})) == jws_verdict::valid);
    CHECK(verdict_on(named, set_of({with("alg", "ES256")})) == jws_verdict::valid);
    CHECK(verdict_on(unnamed, set_of({with("kid", "k2")})) == jws_verdict::valid);
    CHECK(verdict_on(named, set_of({})) == jws_verdict::unknown_key);
    CHECK(verdict_on(named, set_of({rfc7515_rsa})) == jws_verdict::unknown_key);
    // Another key with the same name: the signature is wrong, and no newer key can be expected. Without a name it can.
    std::string other(rfc7515_ec);
    CHECK(verdict_on(unnamed, set_of({other})) == jws_verdict::unknown_key);
    other.insert(1, R"("kid":"k1",)");
    CHECK(verdict_on(named, set_of({other})) == jws_verdict::invalid);
}

TEST_CASE("AUS-03: keys that cannot verify signatures are refused with a reason") {
    const std::string ec(rfc7515_ec);
    const auto with = [](std::string_view base, std::string_view members) {
        std::string out(base);
        return out.insert(1, std::string(members) + ',');
    };
    CHECK(refusal_of("[]") == "a key must be an object");
    CHECK(refusal_of(with(ec, R"("use":"enc")")) == "the key is not for verifying signatures (use, key_ops)");
    CHECK(refusal_of(with(ec, R"("key_ops":["encrypt"])")) == "the key is not for verifying signatures (use, key_ops)");
    CHECK(refusal_of(with(ec, R"("alg":"RS256")")) == "the algorithm of the key (alg) does not fit its type");
    CHECK(refusal_of(with(ec, R"("alg":"HS256")")) == "unsupported algorithm of the key (alg)");
    CHECK(refusal_of(R"({"kty":"oct","k":"AAAA"})") == "unsupported type of key (kty, crv)");
    CHECK(refusal_of(R"({"kty":"EC","crv":"secp256k1","x":"","y":""})") == "unsupported type of key (kty, crv)");
    CHECK(refusal_of(R"({"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})") ==
          "unsupported type of key (kty, crv)");
    CHECK(refusal_of(R"({"kty":"OKP","crv":"Ed25519","x":"AAAA"})") == "an Ed25519 key needs x: 32 bytes in base64url");
    std::string off_curve = ec;
    off_curve.replace(off_curve.find("f83O"), 4, "f83P");
    CHECK(refusal_of(off_curve) == "the point of the EC key is not on its curve");
    CHECK(refusal_of(R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})") ==
          "an EC key needs x and y in base64url, each with the full length of the curve");
    CHECK(refusal_of(R"({"kty":"RSA","n":"AQAB","e":"AQAB"})") ==
          "the modulus of an RSA key must be odd and have 2048 to 8192 bits");
    std::string rsa(rfc7515_rsa);
    rsa.replace(rsa.find("AQAB\"}"), 4, "AQ");
    CHECK(refusal_of(rsa) == "the exponent of an RSA key must be odd and greater than 1");
    CHECK(refusal_of(R"({"kty":"RSA","n":")" + std::string(4000, 'A') + R"(","e":"AQAB"})") ==
          "an RSA key needs n and e in base64url, at most 8192 and 64 bits");
}

TEST_CASE("a key set skips keys that it cannot use and is limited") {
    CHECK(set_of({R"({"kty":"oct","k":"AAAA"})", R"("text")", rfc7515_ec}).keys().size() == 1);
    std::string many = R"({"keys":[)";
    for (int i = 0; i < 100; ++i) many.append(i == 0 ? "" : ",").append(rfc8037_key);
    std::string problem;
    CHECK(key_set::parse(many + "]}", problem)->keys().size() == key_set::max_keys);
    for (std::string_view bad : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":null})", "<html>"}) {
        CAPTURE(bad);
        CHECK(!key_set::parse(bad, problem));
    }
}

TEST_CASE("AUS-03: the result of every signature vector of Wycheproof is the marked one") {
    if (test::test_data_missing("wycheproof")) return;
    const json::value data =
        json::parse(read_file(*test::find_test_data("wycheproof") / "json_web_signature_test.json"), {.max_depth = 64});
    std::size_t tests = 0;
    std::size_t accepted = 0;
    std::set<std::int64_t> wrong;
    for (const json::value& group : data["testGroups"]) {
        const json::value& jwk = group.contains("public") ? group["public"] : group["private"];
        std::string text;
        REQUIRE(json::write(text, json::object("keys", json::array(jwk))));
        std::string problem;
        const auto keys = key_set::parse(text, problem);
        REQUIRE(keys);
        // Symmetric keys must be rejected, and "ES521" is not the name of an algorithm.
        const bool ours = jwk["kty"] != "oct" && jwk["alg"] != "ES521";
        // Two tokens that are marked as valid use PS384 with a key for PS256. Keel uses a key only for its own algorithm.
        const std::set<std::int64_t> other_algorithm = {346, 350};
        for (const json::value& each : group["tests"]) {
            ++tests;
            const bool valid = verdict_on(each["jws"].value_or(""), *keys) == jws_verdict::valid;
            accepted += valid ? 1 : 0;
            const std::int64_t id = each["tcId"].as_int();
            const bool expected = ours && each["result"] == "valid" && !other_algorithm.contains(id);
            if (valid != expected) wrong.insert(id);
        }
    }
    MESSAGE("Wycheproof: " << tests << " vectors, " << accepted << " accepted, " << wrong.size() << " wrong");
    CHECK(tests == 401);
    CHECK(accepted > 20);
    for (std::int64_t id : wrong) FAIL_CHECK("tcId " << id);
}

TEST_CASE("each algorithm verifies what it has signed") {
    // Made with: openssl genpkey -algorithm …
    const signing_key ec = signing_key::make_es256();
    const std::string token = write_jws(json::object("typ", "JWT"), R"({"a":1})", ec, algorithm::es256);
    std::string problem;
    const auto parsed = parse_jws(token, 8192, problem);
    REQUIRE(parsed);
    CHECK(parsed->payload == R"({"a":1})");
    CHECK(parsed->type == "JWT");
    CHECK(ec.public_part().verify(algorithm::es256, parsed->signed_text, parsed->signature));
    CHECK(!ec.public_part().verify(algorithm::es384, parsed->signed_text, parsed->signature));
    CHECK_THROWS_AS(ec.sign(algorithm::rs256, "x"), std::invalid_argument);
    // The stored form gives the same key.
    const signing_key again = signing_key::from_pem(ec.pem());
    CHECK(again.public_part().thumbprint() == ec.public_part().thumbprint());
    CHECK(again.default_algorithm() == algorithm::es256);
    CHECK_THROWS_AS(signing_key::from_pem(secret("no key")), std::invalid_argument);
    CHECK_THROWS_AS(signing_key::from_pem(secret("")), std::invalid_argument);
}
