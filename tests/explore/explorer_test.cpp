// Tests of the explorer: it enumerates all orderings and finds planted bugs.

#include "explore/scenarios.hpp"
#include "rpc/planted.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

using namespace keel::explore;
namespace planted = keel::rpc::planted;

namespace {

std::uint64_t count(const events& set) {
    tally t;
    search_orderings({"", {}, set}, {}, t);
    REQUIRE_MESSAGE(!t.shortest, (t.shortest ? describe(shrink(*t.shortest)) : ""));
    return t.orderings;
}

struct with_bug {
    explicit with_bug(planted::bug b) { planted::now(b); }
    ~with_bug() { planted::now(planted::none); }
    with_bug(const with_bug&) = delete;
    with_bug& operator=(const with_bug&) = delete;
};

}  // namespace

TEST_CASE("the explorer runs every ordering once") {
    events two = {{what::arrive, who::a}, {what::begin, who::a}, {what::finish, who::a},
                  {what::arrive, who::b}, {what::begin, who::b}, {what::finish, who::b}};
    CHECK(count({}) == 1);
    CHECK(count(two) == 20);  // 6! / (3! 3!): two sequences of three events, interleaved
    auto with = [&](std::initializer_list<event> more) {
        events set = two;
        set.insert(set.end(), more);
        return count(set);
    };
    CHECK(with({{what::stall}}) == 140);                                           // at each of 7 positions
    CHECK(with({{what::stall}, {what::resume}}) == 560);                           // 20 × 8! / (6! 2!)
    CHECK(with({{what::cancel, who::probe}, {what::cancel, who::probe}}) == 560);  // equal events are not distinguished
    CHECK(with({{what::cancel, who::probe}, {what::stall}}) == 1120);
    // Four at the positions before and after the three events of `a`; two of them prevent the handler from running.
    CHECK(count({{what::arrive, who::a}, {what::begin, who::a}, {what::finish, who::a}, {what::cancel, who::a}}) == 4);
}

TEST_CASE("the explorer tries orderings in another order, but the same ones, with a seed") {
    scenario s{
        "",
        {},
        {{what::arrive, who::a}, {what::begin, who::a}, {what::finish, who::a}, {what::cancel, who::a}, {what::eof}}};
    std::vector<std::uint64_t> plain, seeded;
    tally t;
    search_orderings(s, {.hashes = &plain}, t);
    search_orderings(s, {.seed = 7, .hashes = &seeded}, t);
    CHECK(plain != seeded);
    std::sort(plain.begin(), plain.end());
    std::sort(seeded.begin(), seeded.end());
    CHECK(plain == seeded);
    CHECK(std::adjacent_find(plain.begin(), plain.end()) == plain.end());
}

TEST_CASE("A1 A9 B1 B4 B8 B12 C11 C12 D1 D6 F4: every planted bug is found") {
    for (const auto& [bug, name] : planted::names) {
        CAPTURE(std::string(name));
        with_bug now(bug);
        tally t;
        for (const scenario& s : all_scenarios()) {
            search_orderings(s, {.limit = t.orderings + 250, .stop_when_broken = false}, t);
            search_orderings(s, {.limit = t.orderings + 250, .stop_when_broken = false, .seed = 1}, t);
        }
        for (const setting& s : all_settings()) search_random(s, 16, 1000, {.stop_when_broken = false, .seed = 1}, t);
        REQUIRE(t.broken > 0);
        counterexample c = shrink(*t.shortest);
        CHECK(replay(c.setting, c.events, c.finale) == c.what);
        std::printf("planted bug %s: found in %llu of %llu orderings\n%s", name,
                    static_cast<unsigned long long>(t.broken), static_cast<unsigned long long>(t.orderings),
                    describe(c).c_str());
        // The bug causes the failure, not the ordering.
        planted::now(planted::none);
        CHECK_FALSE(replay(c.setting, c.events, c.finale).has_value());
    }
}

TEST_CASE("a failure is reported with a minimal sequence of steps") {
    with_bug now(planted::answer_after_cancel);
    tally t;
    search_random({.name = "server"}, 60, 1000, {.seed = 3}, t);
    REQUIRE(t.shortest.has_value());
    CHECK(t.shortest->events.size() > 4);
    std::string told = describe(shrink(*t.shortest));
    CAPTURE(told);
    CHECK(told.find("1 begins\n") != std::string::npos);
    CHECK(told.find("the peer cancels ") != std::string::npos);
    CHECK(told.find("1 returns\n") != std::string::npos);
    CHECK(told.find("  5. ") == std::string::npos);
}
