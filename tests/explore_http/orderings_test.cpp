// HTTP/1 connections in every ordering of many sets of events, and in every ordering of a few events of any kind.
// world.hpp lists the checks after each event; a failure prints the shortest sequence that reproduces it.

#include "explore_http/scenarios.hpp"

#include <doctest/doctest.h>

#include <cstdio>

using namespace keel::explore_http;

namespace {

// Sanitizers and unoptimized code are many times slower: they run a part of the orderings. The optimized build runs all.
const std::uint64_t part = is_slow_build() ? 2'000 : UINT64_MAX;
const unsigned depth = is_slow_build() ? 4 : 6;
const std::uint64_t random_orderings = is_slow_build() ? 1'000 : 20'000;

std::uint64_t explored = 0;
unsigned parts_run = 0;

void require_unbroken(const tally& t) {
    if (t.shortest) FAIL(describe(shrink(*t.shortest)));
    CHECK(t.orderings > 0);
    explored += t.orderings;
}

}  // namespace

TEST_CASE("A1 I4 J1 J4 H6: requests, responses and the end of a connection in every ordering") {
    ++parts_run;
    for (const scenario& s : all_scenarios()) {
        CAPTURE(std::string(s.where->name));
        tally t;
        search_orderings(s, {.limit = part}, t);
        require_unbroken(t);
    }
}

TEST_CASE("A1 I4 J1 J4 H6: every ordering of a few events of any kind, in every setting") {
    ++parts_run;
    for (const setting& s : all_settings()) {
        CAPTURE(std::string(s.name));
        tally t;
        search_depth(s, depth, {}, t);
        require_unbroken(t);
    }
}

TEST_CASE("A1 I4 J1 J4 H6: long random orderings, in every setting") {
    ++parts_run;
    for (const setting& s : all_settings()) {
        for (std::uint64_t seed : {1u, 2u, 3u}) {
            CAPTURE(std::string(s.name));
            tally t;
            search_random(s, 40, random_orderings, {.seed = seed}, t);
            require_unbroken(t);
        }
    }
}

TEST_CASE("at least a million orderings of HTTP/1 events were explored") {
    std::printf("explored %llu orderings of HTTP/1 events\n", static_cast<unsigned long long>(explored));
    if (parts_run < 3) MESSAGE("some of the test cases above did not run");
    else CHECK(explored >= (is_slow_build() ? 20'000u : 1'000'000u));
}
