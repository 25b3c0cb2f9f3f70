#include <keel/json.hpp>

#include "random_value.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

using namespace keel;
using json::kind;
using json::value;

namespace {

std::string why_not(std::string_view text) {
    json::document source;
    if (source.read(text)) return "no error";
    return std::string(source.error().what) + " @" + std::to_string(source.error().offset);
}

double real(std::string_view text) {
    const value v = json::parse(text);
    REQUIRE(v.type() == kind::real);
    return v.as_double();
}

std::string written(double d) {
    std::string out;
    REQUIRE(json::write_double(out, d));
    return out;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

}  // namespace

TEST_CASE("integers are exact in 64 bits and doubles beyond that") {
    CHECK(json::parse("0").as_int() == 0);
    CHECK(json::parse("-1").as_int() == -1);
    CHECK(json::parse("9007199254740993").as_int() == 9007199254740993);
    CHECK(json::parse("9223372036854775807").as_int() == INT64_MAX);
    CHECK(json::parse("-9223372036854775808").as_int() == INT64_MIN);
    CHECK(json::parse("9223372036854775808").type() == kind::unsigned_integer);
    CHECK(json::parse("9999999999999999999").as_uint() == 9999999999999999999u);
    CHECK(json::parse("10000000000000000000").as_uint() == 10000000000000000000u);
    CHECK(json::parse("18446744073709551615").as_uint() == UINT64_MAX);
    CHECK(real("18446744073709551616") == 0x1p64);
    CHECK(real("-9223372036854775809") == -0x1p63);
    CHECK(real("-18446744073709551615") == -0x1p64);
    CHECK(real("100000000000000000000000000000") == 1e29);
    CHECK(real("1" + std::string(308, '0')) == 1e308);
    CHECK(why_not("1" + std::string(309, '0')) == "number out of range @0");
}

TEST_CASE("a number with a decimal point or an exponent is a real") {
    CHECK(real("1.0") == 1.0);
    CHECK(real("1e0") == 1.0);
    CHECK(real("1E+2") == 100.0);
    CHECK(real("-1.5e-1") == -0.15);
    CHECK(real("0.1") == 0.1);
    CHECK(real("0e999999999999999999999") == 0.0);
    CHECK(same_bits(real("-0"), -0.0));
    CHECK(same_bits(real("-0.0"), -0.0));
    CHECK(same_bits(real("-0e5"), -0.0));
    CHECK(json::to_string(json::parse("-0")) == "-0.0");
    CHECK(real("1.7976931348623157e308") == std::numeric_limits<double>::max());
    CHECK(real("1.7976931348623158e308") == std::numeric_limits<double>::max());
    CHECK(real("2.2250738585072011e-308") == 0x0.fffffffffffffp-1022);
    CHECK(real("5e-324") == std::numeric_limits<double>::denorm_min());
    CHECK(real("9007199254740993.0") == 9007199254740992.0);
    CHECK(real("9007199254740993.0000000000000000000000000000000001") == 9007199254740994.0);
}

TEST_CASE("a number that is too large is rejected, one that is too small is zero") {
    CHECK(why_not("1e400") == "number out of range @0");
    CHECK(why_not("[0,-1e309]") == "number out of range @3");
    CHECK(why_not("1.7976931348623159e308") == "number out of range @0");
    CHECK(why_not("1e99999999999999999999999999") == "number out of range @0");
    CHECK(why_not("0.00001e400") == "number out of range @0");
    CHECK(why_not("123456789012345678901234567890e290") == "number out of range @0");
    CHECK(same_bits(real("1e-400"), 0.0));
    CHECK(same_bits(real("-1e-400"), -0.0));
    CHECK(same_bits(real("1e-99999999999999999999999999"), 0.0));
    CHECK(same_bits(real("2e-324"), 0.0));
    CHECK(same_bits(real("1000000e-400"), 0.0));
    CHECK(real("0." + std::string(400, '0') + "1e401") == 1.0);
    CHECK(real("1" + std::string(400, '0') + "e-400") == 1.0);
    // Exponents beyond the range of from_chars, balanced by as many zeros.
    CHECK(real("0." + std::string(700'000, '0') + "25e700001") == 2.5);
    CHECK(real("-25" + std::string(700'000, '0') + "e-700001") == -2.5);
    CHECK(why_not("0." + std::string(700'000, '0') + "1e701000") == "number out of range @0");
    CHECK(same_bits(real("1" + std::string(700'000, '0') + "e-701000"), 0.0));
}

TEST_CASE("texts that are not JSON numbers are rejected") {
    CHECK(why_not("01") == "invalid number @1");
    CHECK(why_not("-01") == "invalid number @2");
    CHECK(why_not("00") == "invalid number @1");
    CHECK(why_not("-") == "unexpected end @1");
    CHECK(why_not("-a") == "invalid number @1");
    CHECK(why_not("--1") == "invalid number @1");
    CHECK(why_not("+1") == "expected a value @0");
    CHECK(why_not(".5") == "expected a value @0");
    CHECK(why_not("1.") == "unexpected end @2");
    CHECK(why_not("[1.]") == "invalid number @3");
    CHECK(why_not("1.e1") == "invalid number @2");
    CHECK(why_not("1e") == "unexpected end @2");
    CHECK(why_not("1e+") == "unexpected end @3");
    CHECK(why_not("1e+x") == "invalid number @3");
    CHECK(why_not("1e1.5") == "text after the value @3");
    CHECK(why_not("1.5.5") == "text after the value @3");
    CHECK(why_not("0x10") == "text after the value @1");
    CHECK(why_not("1_000") == "text after the value @1");
    CHECK(why_not("1a") == "text after the value @1");
}

TEST_CASE("doubles are written with the fewest digits, as reals") {
    CHECK(written(3.0) == "3.0");
    CHECK(written(0.0) == "0.0");
    CHECK(written(-0.0) == "-0.0");
    CHECK(written(0.1) == "0.1");
    CHECK(written(-1.5) == "-1.5");
    CHECK(written(100000.0) == "100000.0");
    CHECK(written(0.0001) == "0.0001");
    CHECK(written(1e-5) == "0.00001");
    CHECK(written(1e-6) == "1e-06");
    CHECK(written(999999999999999.0) == "999999999999999.0");
    CHECK(written(1e15) == "1e+15");
    CHECK(written(1e300) == "1e+300");
    CHECK(written(5e-324) == "5e-324");
    CHECK(written(1.7976931348623157e308) == "1.7976931348623157e+308");
    CHECK(written(0.1 + 0.2) == "0.30000000000000004");
    CHECK(written(-1.2345678901234567e-5) == "-0.000012345678901234568");
}

TEST_CASE("every double is read back as the same double, and as a real") {
    json::test::random_values random(20240607);
    json::document source;
    const auto check = [&](double d) {
        const std::string text = written(d);
        const value* v = source.read(text);
        REQUIRE(v);
        REQUIRE(v->type() == kind::real);
        REQUIRE(same_bits(v->as_double(), d));
    };
    for (int i = 0; i != 200'000; ++i) check(random.finite_double());
    for (int i = 0; i != 100'000; ++i) {
        // The range in which doubles are written without an exponent.
        check(std::ldexp(random.finite_double() < 0 ? -1.0 : 1.0, static_cast<int>(random.below(80)) - 25) *
              (1.0 + static_cast<double>(random.below(1'000'000)) / 999'983.0));
        check(static_cast<double>(static_cast<std::int64_t>(random.below(UINT64_MAX))) / 1000);
    }
    for (int e = -1074; e != 1024; ++e) {
        const double d = std::ldexp(1.0, e);
        check(d);
        check(-std::nextafter(d, 0.0));
        check(std::nextafter(d, std::numeric_limits<double>::infinity()));
    }
}

TEST_CASE("every integer is read back as the same integer") {
    json::test::random_values random(7);
    json::document source;
    const auto check = [&](std::uint64_t n) {
        std::string text;
        json::write_uint(text, n);
        REQUIRE(source.read(text));
        REQUIRE(source.read(text)->if_uint() == n);
        text.clear();
        json::write_int(text, static_cast<std::int64_t>(n));
        REQUIRE(source.read(text));
        REQUIRE(source.read(text)->if_int() == static_cast<std::int64_t>(n));
    };
    for (int shift = 0; shift != 64; ++shift) {
        for (int delta = -2; delta != 3; ++delta) {
            check((std::uint64_t{1} << shift) + static_cast<std::uint64_t>(delta));
        }
    }
    std::uint64_t power = 1;
    for (int i = 0; i != 20; ++i, power *= 10) {
        check(power - 1);
        check(power);
    }
    for (int i = 0; i != 50'000; ++i) check(random.below(UINT64_MAX) >> random.below(64));
}
