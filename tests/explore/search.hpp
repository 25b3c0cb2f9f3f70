#pragma once

// Runs every ordering of a set of events, every ordering up to a depth, or random orderings; reduces a failure to the
// shortest sequence that reproduces it.

#include "explore/world.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace keel::explore {

/// A set of events under one setting. Each event happens at most as often as it is listed, in every possible order.
struct scenario {
    std::string_view name;
    explore::setting setting;
    explore::events events;
};

struct counterexample {
    explore::setting setting;
    explore::events events;
    unsigned finale = 0;
    std::string what;
};

/// A readable report: the violation and the steps that lead to it.
std::string describe(const counterexample&);
/// Removes events as long as a failure, the same or another, remains.
counterexample shrink(counterexample);

struct tally {
    std::uint64_t orderings = 0;
    std::uint64_t broken = 0;
    std::optional<counterexample> shortest;
};

struct search_options {
    std::uint64_t limit = UINT64_MAX;  // orderings, over all searches that share the tally
    bool stop_when_broken = true;
    std::uint64_t seed = 0;                        // not 0: alternatives are tried in another order
    std::vector<std::uint64_t>* hashes = nullptr;  // one for each ordering, to count distinct orderings
};

/// Every ordering of the scenario's events.
void search_orderings(const scenario&, const search_options&, tally&);
/// Every ordering of `depth` events, out of all that are possible at each step (kinds as in world::offer).
void search_depth(const setting&, std::uint32_t kinds, unsigned depth, const search_options&, tally&);
/// Random orderings of `depth` events.
void search_random(const setting&, unsigned depth, std::uint64_t count, const search_options&, tally&);

inline constexpr std::uint32_t all_kinds = (std::uint32_t{1} << kinds_of_events) - 1;

/// Returns nothing if all rules held. Events that are not possible are omitted.
std::optional<std::string> replay(const setting&, const events&, unsigned finale);

}  // namespace keel::explore
