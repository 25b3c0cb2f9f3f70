#include "auth/token_judge.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace keel;
using namespace keel::auth;
using namespace std::chrono_literals;

namespace {

constexpr unix_time judge_time{1'800'000'000s};
using judged = judgement::kind;

struct judge_fixture {
    signing_key key = signing_key::make_es256();
    token_judge judge{
        {.rules = {.issuers = {"https://as"}, .audiences = {"https://mcp"}}, .max_cached = 4, .max_failures = 3}};

    static std::shared_ptr<const key_snapshot> snapshot(
        std::initializer_list<std::pair<const char*, const signing_key*>> list) {
        json::value keys = json::array();
        for (const auto& [name, each] : list) {
            json::value jwk = each->public_part().jwk();
            jwk.set("kid", name);
            keys.push_back(jwk);
        }
        std::string text;
        std::string problem;
        REQUIRE(json::write(text, json::object("keys", keys)));
        return std::make_shared<const key_snapshot>(key_snapshot{"https://as", *key_set::parse(text, problem)});
    }
    static secret token(const signing_key& with, std::string_view name, json::value changes = {}) {
        json::value claims = json::object("iss", "https://as", "sub", "u", "aud", "https://mcp", "exp", 1'800'000'600);
        for (const auto& [member, content] : changes.members()) claims.set(member, content);
        std::string text;
        REQUIRE(json::write(text, claims));
        return secret(write_jws(json::object("kid", name, "typ", "at+jwt"), text, with, algorithm::es256));
    }
};

}  // namespace

TEST_CASE("AUS-03: a valid token is accepted, and known the next time") {
    judge_fixture f;
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    const secret t = f.token(f.key, "k");
    const judgement first = f.judge.judge(t, judge_time);
    REQUIRE(first.what == judged::accepted);
    CHECK(first.claims->subject == "u");
    const judgement second = f.judge.judge(t, judge_time + 1s);
    REQUIRE(second.what == judged::accepted);
    CHECK(second.claims == first.claims);  // the same object: nothing was parsed
    CHECK(f.judge.cached() == 1);
}

TEST_CASE("AUS-03: a known token is rejected as soon as it has expired") {
    judge_fixture f;
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    const secret t = f.token(f.key, "k", json::object("exp", 1'800'000'010));
    CHECK(f.judge.judge(t, judge_time).what == judged::accepted);
    CHECK(f.judge.judge(t, judge_time + 69s).what == judged::accepted);
    const judgement late = f.judge.judge(t, judge_time + 70s);
    CHECK(late.what == judged::rejected);
    CHECK(late.refusal == token_refusal::expired);
}

TEST_CASE("AUS-04: tokens for others, of others and garbage are rejected without being remembered") {
    judge_fixture f;
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    CHECK(f.judge.judge(f.token(f.key, "k", json::object("aud", "https://other")), judge_time).refusal ==
          token_refusal::wrong_audience);
    CHECK(f.judge.judge(f.token(f.key, "k", json::object("iss", "https://evil")), judge_time).refusal ==
          token_refusal::not_valid);
    CHECK(f.judge.judge(secret("garbage"), judge_time).refusal == token_refusal::not_valid);
    CHECK(f.judge.judge(secret(), judge_time).refusal == token_refusal::not_valid);
    CHECK(f.judge.cached() == 0);
}

TEST_CASE("AUS-03: an unknown key asks for newer keys once") {
    judge_fixture f;
    const secret t = f.token(f.key, "k");
    const judgement missing = f.judge.judge(t, judge_time);
    CHECK(missing.what == judged::needs_keys);
    CHECK(missing.issuer == "https://as");
    CHECK(f.judge.judge(t, judge_time, true).what == judged::rejected);
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    CHECK(f.judge.judge(t, judge_time).what == judged::accepted);
}

TEST_CASE("AUS-03: the tokens of a withdrawn key are rejected after the next fetch, those of the new key accepted") {
    judge_fixture f;
    const signing_key next = signing_key::make_es256();
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    const secret old_token = f.token(f.key, "k");
    const secret new_token = f.token(next, "n");
    CHECK(f.judge.judge(old_token, judge_time).what == judged::accepted);
    CHECK(f.judge.judge(new_token, judge_time, true).what == judged::rejected);
    f.judge.set_keys(f.snapshot({{"k", &f.key}, {"n", &next}}));
    CHECK(f.judge.judge(old_token, judge_time).what == judged::accepted);
    CHECK(f.judge.judge(new_token, judge_time).what == judged::accepted);
    f.judge.set_keys(f.snapshot({{"n", &next}}));
    CHECK(f.judge.judge(old_token, judge_time).what == judged::needs_keys);
    CHECK(f.judge.judge(old_token, judge_time, true).what == judged::rejected);
    CHECK(f.judge.judge(new_token, judge_time).what == judged::accepted);
}

TEST_CASE("AUS-03: failed verifications are limited and do not affect known tokens") {
    judge_fixture f;
    const signing_key evil = signing_key::make_es256();
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    const secret good = f.token(f.key, "k");
    CHECK(f.judge.judge(good, judge_time).what == judged::accepted);
    for (int i = 0; i < 3; ++i)
        CHECK(f.judge.judge(f.token(evil, "k", json::object("n", i)), judge_time).what == judged::rejected);
    CHECK(f.judge.judge(f.token(evil, "k", json::object("n", 3)), judge_time).what == judged::busy);
    CHECK(f.judge.judge(good, judge_time).what == judged::accepted);
    CHECK(f.judge.judge(f.token(evil, "k", json::object("n", 3)), judge_time + 1s).what == judged::rejected);
}

TEST_CASE("AUS-03: the number of remembered verdicts is limited; the least recently used is evicted") {
    judge_fixture f;
    f.judge.set_keys(f.snapshot({{"k", &f.key}}));
    const secret first = f.token(f.key, "k");
    const auto claims = f.judge.judge(first, judge_time).claims;
    for (int i = 0; i < 10; ++i) {
        CHECK(f.judge.judge(f.token(f.key, "k", json::object("n", i)), judge_time).what == judged::accepted);
        CHECK(f.judge.judge(first, judge_time).claims == claims);
        CHECK(f.judge.cached() <= 4);
    }
    verdict_cache none(0);
    none.add("x", {});
    CHECK(none.size() == 0);
}
