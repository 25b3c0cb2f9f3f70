#include "auth/challenge.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace keel::auth;

namespace {

/// "Bearer{realm=x,scope=a b} Basic(abc=)": short enough to compare.
std::string show(const std::vector<challenge>& list) {
    std::string out;
    for (const challenge& c : list) {
        if (!out.empty()) out += ' ';
        out += c.scheme;
        if (!c.token68.empty()) out += '(' + c.token68 + ')';
        if (c.parameters.empty()) continue;
        out += '{';
        for (const auto& [name, value] : c.parameters) {
            if (out.back() != '{') out += ',';
            out.append(name).append("=").append(value);
        }
        out += '}';
    }
    return out;
}

}  // namespace

TEST_CASE("AUC-03: WWW-Authenticate is parsed with all of its challenges") {
    struct example {
        std::string_view line;
        std::string_view expected;
    };
    constexpr example examples[] = {
        {"Bearer", "Bearer"},
        {"", ""},
        {" , ,", ""},
        {R"(Bearer resource_metadata="https://x/.well-known/y", scope="a b")",
         "Bearer{resource_metadata=https://x/.well-known/y,scope=a b}"},
        {R"(bearer Realm=plain,SCOPE = "x")", "bearer{realm=plain,scope=x}"},
        {"Negotiate", "Negotiate"},
        {"Negotiate YWJj==", "Negotiate(YWJj==)"},
        {"Negotiate YWJj, Bearer scope=a", "Negotiate(YWJj) Bearer{scope=a}"},
        {R"(Basic realm="a, b", Bearer error="invalid_token", DPoP algs="ES256 PS256")",
         "Basic{realm=a, b} Bearer{error=invalid_token} DPoP{algs=ES256 PS256}"},
        {R"(Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple")",
         R"(Newauth{realm=apps,type=1,title=Login to "apps"} Basic{realm=simple})"},
        {"Basic , Bearer", "Basic Bearer"},
        {"Bearer,scope=a", "Bearer{scope=a}"},
        // Malformed parts are skipped; the rest is used.
        {R"(Bearer scope="never ends)", "Bearer"},
        {R"(scope="a", Bearer realm=x)", "Bearer{realm=x}"},
        {R"(@@@, Bearer realm=x)", "Bearer{realm=x}"},
        {R"(Bearer realm=@, scope=a)", "Bearer{scope=a}"},
        {R"(Bearer realm="a\)", "Bearer"},
        {R"(Bearer scope="")", "Bearer{scope=}"},
    };
    for (const example& e : examples) {
        CAPTURE(e.line);
        CHECK(show(parse_challenges({e.line})) == e.expected);
    }
    CHECK(show(parse_challenges({"Basic realm=x", "Bearer scope=a"})) == "Basic{realm=x} Bearer{scope=a}");
}

TEST_CASE("AUC-03: the scheme is compared without regard to case, and a repeated parameter is ignored") {
    const auto list = parse_challenges({R"(BEARER scope=a, scope=b, error="x")"});
    REQUIRE(list.size() == 1);
    CHECK(list[0].has_scheme("bearer"));
    CHECK(!list[0].has_scheme("dpop"));
    CHECK(list[0].parameter("error") == "x");
    CHECK(list[0].parameter("scope") == std::nullopt);
    CHECK(list[0].parameter("realm") == std::nullopt);
}

TEST_CASE("the number of challenges and parameters is limited") {
    std::string line;
    for (int i = 0; i < 1000; ++i) line += "Basic, ";
    CHECK(parse_challenges({line}).size() == max_challenges);
    std::string long_one = "Bearer ";
    for (int i = 0; i < 1000; ++i) long_one += "p" + std::to_string(i) + "=1, ";
    const auto list = parse_challenges({long_one});
    REQUIRE(list.size() == 1);
    CHECK(list[0].parameters.size() == max_parameters);
}

TEST_CASE("a written challenge is parsed as it was, without control characters") {
    const challenge c{.scheme = "Bearer",
                      .parameters = {{"error", "invalid_token"}, {"error_description", R"(a "b" \c)"}}};
    CHECK(write_challenge(c) == R"(Bearer error="invalid_token", error_description="a \"b\" \\c")");
    CHECK(parse_challenges({write_challenge(c)}) == std::vector{c});
    CHECK(write_challenge({.scheme = "Bearer", .parameters = {{"scope", "a\r\nSet-Cookie: b"}}}) ==
          R"(Bearer scope="aSet-Cookie: b")");
    CHECK(write_challenge({.scheme = "Negotiate", .token68 = "abc="}) == "Negotiate abc=");
}
