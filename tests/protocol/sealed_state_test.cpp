#include "server/sealed_state.hpp"

#include <doctest/doctest.h>
#include <keel/base64.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace keel::server_side;

namespace {

const state_sealer::binding call = {"tools/call", "0123abcd", "https://example.com/mcp", "alice"};
constexpr std::int64_t now = 1'800'000'000;

state_key key_of(unsigned char fill) {
    state_key key;
    key.secret.fill(fill);
    return key;
}

std::string problem_of(const state_sealer::opened& o) { return o.problem ? o.problem : ""; }

constexpr const char* not_authentic = "modified, or sealed for another method, parameters, audience or principal";

}  // namespace

TEST_CASE("MRTR-06: a sealed state can be opened again, and is unreadable from outside") {
    const state_sealer sealer;
    for (const std::string& plain :
         {std::string(), std::string("x"), std::string("\0\xff", 2), std::string(5000, 's')}) {
        const std::string sealed = sealer.seal(call, plain, now + 60);
        const auto opened = sealer.open(call, sealed, now);
        REQUIRE(opened);
        CHECK(opened.plain == plain);
        CHECK(base64url_decode(sealed)->size() == 1 + 4 + 12 + 8 + plain.size() + 16);
    }
    CHECK(sealer.open(call, sealer.seal(call, std::string_view(), now + 1), now));
    const std::string sealed = *base64url_decode(sealer.seal(call, "the secret of alice", now + 60));
    CHECK(sealed.find("secret") == std::string::npos);
    CHECK(sealed.find("alice") == std::string::npos);
}

TEST_CASE("MRTR-06: the text format is fixed: version, key id, nonce, expiry, ciphertext, tag") {
    const state_sealer sealer({key_of(7)});
    const std::string raw = *base64url_decode(sealer.seal(call, "abc", 0x0102030405060708));
    REQUIRE(raw.size() == 44);
    CHECK(raw[0] == 1);
    CHECK(raw.substr(17, 8) == "\x01\x02\x03\x04\x05\x06\x07\x08");
    const auto opened = sealer.open(call, base64url_encode(raw), now);
    CHECK(std::string(opened.nonce.begin(), opened.nonce.end()) == raw.substr(5, 12));
    // The id is derived from the key, not from the process.
    CHECK(state_sealer({key_of(7)}).open(call, base64url_encode(raw), now).plain == "abc");
}

TEST_CASE("MRTR-07: each state has its own nonce, which identifies a replayed state") {
    const state_sealer sealer;
    std::set<std::array<unsigned char, 12>> nonces;
    for (int i = 0; i < 100; ++i) nonces.insert(sealer.open(call, sealer.seal(call, "same", now + 1), now).nonce);
    CHECK(nonces.size() == 100);
}

TEST_CASE("MRTR-06: a change of any bit is rejected") {
    const state_sealer sealer;
    const std::string raw = *base64url_decode(sealer.seal(call, "state", now + 60));
    for (std::size_t bit = 0; bit < raw.size() * 8; ++bit) {
        std::string changed = raw;
        changed[bit / 8] = static_cast<char>(static_cast<unsigned char>(changed[bit / 8]) ^ (1u << bit % 8));
        const auto opened = sealer.open(call, base64url_encode(changed), now);
        CAPTURE(bit);
        CHECK(!opened);
        CHECK(opened.plain.empty());
        CHECK(problem_of(opened) == (bit < 8    ? "unknown version"
                                     : bit < 40 ? "sealed with an unknown key"
                                                : not_authentic));
    }
}

TEST_CASE("MRTR-06: a change of any character of the text is rejected") {
    const state_sealer sealer;
    const std::string sealed = sealer.seal(call, "state", now + 60);
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        for (char c : std::string_view("Aa0-_=+ \n")) {
            std::string changed = sealed;
            changed[i] = c;
            if (changed != sealed) CHECK(!sealer.open(call, changed, now));
        }
    }
}

TEST_CASE("MRTR-06: truncated, extended, foreign and oversized texts are rejected, each with its reason") {
    const state_sealer sealer;
    const std::string sealed = sealer.seal(call, "state", now + 60);
    const auto problem = [&](std::string_view text) { return problem_of(sealer.open(call, text, now)); };
    for (std::size_t length = 0; length < sealed.size(); ++length) {
        CAPTURE(length);
        CHECK(problem(std::string_view(sealed).substr(0, length)) != "");
    }
    CHECK(problem("") == "unknown version");
    CHECK(problem(sealed.substr(0, 4)) == "too short");
    CHECK(problem(sealed + "AAAA") != "");
    CHECK(problem(base64url_encode(*base64url_decode(sealed) + "x")) == not_authentic);
    CHECK(problem(sealed + "=") == "not base64url");
    CHECK(problem(sealed + "\n") == "not base64url");
    CHECK(problem("{\"step\":1}") == "not base64url");
    CHECK(problem(std::string(state_sealer::max_sealed_size + 1, 'A')) == "too large");
    CHECK(problem(std::string(state_sealer::max_sealed_size, 'A')) == "unknown version");
    CHECK(problem_of(state_sealer().open(call, sealed, now)) == "sealed with an unknown key");
}

TEST_CASE("MRTR-14, ELI-12: a state opens only for the method, parameters, audience and principal it was sealed for") {
    const state_sealer sealer;
    const std::string sealed = sealer.seal(call, "state", now + 60);
    for (std::string state_sealer::binding::* field :
         {&state_sealer::binding::method, &state_sealer::binding::digest, &state_sealer::binding::audience,
          &state_sealer::binding::principal}) {
        for (const std::string& other : {std::string(), std::string("mallory"), call.*field + " "}) {
            state_sealer::binding changed = call;
            changed.*field = other;
            CHECK(problem_of(sealer.open(changed, sealed, now)) == not_authentic);
        }
    }
    // The boundary between two fields is authenticated too.
    state_sealer::binding shifted = call;
    shifted.audience += shifted.principal.front();
    shifted.principal.erase(0, 1);
    CHECK(problem_of(sealer.open(shifted, sealed, now)) == not_authentic);
}

TEST_CASE("MRTR-14: a state expires") {
    const state_sealer sealer;
    const std::string sealed = sealer.seal(call, "state", now);
    CHECK(sealer.open(call, sealed, now - 1));
    CHECK(problem_of(sealer.open(call, sealed, now)) == "expired");
    CHECK(sealer.open(call, sealed, now).plain.empty());
    CHECK(problem_of(sealer.open(call, sealed, INT64_MAX)) == "expired");
    CHECK(problem_of(sealer.open(call, sealer.seal(call, "state", -5), now)) == "expired");
    CHECK(sealer.open(call, sealer.seal(call, "state", INT64_MAX), now));
}

TEST_CASE("MRTR-06: keys can be rotated while states are in use") {
    const state_sealer before({key_of(1)});
    const state_sealer during({key_of(2), key_of(1)});
    const state_sealer after({key_of(2)});
    const std::string old_state = before.seal(call, "old", now + 60);
    const std::string new_state = during.seal(call, "new", now + 60);
    CHECK(during.open(call, old_state, now).plain == "old");
    CHECK(during.open(call, new_state, now).plain == "new");
    CHECK(after.open(call, new_state, now).plain == "new");
    CHECK(problem_of(after.open(call, old_state, now)) == "sealed with an unknown key");
    CHECK(problem_of(before.open(call, new_state, now)) == "sealed with an unknown key");
}

TEST_CASE("MRTR-06: a state that is too large to open is not sealed") {
    const state_sealer sealer;
    const std::size_t most = state_sealer::max_sealed_size / 4 * 3 - 41;
    const std::string largest = sealer.seal(call, std::string(most, 'x'), now + 1);
    CHECK(largest.size() <= state_sealer::max_sealed_size);
    CHECK(sealer.open(call, largest, now).plain.size() == most);
    CHECK_THROWS_AS(sealer.seal(call, std::string(most + 1, 'x'), now + 1), std::length_error);
}

TEST_CASE("MRTR-06: a sealer is thread-safe") {
    const state_sealer sealer({key_of(3)});
    std::vector<std::thread> threads;
    std::vector<int> opened(4);
    for (std::size_t t = 0; t < opened.size(); ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                const std::string plain = std::to_string(t) + "/" + std::to_string(i);
                opened[t] += sealer.open(call, sealer.seal(call, plain, now + 1), now).plain == plain ? 1 : 0;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(opened == std::vector<int>(4, 200));
}

TEST_CASE("MRTR-06: keys are parsed from hexadecimal digits or Base64, and never included in errors") {
    CHECK(state_key_from_text(std::string(64, '0')).secret == key_of(0).secret);
    CHECK(state_key_from_text("ab" + std::string(60, 'A') + "Ff").secret[0] == 0xab);
    CHECK(state_key_from_text("ab" + std::string(60, 'A') + "Ff").secret[31] == 0xff);
    const std::string bytes(32, '\xfb');
    CHECK(state_key_from_text(base64_encode(bytes)).secret == key_of(0xfb).secret);
    CHECK(state_key_from_text(base64url_encode(bytes)).secret == key_of(0xfb).secret);
    for (const std::string& text :
         {std::string(), std::string("secret"), std::string(63, 'a'), std::string(63, 'a') + "g", std::string(65, 'a'),
          base64_encode(std::string(31, 'x')), base64_encode(std::string(33, 'x')), base64_encode(bytes) + "\n"}) {
        CAPTURE(text);
        try {
            state_key_from_text(text);
            FAIL("accepted");
        } catch (const std::invalid_argument& e) {
            CHECK(std::string_view(e.what()) ==
                  "keel: invalid state key: use 64 hexadecimal digits or base64 of 32 bytes");
        }
    }
}

namespace {

std::string digest(std::string_view text) { return parameter_digest(json::parse(text, {.max_depth = 100'000})); }

}  // namespace

TEST_CASE("MRTR-14: the digest of parameters does not depend on formatting") {
    CHECK(digest(R"({"a":1,"b":{"x":[1,2],"y":"z"}})") == digest(R"( { "b" : {"y":"\u007a","x":[1.0,2e0]}, "a":1 })"));
    CHECK(digest(R"({"n":1e3})") == digest(R"({"n":1000})"));
    CHECK(digest(R"({"n":-0.0})") == digest(R"({"n":0})"));
    CHECK(digest(R"({"n":18446744073709549568})") == digest(R"({"n":18446744073709549568.0})"));
    CHECK(digest(R"({"n":-9223372036854775808})") == digest(R"({"n":-9223372036854775808.0})"));
    CHECK(digest(R"({"n":0.1})") == digest(R"({"n":1e-1})"));
    CHECK(parameter_digest(json::value()) == digest("{}"));
    CHECK(digest("{}").size() == 64);
    // Pinned: a state sealed by one version must open in the next.
    CHECK(digest("{}") == "f6442079068da1287c0ba7585ad3b841ae5da71c0792a75b1881d4892b4ee823");
    CHECK(digest(R"({"name":"add","arguments":{"b":2.5,"a":[1,null,true,"x"]}})") ==
          "4ebbc3a524ffb9a42f72b29435d4d094c335220683cec51d183469cde43d85c5");
}

TEST_CASE("MRTR-14: the digest ignores members that change from round to round, at the top level only") {
    const std::string plain = digest(R"({"name":"add","arguments":{"a":1}})");
    CHECK(
        plain ==
        digest(
            R"({"_meta":{"progressToken":7},"name":"add","requestState":"x","arguments":{"a":1},"inputResponses":{"q":{}}})"));
    CHECK(digest(R"({"_meta":{}})") == digest("{}"));
    for (const char* inner : {"_meta", "requestState", "inputResponses"}) {
        CHECK(plain != digest(std::string(R"({"name":"add","arguments":{"a":1,")") + inner + R"(":1}})"));
        CHECK(digest("[{}]") != digest(std::string("[{\"") + inner + "\":1}]"));
    }
}

TEST_CASE("MRTR-14: different parameters have different digests") {
    const std::vector<std::string> different = {"{}",
                                                "[]",
                                                "[[]]",
                                                "[[],[]]",
                                                "[{}]",
                                                "0",
                                                "1",
                                                "-1",
                                                "\"1\"",
                                                "\"\"",
                                                "true",
                                                "false",
                                                "\"true\"",
                                                "[null]",
                                                R"({"a":1})",
                                                R"({"a":"1"})",
                                                R"({"a":null})",
                                                R"({"a":[]})",
                                                R"({"a":{}})",
                                                R"({"b":1})",
                                                R"({"a":1,"b":2})",
                                                R"({"a":2,"b":1})",
                                                R"({"a":{"b":1}})",
                                                R"({"a":{},"b":1})",
                                                R"({"ab":1})",
                                                R"([1,2])",
                                                R"([2,1])",
                                                R"([12])",
                                                R"([[1],2])",
                                                R"([1,[2]])",
                                                R"(["a","b"])",
                                                R"(["ab"])",
                                                R"(["a",["b"]])",
                                                R"(["as1:b"])",
                                                "0.1",
                                                "1e300",
                                                "9007199254740993",
                                                "9007199254740992",
                                                "18446744073709551615",
                                                "18446744073709551616"};
    std::set<std::string> digests;
    for (const std::string& text : different) digests.insert(digest(text));
    CHECK(digests.size() == different.size());
}

TEST_CASE("MRTR-14: very deeply nested parameters have a digest") {
    const std::size_t depth = 90'000;
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    CHECK(digest(deep).size() == 64);
    CHECK(digest(deep) != digest("[" + deep + "]"));
}
