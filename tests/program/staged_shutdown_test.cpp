#include "server/staged_shutdown.hpp"
#include "support/manual_loop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using keel::server_side::staged_shutdown;
using stage = staged_shutdown::stage;

namespace {

struct staged {
    explicit staged(keel::duration delay)
        : shutdown(on, delay, [this] { said += "announce "; }, [this] { said += "drain "; }) {}

    keel::test::manual_loop on;
    std::string said;
    staged_shutdown shutdown;
};

}  // namespace

TEST_CASE("a shutdown is announced first, and drains when the delay has passed") {
    staged f(5s);
    CHECK(f.shutdown.now() == stage::serving);
    f.shutdown.begin();
    CHECK(f.shutdown.now() == stage::unready);
    CHECK(f.said == "announce ");
    f.on.advance(4999ms);
    CHECK(f.said == "announce ");
    f.on.advance(1ms);
    CHECK(f.shutdown.now() == stage::draining);
    CHECK(f.said == "announce drain ");
}

TEST_CASE("a shutdown without a delay drains at once") {
    staged f(0s);
    f.shutdown.begin();
    CHECK(f.shutdown.now() == stage::draining);
    CHECK(f.said == "announce drain ");
}

TEST_CASE("a second request neither restarts nor repeats a shutdown") {
    staged f(5s);
    f.shutdown.begin();
    f.on.advance(3s);
    f.shutdown.begin();
    f.on.advance(2s);
    CHECK(f.said == "announce drain ");
    f.shutdown.begin();
    f.shutdown.drain_now();
    f.on.advance(10s);
    CHECK(f.said == "announce drain ");
}

TEST_CASE("the delay of a shutdown can be ended or skipped") {
    staged waiting(5s);
    waiting.shutdown.begin();
    waiting.shutdown.drain_now();
    CHECK(waiting.said == "announce drain ");
    waiting.on.advance(10s);
    CHECK(waiting.said == "announce drain ");

    staged skipped(5s);
    skipped.shutdown.drain_now();
    CHECK(skipped.said == "announce drain ");
    skipped.shutdown.begin();
    CHECK(skipped.said == "announce drain ");
}

TEST_CASE("a shutdown with an endless delay drains only on request, and a destroyed one never") {
    staged f(keel::duration::max());
    f.shutdown.begin();
    f.on.advance(24h);
    CHECK(f.shutdown.now() == stage::unready);

    keel::test::manual_loop on;
    std::string said;
    {
        staged_shutdown gone(on, 5s, [] {}, [&] { said = "drained"; });
        gone.begin();
    }
    on.advance(10s);
    CHECK(said == "");
}
