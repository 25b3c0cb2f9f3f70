#include "ask.hpp"

#include "schema/numbers.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace keel;

namespace {

bool multiple(std::string_view number, std::string_view of) {
    return validation::is_multiple(json::parse(number), validation::to_decimal(json::parse(of)));
}

}  // namespace

TEST_CASE("multipleOf uses decimal values, not binary ones") {
    CHECK(multiple("0.07", "0.01"));
    CHECK(multiple("19.99", "0.01"));
    CHECK(multiple("4.35", "0.01"));
    CHECK(multiple("1.1", "0.1"));
    CHECK_FALSE(multiple("0.075", "0.01"));
    CHECK(multiple("0.3", "0.1"));
    CHECK(multiple("-0.3", "0.1"));
    CHECK(multiple("0", "0.1"));
    CHECK(multiple("0.0", "7"));
    CHECK_FALSE(multiple("0.5", "1"));
    CHECK(multiple("3.0", "3"));
    CHECK(multiple("4.5", "1.5"));
    CHECK_FALSE(multiple("4", "1.5"));
}

TEST_CASE("multipleOf has no limit and no overflow") {
    CHECK(multiple("1e308", "0.5"));
    CHECK(multiple("1e308", "1e-300"));
    CHECK_FALSE(multiple("1e308", "3"));
    CHECK_FALSE(multiple("1e308", "0.123456789"));
    CHECK_FALSE(multiple("1e-308", "1e308"));
    CHECK(multiple("5e-324", "5e-324"));
    CHECK(multiple("-9223372036854775808", "2"));
    CHECK(multiple("18446744073709551615", "5"));
    CHECK_FALSE(multiple("18446744073709551615", "2"));
    CHECK(multiple("18446744073709551615", "18446744073709551615"));
    CHECK(multiple("9007199254740993", "3"));  // 2^53 + 1, which is not representable as a double
    CHECK_FALSE(multiple("9007199254740992", "3"));
    CHECK_FALSE(validation::is_multiple(json::value(std::numeric_limits<double>::infinity()), {1, 0}));
    CHECK_FALSE(validation::is_multiple(json::value(std::numeric_limits<double>::quiet_NaN()), {1, 1}));
}

TEST_CASE("limits are exact where doubles are not") {
    CHECK(ask(R"({"maximum":9007199254740992})", "9007199254740993") != "fits");
    CHECK(ask(R"({"maximum":9007199254740992.0})", "9007199254740993") != "fits");
    CHECK(ask(R"({"exclusiveMinimum":9007199254740992.0})", "9007199254740993") == "fits");
    CHECK(ask(R"({"maximum":18446744073709551615})", "18446744073709551615") == "fits");
    CHECK(ask(R"({"exclusiveMaximum":18446744073709551615})", "18446744073709551615") != "fits");
    CHECK(ask(R"({"minimum":-1})", "18446744073709551615") == "fits");
    CHECK(ask(R"({"maximum":18446744073709551615})", "1.8446744073709552e19") != "fits");
    CHECK(ask(R"({"minimum":0})", "-0.5") != "fits");
    CHECK(ask(R"({"maximum":1e300})", "18446744073709551615") == "fits");
    CHECK(ask(R"({"type":"integer"})", "1e300") == "fits");
    // NaN and infinity never match.
    CHECK_FALSE(schema(json::parse(R"({"minimum":0})")).accepts(std::numeric_limits<double>::quiet_NaN()));
    CHECK_FALSE(schema(json::parse(R"({"type":"integer"})")).accepts(std::numeric_limits<double>::infinity()));
}

TEST_CASE("const, enum and uniqueItems compare by mathematical value, objects without order") {
    CHECK(ask(R"({"const":1})", "1.0") == "fits");
    CHECK(ask(R"({"const":true})", "1") != "fits");
    CHECK(ask(R"({"enum":[{"a":1,"b":[2.0]}]})", R"({"b":[2],"a":1.0})") == "fits");
    CHECK(ask(R"({"const":"a","enum":["a","b"]})", R"("b")") == R"(expected "a", found "b")");
    CHECK(ask(R"({"const":"a","enum":["b"]})", R"("a")") != "fits");
    CHECK(ask(R"({"const":null})", "false") != "fits");
}
