#include "async/duration_text.hpp"

#include <doctest/doctest.h>

using keel::async::duration_text;
using namespace std::chrono_literals;

TEST_CASE("durations are written exactly, in the largest unit without a fraction") {
    CHECK(duration_text(5s) == "5 s");
    CHECK(duration_text(60s) == "60 s");
    CHECK(duration_text(90s) == "90 s");
    CHECK(duration_text(2min) == "2 min");
    CHECK(duration_text(24h) == "1440 min");
    CHECK(duration_text(1500ms) == "1500 ms");
    CHECK(duration_text(20us) == "20 µs");
    CHECK(duration_text(7ns) == "7 ns");
}
