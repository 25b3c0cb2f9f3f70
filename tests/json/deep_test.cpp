#include <keel/json.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

// A recursive traversal would need far more stack for this than any thread has.

using namespace keel;
using json::value;

namespace {

constexpr std::size_t deep = 1'000'000;

value nested_arrays(std::size_t depth) {
    value v = json::array();
    for (std::size_t i = 1; i < depth; ++i) {
        value outer = json::array();
        outer.push_back(std::move(v));
        v = std::move(outer);
    }
    return v;
}

value nested_objects(std::size_t depth) {
    value v = "innermost";
    for (std::size_t i = 0; i != depth; ++i) {
        value outer;
        outer.append("k", i);
        outer.append("in", std::move(v));
        v = std::move(outer);
    }
    return v;
}

}  // namespace

TEST_CASE("arrays nested as deeply as memory allows are copied, compared, written, read and destroyed") {
    const value v = nested_arrays(deep);
    const value copy = v;
    CHECK((copy == v));
    CHECK((copy != nested_arrays(deep - 1)));
    std::string text;
    CHECK(json::write(text, v));
    CHECK((text == std::string(deep, '[') + std::string(deep, ']')));
    json::document source;
    const value* read = source.read(text, {.max_depth = deep});
    REQUIRE(read);
    CHECK((*read == v));
    CHECK(!source.read(text, {.max_depth = deep - 1}));
    CHECK(source.error().offset == deep - 1);
    CHECK(!source.read(text));
}

TEST_CASE("objects nested as deeply as memory allows are copied, compared, written, read and destroyed") {
    value v = nested_objects(deep);
    const value copy = v;
    CHECK((copy == v));
    v = std::move(*v.find("in"));
    CHECK((copy != v));
    CHECK((copy["in"] == v));
    const std::string text = json::to_string(copy);
    CHECK((json::parse(text, {.max_depth = deep}) == copy));
}
