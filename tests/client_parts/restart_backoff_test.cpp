#include "client/restart_backoff.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace keel;
using namespace std::chrono_literals;
using client_side::restart_backoff;

namespace {

restart_policy policy_of(unsigned attempts) {
    restart_policy p;
    p.attempts = attempts;
    p.first_wait = 200ms;
    return p;
}

const time_point first_time{1h};

}  // namespace

TEST_CASE("the first restart needs no delay; the delay before each further one doubles, up to 30 s") {
    const restart_policy policy = policy_of(20);
    restart_backoff backoff(policy);
    CHECK(backoff.next_at() <= first_time);
    for (duration expected : {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms, 30000ms, 30000ms}) {
        backoff.restart_began();
        backoff.restart_ended(first_time);
        CHECK(backoff.next_at() == first_time + expected);
    }
}

TEST_CASE("only the given number of restarts is allowed until the server answers") {
    const restart_policy policy = policy_of(2);
    restart_backoff backoff(policy);
    for (int i = 0; i < 2; ++i) {
        CHECK(backoff.allows_restart());
        backoff.restart_began();
        backoff.restart_ended(first_time);
    }
    CHECK_FALSE(backoff.allows_restart());
    backoff.reset();
    CHECK(backoff.allows_restart());
    CHECK(backoff.next_at() <= first_time);
}

TEST_CASE("a cancelled restart does not count") {
    const restart_policy policy = policy_of(1);
    restart_backoff backoff(policy);
    backoff.restart_began();
    CHECK_FALSE(backoff.allows_restart());
    backoff.restart_cancelled();
    CHECK(backoff.allows_restart());
    CHECK(backoff.next_at() <= first_time);
}

TEST_CASE("a restart on which the server has already answered causes no delay") {
    const restart_policy policy = policy_of(1);
    restart_backoff backoff(policy);
    backoff.restart_began();
    backoff.reset();
    backoff.restart_ended(first_time);
    CHECK(backoff.next_at() <= first_time);
    backoff.restart_cancelled();
    CHECK(backoff.allows_restart());
}
