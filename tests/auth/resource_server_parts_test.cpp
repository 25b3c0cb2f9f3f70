// Parts of a resource server and of the client's address check that need no I/O.

#include "auth/address_zone.hpp"
#include "auth/dpop_nonce.hpp"
#include "auth/replay_guard.hpp"
#include "auth/static_tokens.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace keel::auth;
using namespace std::chrono_literals;

namespace {

constexpr unix_time start_time{1'800'000'000s};

}  // namespace

TEST_CASE("SEC-08: addresses are in the zone of their binary form") {
    struct example {
        std::string_view address;
        address_zone zone;
    };
    using z = address_zone;
    constexpr example examples[] = {
        {"8.8.8.8", z::open},
        {"1.1.1.1", z::open},
        {"172.15.255.255", z::open},
        {"172.32.0.0", z::open},
        {"100.63.255.255", z::open},
        {"100.128.0.0", z::open},
        {"192.167.1.1", z::open},
        {"11.0.0.0", z::open},
        {"223.255.255.255", z::open},
        {"169.253.0.1", z::open},
        {"2606:4700::1111", z::open},
        {"2003::1", z::open},
        {"10.0.0.0", z::private_},
        {"10.255.255.255", z::private_},
        {"172.16.0.1", z::private_},
        {"172.31.255.255", z::private_},
        {"192.168.0.1", z::private_},
        {"100.64.0.1", z::private_},
        {"100.127.255.255", z::private_},
        {"fc00::1", z::private_},
        {"fdff:ffff::1", z::private_},
        {"fec0::1", z::private_},
        {"127.0.0.1", z::loopback},
        {"127.255.255.255", z::loopback},
        {"::1", z::loopback},
        {"::ffff:127.0.0.1", z::loopback},
        {"::127.0.0.1", z::loopback},
        {"64:ff9b::7f00:1", z::loopback},
        {"64:ff9b:1::7f00:1", z::loopback},
        {"2002:7f00:1::", z::loopback},
        {"::ffff:10.0.0.1", z::private_},
        {"64:ff9b::a00:1", z::private_},
        {"2002:a00:1::1", z::private_},
        {"::ffff:8.8.8.8", z::open},
        {"64:ff9b::808:808", z::open},
        {"2002:808:808::1", z::open},
        {"0.0.0.0", z::forbidden},
        {"0.1.2.3", z::forbidden},
        {"169.254.169.254", z::forbidden},
        {"::ffff:169.254.169.254", z::forbidden},
        {"64:ff9b::a9fe:a9fe", z::forbidden},
        {"2002:a9fe:a9fe::", z::forbidden},
        {"::", z::forbidden},
        {"::2", z::forbidden},
        {"224.0.0.1", z::forbidden},
        {"255.255.255.255", z::forbidden},
        {"240.0.0.1", z::forbidden},
        {"192.0.0.8", z::forbidden},
        {"192.0.2.1", z::forbidden},
        {"198.18.0.1", z::forbidden},
        {"198.19.255.255", z::forbidden},
        {"198.51.100.1", z::forbidden},
        {"203.0.113.1", z::forbidden},
        {"fe80::1", z::forbidden},
        {"febf::1", z::forbidden},
        {"ff02::1", z::forbidden},
        {"2001:db8::1", z::forbidden},
        {"2001::1", z::forbidden},
        {"100::1", z::forbidden},
    };
    for (const example& e : examples) {
        CAPTURE(e.address);
        const auto address = http::ip_address::parse(e.address);
        REQUIRE(address);
        CHECK(name_of(zone_of(*address)) == name_of(e.zone));
    }
    CHECK(zone_of(http::ip_address()) == z::forbidden);
}

TEST_CASE("SEC-01: a URL leads to the zone of its server or to a more public one") {
    using z = address_zone;
    CHECK(may_connect(z::open, z::open));
    CHECK(!may_connect(z::open, z::private_));
    CHECK(!may_connect(z::open, z::loopback));
    CHECK(may_connect(z::private_, z::open));
    CHECK(may_connect(z::private_, z::private_));
    CHECK(!may_connect(z::private_, z::loopback));
    CHECK(may_connect(z::loopback, z::open));
    CHECK(may_connect(z::loopback, z::private_));
    CHECK(may_connect(z::loopback, z::loopback));
    for (z from : {z::open, z::private_, z::loopback, z::forbidden}) CHECK(!may_connect(from, z::forbidden));
}

TEST_CASE("AUS-03: a static token is found by its digest") {
    const auto alice = static_tokens::make("alice", {"read", "write"});
    const auto bob = static_tokens::make("bob", {});
    CHECK(alice.line.find(alice.token.reveal()) == std::string::npos);
    const auto tokens = static_tokens::parse("# clients\n\n" + alice.line + "\r\n" + bob.line);
    CHECK(tokens.size() == 2);
    const auto* found = tokens.find(alice.token);
    REQUIRE(found);
    CHECK(found->name == "alice");
    CHECK(found->scopes == scope_set{"read", "write"});
    REQUIRE(tokens.find(bob.token));
    CHECK(tokens.find(bob.token)->scopes.empty());
    CHECK(tokens.find(secret("wrong")) == nullptr);
    CHECK(tokens.find(secret()) == nullptr);
}

TEST_CASE("an invalid file of static tokens is refused with the number of the line") {
    const std::string digest(64, 'a');
    const std::pair<std::string, std::string_view> bad[] = {
        {"alice", "line 1: the second word must be the SHA-256 of the token, 64 hexadecimal digits"},
        {"\nalice " + digest.substr(1),
         "line 2: the second word must be the SHA-256 of the token, 64 hexadecimal digits"},
        {"alice g" + digest.substr(1),
         "line 1: the second word must be the SHA-256 of the token, 64 hexadecimal digits"},
        {"al@ice " + digest, "line 1: invalid name"},
        {"alice " + digest + " a\"b", "line 1: invalid scope"},
        {"alice " + digest + "\nbob " + digest, "line 2: the same token is in the file twice"},
    };
    for (const auto& [text, expected] : bad) {
        CAPTURE(text);
        CHECK_THROWS_WITH_AS(static_tokens::parse(text), std::string(expected).c_str(), std::invalid_argument);
    }
    CHECK_THROWS_AS(static_tokens::make("a b", {}), std::invalid_argument);
    CHECK_THROWS_AS(static_tokens::make("", {}), std::invalid_argument);
}

TEST_CASE("DPoP: a proof is accepted once, for each key, until it expires") {
    replay_guard guard;
    using v = replay_guard::verdict;
    CHECK(guard.note("key", "1", start_time + 60s, start_time) == v::fresh);
    CHECK(guard.note("key", "1", start_time + 60s, start_time) == v::replayed);
    CHECK(guard.note("kez", "1", start_time + 60s, start_time) == v::fresh);
    CHECK(guard.note("key", "2", start_time + 60s, start_time) == v::fresh);
    CHECK(guard.note("key", "1", start_time + 90s, start_time + 59s) == v::replayed);
    CHECK(guard.note("key", "1", start_time + 90s, start_time + 60s) == v::fresh);
    CHECK(guard.note("key", "3", start_time, start_time) == v::replayed);  // it could not be remembered
}

TEST_CASE("DPoP: the table of proofs is bounded, refuses when it is full, and shrinks") {
    replay_guard guard(1600);
    using v = replay_guard::verdict;
    int fresh = 0;
    int full = 0;
    for (int i = 0; i < 5000; ++i) {
        const v got = guard.note("key", std::to_string(i), start_time + 60s, start_time);
        if (got == v::fresh) ++fresh;
        if (got == v::full) ++full;
    }
    CHECK(fresh + full == 5000);
    CHECK(fresh == 1600);
    CHECK(guard.size() == 1600);
    // Everything that was accepted is still known.
    int replayed = 0;
    for (int i = 0; i < 5000; ++i) {
        if (guard.note("key", std::to_string(i), start_time + 60s, start_time + 1s) == v::replayed) ++replayed;
    }
    CHECK(replayed == fresh);
    for (int i = 0; i < 200; ++i)
        CHECK(guard.note("late", std::to_string(i), start_time + 200s, start_time + 100s) == v::fresh);
    CHECK(guard.size() <= 200);
}

TEST_CASE("DPoP: of the same proof on several threads one is accepted") {
    replay_guard guard;
    std::atomic<int> fresh = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                if (guard.note("key", std::to_string(i), start_time + 60s, start_time) == replay_guard::verdict::fresh)
                    ++fresh;
            }
        });
    }
    for (std::thread& each : threads) each.join();
    CHECK(fresh == 500);
}

TEST_CASE("DPoP: a nonce is valid for its window and the next one, with the same key") {
    const dpop_nonces nonces(random_bytes{1});
    const dpop_nonces others(random_bytes{2});
    const unix_time window(std::chrono::floor<std::chrono::minutes>(start_time));
    const std::string nonce = nonces.current(window);
    CHECK(nonce.size() == 22);
    CHECK(nonces.accepts(nonce, window));
    CHECK(nonces.accepts(nonce, window + 119s));
    CHECK(!nonces.accepts(nonce, window + 120s));
    CHECK(!nonces.accepts(nonce, window - 1s));
    CHECK(!others.accepts(nonce, window));
    CHECK(dpop_nonces(random_bytes{1}).accepts(nonce, window));
    CHECK(!nonces.accepts("", window));
}
