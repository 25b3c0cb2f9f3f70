#include "suggest.hpp"

#include <doctest/doctest.h>

using namespace keel::command;

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps, and ignores case") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("tools", "tools") == 0);
    CHECK(edit_distance("tools", "tool") == 1);
    CHECK(edit_distance("tools", "toools") == 1);
    CHECK(edit_distance("tools", "toils") == 1);
    CHECK(edit_distance("tools", "tolos") == 1);  // a swap
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("TOOLS", "tools") == 0);
}

TEST_CASE("the nearest word is suggested only if it is near enough") {
    std::vector<std::string> known = {"tools", "call", "resources", "prompts", "prompt"};
    CHECK(nearest("tolls", known) == "tools");
    CHECK(nearest("resource", known) == "resources");
    CHECK(nearest("prompst", known) == "prompts");
    CHECK(nearest("res", known) == "resources");  // its beginning
    CHECK_FALSE(nearest("xyz", known));
    CHECK_FALSE(nearest("", known));
    CHECK_FALSE(nearest(std::string(10000, 'a'), known));
    CHECK(did_you_mean("cal", known) == "; did you mean call?");
    CHECK(did_you_mean("nothing", known) == "");
}

TEST_CASE("a long list of words is shortened") {
    std::vector<std::string> words = {"a", "b", "c"};
    CHECK(listed(words) == "a, b, c");
    CHECK(listed(words, 2) == "a, b and 1 more");
}
