// The lifecycle rules in every ordering of many sets of events, and in every ordering of a few events of any kind.
// world.hpp lists the checks after each step; a failure prints the shortest sequence that reproduces it.

#include "explore/scenarios.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace keel::explore;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define KEEL_EXPLORE_LITTLE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KEEL_EXPLORE_LITTLE 1
#endif
#endif

// Sanitizers make this ten to fifty times slower, so they run a part of each scenario and fewer events of any kind. The
// ordinary build runs all of them.
#ifdef KEEL_EXPLORE_LITTLE
constexpr bool little = true;
#else
constexpr bool little = false;
#endif
constexpr std::uint64_t part = little ? 400 : UINT64_MAX;
constexpr unsigned depth = little ? 3 : 5;
constexpr std::uint64_t walks = little ? 300 : 20'000;

// Of all test cases that have run so far.
std::vector<std::uint64_t> hashes;
unsigned parts_run = 0;

void require_unbroken(const tally& t) {
    if (t.shortest) FAIL(describe(shrink(*t.shortest)));
    CHECK(t.orderings > 0);
}

void explore(const std::vector<scenario>& scenarios) {
    ++parts_run;
    for (const scenario& s : scenarios) {
        CAPTURE(std::string(s.name));
        tally t;
        // If only a part is explored, take some orderings from the beginning and some from the rest.
        for (std::uint64_t seed = 0; seed < (little ? 3u : 1u); ++seed) {
            search_options options{.limit = t.orderings + part, .seed = seed, .hashes = &hashes};
            search_orderings(s, options, t);
        }
        require_unbroken(t);
    }
}

}  // namespace

TEST_CASE(
    "A1 A2 A4 B1 B2 B3 B4 B5 B6 B7 B8 B10 B11 B13 B14 B16 F8: requests, cancels and a slow reader in every ordering") {
    explore(cancelling());
}

TEST_CASE("A7 A8 A9: an id that is used again in every ordering") { explore(reused_ids()); }

TEST_CASE("A1 B12 C2 D1 D4 D6 D7 D8 D12 D17: outgoing requests in every ordering") { explore(asking()); }

TEST_CASE("A1 B15 C1 C2 C5 C6 C9 C11 C12 D1 D3 F4 F6 F7 G1 G2: the end of a connection in every ordering") {
    explore(ending());
}

TEST_CASE("J1 B4: a full queue in every ordering") { explore(under_pressure()); }

TEST_CASE("A1 B4 C1: batches in every ordering") { explore(batches()); }

TEST_CASE("A1 B1 B4 B8 B12 C1 C5 C6 C12 D1 G1: every ordering of a few events of any kind, in every setting") {
    ++parts_run;
    for (const setting& s : all_settings()) {
        CAPTURE(std::string(s.name));
        tally t;
        search_depth(s, all_kinds, depth, {.hashes = &hashes}, t);
        require_unbroken(t);
    }
}

TEST_CASE("A1 B1 B4 B8 B12 C1 C5 C6 C12 D1 G1 J3: long random orderings, in every setting") {
    ++parts_run;
    for (const setting& s : all_settings()) {
        for (std::uint64_t seed : {1u, 2u, 3u}) {
            CAPTURE(std::string(s.name));
            tally t;
            search_random(s, 60, walks, {.seed = seed, .hashes = &hashes}, t);
            require_unbroken(t);
        }
    }
}

TEST_CASE("at least a million distinct orderings were explored") {
    std::sort(hashes.begin(), hashes.end());
    auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
    std::printf("explored %zu orderings, %td of them distinct\n", hashes.size(), distinct);
    if (parts_run < 8) {
        MESSAGE("some of the test cases above did not run");
    } else {
        CHECK(distinct >= (little ? 10'000 : 1'000'000));
    }
}
