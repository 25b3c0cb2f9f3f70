// Tests of the explorer: it runs every ordering once, and it finds bugs.

#include "explore_http/scenarios.hpp"
#include "http/planted.hpp"

#include <doctest/doctest.h>

#include <cstdio>

using namespace keel::explore_http;
namespace planted = keel::http::planted;

namespace {

struct with_bug {
    explicit with_bug(planted::bug b) { planted::now(b); }
    ~with_bug() { planted::now(planted::none); }
    with_bug(const with_bug&) = delete;
    with_bug& operator=(const with_bug&) = delete;
};

std::uint64_t count(const setting& s, const events& set) {
    tally t;
    search_orderings({&s, set}, {}, t);
    REQUIRE_MESSAGE(!t.shortest, (t.shortest ? describe(shrink(*t.shortest)) : ""));
    return t.orderings;
}

}  // namespace

TEST_CASE("the HTTP/1 explorer runs every ordering once") {
    using enum event;
    const setting s =
        prepared({.name = "two deferred responses", .requests = {{.reply = reply::later}, {.reply = reply::later}}});
    CHECK(count(s, {}) == 1);
    CHECK(count(s, {send_request, respond}) == 1);
    CHECK(count(s, {send_request, respond, block}) == 3);
    // 4! / 2, because the request comes before its response; less two, because `retire` closes an idle connection.
    CHECK(count(s, {send_request, respond, block, retire}) == 10);
    CHECK(count(s, {send_request, block, disconnect}) == 5);  // nothing follows a disconnect
    CHECK(count(s, {send_piece, send_piece, block}) == 3);    // equal events are not distinguished
}

TEST_CASE("every bug planted in the HTTP/1 state machine is found") {
    for (const auto& [bug, name] : planted::names) {
        CAPTURE(std::string(name));
        with_bug now(bug);
        tally t;
        for (const scenario& s : all_scenarios()) {
            search_orderings(s, {.limit = t.orderings + 500, .stop_when_broken = false}, t);
        }
        for (const setting& s : all_settings()) {
            search_random(s, 20, 1000, {.stop_when_broken = false}, t);
        }
        REQUIRE(t.broken > 0);
        counterexample c = shrink(*t.shortest);
        CHECK(replay(*c.where, c.events, c.finale) == c.what);
        std::printf("planted bug %s: found in %llu of %llu orderings\n%s", name,
                    static_cast<unsigned long long>(t.broken), static_cast<unsigned long long>(t.orderings),
                    describe(c).c_str());
        // The cause is the bug, not the ordering.
        planted::now(planted::none);
        CHECK_FALSE(replay(*c.where, c.events, c.finale).has_value());
    }
}
