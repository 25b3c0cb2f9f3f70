#include "client/open_elicitations.hpp"

#include <doctest/doctest.h>

#include <string>

using keel::client_side::open_elicitations;

TEST_CASE("an elicitation is completed once, even if it was added twice") {
    open_elicitations open(100);
    open.add("a");
    open.add("a");
    CHECK_FALSE(open.complete("b"));
    CHECK(open.complete("a"));
    CHECK_FALSE(open.complete("a"));
}

TEST_CASE("elicitation ids beyond the maximum length are ignored; the oldest of more than 1000 ids is dropped") {
    open_elicitations open(10);
    open.add(std::string(11, 'x'));
    CHECK_FALSE(open.complete(std::string(11, 'x')));
    for (int i = 0; i <= 1000; ++i) open.add(std::to_string(i));
    CHECK_FALSE(open.complete("0"));
    CHECK(open.complete("1"));
    CHECK(open.complete("1000"));
}
