#pragma once

// Runs every ordering of a set of events, every ordering up to a depth, or random orderings; reduces a failure to the
// shortest sequence that reproduces it.

#include "explore_http/world.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace keel::explore_http {

/// Each event happens at most once for each time it is listed, in every order that is possible.
struct scenario {
    const setting* where;
    explore_http::events events;
};

struct counterexample {
    const setting* where;
    explore_http::events events;
    unsigned finale = 0;
    std::string what;
};

std::string describe(const counterexample&);
counterexample shrink(counterexample);

struct tally {
    std::uint64_t orderings = 0;
    std::uint64_t broken = 0;
    std::optional<counterexample> shortest;
};

struct search_options {
    std::uint64_t limit = UINT64_MAX;  // orderings, over all searches that share the tally
    bool stop_when_broken = true;
    std::uint64_t seed = 1;
};

void search_orderings(const scenario&, const search_options&, tally&);
/// Every ordering of `depth` events of any kind.
void search_depth(const setting&, unsigned depth, const search_options&, tally&);
/// `count` random orderings of `depth` events of any kind.
void search_random(const setting&, unsigned depth, std::uint64_t count, const search_options&, tally&);

/// Was the explorer itself built without optimization or with a sanitizer? (The tests are always compiled unoptimized.)
bool is_slow_build() noexcept;

/// Returns nothing if all checks passed. Events that are not possible are omitted.
std::optional<std::string> replay(const setting&, const events&, unsigned finale);

}  // namespace keel::explore_http
