// Forms, scopes, PKCE and secrets.

#include "auth/form.hpp"
#include "auth/pkce.hpp"
#include "auth/scopes.hpp"

#include <keel/secret.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <string>
#include <type_traits>

using namespace keel;
using namespace keel::auth;

TEST_CASE("forms are encoded and decoded as application/x-www-form-urlencoded") {
    form f;
    f.add("grant_type", "authorization_code").add("scope", "a b").add("x", "+&=%~é*");
    CHECK(f.text() == "grant_type=authorization_code&scope=a+b&x=%2B%26%3D%25%7E%C3%A9*");
    const auto parsed = form::parse(f.text());
    REQUIRE(parsed);
    CHECK(parsed->fields() == f.fields());
    CHECK(form::parse("a=1&&b&c=")->fields() ==
          std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", ""}, {"c", ""}});
}

TEST_CASE("invalid and oversized forms are rejected") {
    for (std::string_view text : {"a=%", "a=%4", "a=%zz", "%=1", "a=%00"}) {
        CAPTURE(text);
        CHECK(!form::parse(text));
    }
    std::string large;
    for (std::size_t i = 0; i <= form::max_fields; ++i) large += "a=1&";
    CHECK(!form::parse(large));
}

TEST_CASE("AUC-25: a repeated field has no value") {
    const auto f = form::parse("state=1&state=2&code=x");
    REQUIRE(f);
    CHECK(f->field("state") == std::nullopt);
    CHECK(f->repeats("state"));
    CHECK(f->field("code") == "x");
    CHECK(!f->repeats("code"));
    CHECK(f->field("iss") == std::nullopt);
}

TEST_CASE("parameters are added to a URL with and without a query") {
    form f;
    f.add("a", "1");
    CHECK(with_query("https://x/authorize", f) == "https://x/authorize?a=1");
    CHECK(with_query("https://x/authorize?", f) == "https://x/authorize?a=1");
    CHECK(with_query("https://x/authorize?t=2", f) == "https://x/authorize?t=2&a=1");
    CHECK(with_query("https://x/authorize#f", f) == "https://x/authorize?a=1#f");
    CHECK(with_query("https://x/authorize", {}) == "https://x/authorize");
}

TEST_CASE("scopes are parsed, combined and compared as sets") {
    const auto s = scope_set::parse("  b a  b ");
    REQUIRE(s);
    CHECK(s->text() == "b a");
    CHECK(*s == scope_set{"a", "b"});
    CHECK(s->contains(scope_set{"a"}));
    CHECK(!s->contains(scope_set{"a", "c"}));
    scope_set all = *s;
    all.add(scope_set{"c", "a"});
    CHECK(all.text() == "b a c");
    CHECK(scope_set::parse("")->empty());
    for (std::string_view bad : {"a\"b", "a\\", "a\tb", "\x7f", "é"}) {
        CAPTURE(bad);
        CHECK(!scope_set::parse(bad));
    }
    std::string many;
    for (std::size_t i = 0; i <= max_scopes; ++i) many += 's' + std::to_string(i) + ' ';
    CHECK(!scope_set::parse(many));
}

TEST_CASE("AUS-07: scopes include the scopes that they imply, also through others and in cycles") {
    const scope_hierarchy h({{"admin", {"write"}}, {"write", {"read"}}, {"read", {"admin"}}, {"x", {"y"}}});
    CHECK(h.expand({"write"}) == scope_set{"write", "read", "admin"});
    CHECK(h.satisfies({"admin"}, {"read", "write"}));
    CHECK(!h.satisfies({"read"}, {"y"}));
    const scope_hierarchy none;
    CHECK(none.satisfies({"a"}, {"a"}));
    CHECK(!none.satisfies({"a"}, {"b"}));
    CHECK(none.satisfies({}, {}));
}

TEST_CASE("AUC-06: the code challenge is that of RFC 7636, appendix B") {
    const secret verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    CHECK(code_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST_CASE("AUC-06: random texts have 43 characters, and no two are equal") {
    const secret a = random_text(make_random_bytes());
    const secret b = random_text(make_random_bytes());
    CHECK(a.size() == 43);
    CHECK(!secret::equal(a, b));
    CHECK(random_text(random_bytes{}).reveal() == std::string(43, 'A'));
}

TEST_CASE("AUS-09: a secret can be copied and moved, but not printed, converted or compared with ==") {
    secret a("hush");
    secret copy = a;
    CHECK(copy.reveal() == "hush");
    secret moved = std::move(copy);
    CHECK(copy.empty());  // NOLINT: a moved-from secret is empty
    CHECK(secret::equal(a, moved));
    CHECK(!secret::equal(a, secret("hush!")));
    CHECK(!secret::equal(a, secret("husk")));
    CHECK(secret::equal(secret(), secret()));
    secret& same = a;
    a = same;
    a = std::move(same);
    CHECK(a.reveal() == "hush");
    a = secret("new");
    CHECK(a.reveal() == "new");
    static_assert(!std::equality_comparable<secret>);
    static_assert(!std::is_convertible_v<secret, std::string_view>);
    static_assert(!std::is_convertible_v<std::string, secret>);
}
