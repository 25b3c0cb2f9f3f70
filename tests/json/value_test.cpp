#include <keel/json.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace keel;
using json::kind;
using json::value;

namespace {

template <class F>
std::string message_of(F f) {
    try {
        f();
    } catch (const json::error& e) {
        return e.what();
    }
    return "nothing thrown";
}

enum plain_enum { first };

}  // namespace

TEST_CASE("C++ types convert to JSON values") {
    CHECK(value().is_null());
    CHECK(value(nullptr).is_null());
    CHECK(value(true).type() == kind::boolean);
    CHECK(value(-1).type() == kind::integer);
    CHECK(value(1u).type() == kind::integer);
    CHECK(value(std::uint64_t{1} << 63).type() == kind::unsigned_integer);
    CHECK(value(INT64_MAX).type() == kind::integer);
    CHECK(value(1.5f).as_double() == 1.5);
    CHECK(value("x").as_string() == "x");
    CHECK(value(std::string("x")).as_string() == "x");
    CHECK(value(std::string_view()).as_string().empty());
    static_assert(!std::is_constructible_v<value, char>);
    static_assert(!std::is_constructible_v<value, plain_enum>);
    static_assert(!std::is_constructible_v<value, void*>);
    static_assert(!std::is_constructible_v<value, std::vector<bool>::reference>);
    static_assert(std::is_nothrow_move_constructible_v<value> && std::is_nothrow_move_assignable_v<value>);
}

TEST_CASE("accessing a value as another type throws") {
    CHECK(message_of([] { value(json::array()).as_string(); }) == "expected string, found array");
    CHECK(message_of([] { value().as_bool(); }) == "expected boolean, found null");
    CHECK(message_of([] { value(1.0).as_int(); }) == "expected integer, found number");
    CHECK(message_of([] { value(UINT64_MAX).as_int(); }) == "integer out of range");
    CHECK(message_of([] { value(-1).as_uint(); }) == "integer out of range");
    CHECK(message_of([] { value("1").as_uint(); }) == "expected integer, found string");
    CHECK(message_of([] { value(true).as_double(); }) == "expected number, found boolean");
    CHECK(message_of([] { value(json::object()).at(0); }) == "expected array, found object");
    CHECK(message_of([] { json::array({1}).at(1); }) == "index 1 out of range: the array size is 1");
    CHECK(message_of([] { value(1).push_back(1); }) == "expected array, found integer");
    CHECK(message_of([] { json::array().set("a", 1); }) == "expected object, found array");
    CHECK(message_of([] { value("s").reserve(1); }) == "expected array or object, found string");
}

TEST_CASE("if_ accessors return nothing for another type") {
    CHECK(!value("1").if_int());
    CHECK(!value(1.0).if_int());
    CHECK(!value(UINT64_MAX).if_int());
    CHECK(value(UINT64_MAX).if_uint() == UINT64_MAX);
    CHECK(!value(-1).if_uint());
    CHECK(value(-1).if_double() == -1.0);
    CHECK(!value(1).if_bool());
    CHECK(!value().if_string());
    CHECK(value(3).size() == 0);
    CHECK(value("abc").size() == 0);
    CHECK(value(3).items().empty());
    CHECK(value(json::array({1})).members().empty());
    CHECK(value().find("x") == nullptr);
    CHECK(value()["a"]["b"]["c"].is_null());
}

TEST_CASE("members keep their order, and set replaces in place") {
    value v;
    v.set("b", 1);
    v.set("a", 2);
    v.set("b", 3);
    CHECK(json::to_string(v) == R"({"b":3,"a":2})");
    CHECK(v.erase("b"));
    CHECK(!v.erase("b"));
    CHECK(json::to_string(v) == R"({"a":2})");
    CHECK(v.erase("a"));
    CHECK(v.empty());
    CHECK(json::to_string(v) == "{}");
    v.set("", "empty name");
    v.set(std::string_view("a\0b", 3), "zero inside");
    CHECK(v[""].as_string() == "empty name");
    CHECK(v[std::string_view("a\0b", 3)].as_string() == "zero inside");
    CHECK(!v.contains("a"));
    CHECK(json::to_string(json::object({{"k", 1}, {"l", 2}, {"k", 3}})) == R"({"k":3,"l":2})");
}

TEST_CASE("append and set return the added value, and turn null into a container") {
    value v;
    v.set("list", json::array()).push_back("x");
    v.set("map", nullptr).set("deep", nullptr).push_back(1);
    CHECK(json::to_string(v) == R"({"list":["x"],"map":{"deep":[1]}})");
    value list;
    for (int i = 0; i != 1000; ++i) list.push_back(i);
    CHECK(list.size() == 1000);
    CHECK(list.at(999).as_int() == 999);
    value map;
    map.reserve(3);
    CHECK(map.is_null());
    map = json::object();
    map.reserve(500);
    for (int i = 0; i != 1000; ++i) map.append(std::to_string(i), i);
    CHECK(map["777"].as_int() == 777);
}

TEST_CASE("a value may be added to itself or replaced by a part of itself") {
    value v = json::array({1, json::array({2, "text"})});
    v.push_back(v);
    CHECK(json::to_string(v) == R"([1,[2,"text"],[1,[2,"text"]]])");
    v = std::move(v.items()[1]);
    CHECK(json::to_string(v) == R"([2,"text"])");
    v = v.at(1);
    CHECK(v == "text");
    value& same = v;
    v = same;
    CHECK(v == "text");
    v = std::move(same);
    CHECK(v == "text");
    value w;
    w.push_back(1);
    w.push_back(std::move(w));
    CHECK(json::to_string(w) == "[[1]]");
    value o = json::object({{"name", "x"}});
    o.set(o.members()[0].key(), o);
    CHECK(json::to_string(o) == R"({"name":{"name":"x"}})");
    CHECK(o.erase(o.members()[0].key()));
}

TEST_CASE("a moved-from value is null") {
    value v = json::object({{"a", "b"}});
    value w = std::move(v);
    CHECK(v.is_null());
    CHECK(w["a"] == "b");
}

TEST_CASE("copies are deep") {
    value v =
        json::object({{"list", json::array({1, "two", json::object({{"three", 3.5}})})}, {"empty", json::array()}});
    value copy = v;
    CHECK(copy == v);
    copy.find("list")->items()[1] = "changed";
    CHECK(copy != v);
    CHECK(v["list"].at(1) == "two");
    copy.find("empty")->push_back(1);
    CHECK(v["empty"].empty());
}

TEST_CASE("numbers are equal if their mathematical values are") {
    CHECK(value(1) == value(1.0));
    CHECK(value(0) == value(-0.0));
    CHECK(value(1) != value(1.5));
    CHECK(value(1) != value("1"));
    CHECK(value(1) != value(true));
    CHECK(value(0) != value());
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;  // not representable as a double
    CHECK(value(odd) != value(0x1p53));
    CHECK(value(odd - 1) == value(0x1p53));
    CHECK(value(INT64_MIN) == value(-0x1p63));
    CHECK(value(INT64_MAX) != value(0x1p63));
    CHECK(value(std::uint64_t{1} << 63) == value(0x1p63));
    CHECK(value(UINT64_MAX) != value(0x1p64));
    CHECK(value(UINT64_MAX) != value(-1));
    CHECK(value(1) != value(std::numeric_limits<double>::infinity()));
    const value nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(nan != nan);
    CHECK(nan != value(1));
    const value list = json::array({nan});
    CHECK(list != list);
}

TEST_CASE("objects are equal in any order of members, arrays are not") {
    CHECK(json::object({{"a", 1}, {"b", 2}}) == json::object({{"b", 2}, {"a", 1}}));
    CHECK(json::object({{"a", 1}, {"b", 2}}) != json::object({{"a", 1}, {"c", 2}}));
    CHECK(json::object({{"a", 1}, {"b", 2}}) != json::object({{"b", 1}, {"a", 2}}));
    CHECK(json::object({{"a", 1}}) != json::object({{"a", 1}, {"b", 2}}));
    CHECK(json::array({1, 2}) != json::array({2, 1}));
    CHECK(json::array() != json::object());
    CHECK(json::array() == json::array());
    CHECK(json::object() == json::object());

    value up = json::object();
    value down = json::object();
    constexpr int many = 100'000;
    for (int i = 0; i != many; ++i) up.append("k" + std::to_string(i), json::array({i}));
    for (int i = many; i != 0; --i) down.append("k" + std::to_string(i - 1), json::array({i - 1}));
    CHECK(up == down);
    *down.find("k5") = json::array({-1});
    CHECK(up != down);
    down.erase("k5");
    down.append("other", json::array({5}));
    CHECK(up != down);
}

TEST_CASE("values of a document are borrowed, copies of them are owned") {
    json::document source;
    std::string text = R"({"plain":"text","escaped":"a\nb","list":[1,{"x":"y"}],"none":{},"number":7})";
    const value* read = source.read(text);
    REQUIRE(read);
    CHECK(read->borrowed());
    CHECK((*read)["plain"].borrowed());
    CHECK((*read)["plain"].as_string().data() >= text.data());
    CHECK((*read)["plain"].as_string().data() < text.data() + text.size());
    CHECK((*read)["escaped"].borrowed());
    CHECK((*read)["list"].at(1)["x"].borrowed());
    CHECK(!(*read)["number"].borrowed());

    const value copy = *read;
    const value expected = json::parse(text);
    text.assign(text.size(), '#');
    REQUIRE(source.read("[1,2,3]"));
    CHECK(!copy.borrowed());
    CHECK(!copy["list"].at(1)["x"].borrowed());
    CHECK(!copy["list"].at(1).members()[0].name.borrowed());
    CHECK(copy == expected);
    CHECK(json::to_string(copy) == R"({"plain":"text","escaped":"a\nb","list":[1,{"x":"y"}],"none":{},"number":7})");
}

TEST_CASE("adding to a borrowed value makes it owned first") {
    json::document source;
    std::string text = R"({"a":{"b":"c"},"list":["one"]})";
    // Only code that uses the document has such a value: it was moved out of it.
    const auto taken = [&] { return std::move(const_cast<value&>(*source.read(text))); };

    SUBCASE("set") {
        value v = taken();
        CHECK(v.borrowed());
        v.set("a", 1);
        CHECK(!v.borrowed());
        CHECK(!v["list"].borrowed());
        CHECK(json::to_string(v) == R"({"a":1,"list":["one"]})");
    }
    SUBCASE("append") {
        value v = taken();
        v.append("z", "y");
        CHECK(!v.borrowed());
        CHECK(json::to_string(v) == R"({"a":{"b":"c"},"list":["one"],"z":"y"})");
    }
    SUBCASE("push_back and reserve") {
        value v = std::move(*taken().find("list"));
        CHECK(v.borrowed());
        v.reserve(10);
        CHECK(!v.borrowed());
        v.push_back("two");
        CHECK(json::to_string(v) == R"(["one","two"])");
    }
    SUBCASE("erase needs no copy") {
        value v = taken();
        CHECK(v.erase("a"));
        CHECK(v.borrowed());
        CHECK(json::to_string(v) == R"({"list":["one"]})");
    }
    SUBCASE("a borrowed value added to an owned one") {
        value v = json::object();
        v.set("part", taken());
        value list = json::array();
        list.push_back(taken());
        v.set("part", taken());
        CHECK(!v["part"].borrowed());
        CHECK(!list.at(0).borrowed());
        text.assign(text.size(), ' ');
        source.clear();
        CHECK(json::to_string(v) == R"({"part":{"a":{"b":"c"},"list":["one"]}})");
        CHECK(list.at(0) == v["part"]);
    }
}

TEST_CASE("assigning to a subscript inserts or replaces a member") {
    value v;
    v["a"] = 1;
    v["b"] = "text";
    v["a"] = 2.5;
    CHECK(json::to_string(v) == R"({"a":2.5,"b":"text"})");
    v["c"]["d"]["e"] = true;
    CHECK(json::to_string(v["c"]) == R"({"d":{"e":true}})");
    v["list"].push_back(1);
    v["list"].push_back("two");
    v["c"].set("f", nullptr);
    CHECK(json::to_string(v) == R"({"a":2.5,"b":"text","c":{"d":{"e":true},"f":null},"list":[1,"two"]})");
    CHECK(v["c"].erase("f"));
    CHECK(!v["c"].erase("f"));
    CHECK(!v["none"].erase("f"));
    v["copy"] = v["list"];
    CHECK(v["copy"] == json::array(1, "two"));
    CHECK((v["x"] = json::object()).set("y", 1) == 1);
}

TEST_CASE("reading a subscript inserts nothing and accepts every kind") {
    value v = json::object("a", "text");
    CHECK(v["missing"].is_null());
    CHECK(v["a"]["b"]["c"].is_null());
    const auto& kept = v["a"];
    CHECK(kept == "text");
    CHECK(kept["b"].is_null());
    CHECK(json::to_string(v) == R"({"a":"text"})");
    value scalar = 3;
    CHECK(scalar["x"].is_null());
    CHECK(scalar == 3);
}

TEST_CASE("assigning to a subscript of a value that is neither an object nor null throws") {
    value number = 1;
    value list = json::array(1);
    value nested = json::object("a", "text");
    CHECK(message_of([&] { number["x"] = 1; }) == "expected object, found integer");
    CHECK(message_of([&] { list["x"] = 1; }) == "expected object, found array");
    CHECK(message_of([&] { nested["a"]["b"] = 1; }) == "expected object, found string");
    CHECK(message_of([&] { nested["a"].push_back(1); }) == "expected array, found string");
    CHECK(json::to_string(nested) == R"({"a":"text"})");
}

TEST_CASE("assigning to a subscript of a borrowed value makes it owned first") {
    value kept;
    {
        json::document source;
        const std::string text = R"({"a":{"b":"a string of the document"},"c":[1]})";
        REQUIRE(source.read(text) != nullptr);
        value changed = *source.read(text);
        changed["a"]["d"] = 1;
        kept = std::move(changed);
    }
    CHECK(!kept.borrowed());
    CHECK(json::to_string(kept) == R"({"a":{"b":"a string of the document","d":1},"c":[1]})");
}

TEST_CASE("a range-for visits the elements of an array and the contents of an object") {
    value list = json::array(1, "two", nullptr);
    std::string seen;
    for (const value& each : std::as_const(list)) seen += json::to_string(each) + ' ';
    CHECK(seen == "1 \"two\" null ");
    for (value& each : list) each = 0;
    CHECK(list == json::array(0, 0, 0));

    value object = json::object("a", 1, "b", json::array(2));
    seen.clear();
    for (const value& each : object["b"]) seen += json::to_string(each);
    for (const value& each : object) seen += json::to_string(each);
    CHECK(seen == "21[2]");
    for (const auto& [key, content] : object.members()) seen += std::string(key) + '=' + json::to_string(content);
    CHECK(seen == "21[2]a=1b=[2]");
    for (auto& [key, content] : object.members()) content = std::string(key);
    CHECK(object == json::object("a", "a", "b", "b"));

    for (const value& none : value(3)) FAIL(json::to_string(none));
    for (const value& none : json::array()) FAIL(json::to_string(none));
    for (const value& none : json::object()) FAIL(json::to_string(none));
}

TEST_CASE("value_or returns the contents, or the fallback for null") {
    const value v = json::object("n", 3, "whole", 3.0, "real", 2.5, "text", "x", "yes", true, "null", nullptr);
    CHECK(v.value_or("n", 1) == 3);
    CHECK(v.value_or("missing", 1) == 1);
    CHECK(v.value_or("null", 1) == 1);
    CHECK(v.value_or("whole", 1) == 3);
    CHECK(v.value_or("whole", 1u) == 3);
    CHECK(v.value_or("n", 1.5) == 3.0);
    CHECK(v.value_or("real", 1.5) == 2.5);
    CHECK(v.value_or("text", "y") == "x");
    CHECK(v.value_or("missing", std::string("y")) == "y");
    CHECK(v.value_or("yes", false));
    CHECK(v["n"].value_or(std::int64_t{1}) == 3);
    static_assert(std::is_same_v<decltype(v.value_or("text", "y")), std::string>);
    static_assert(std::is_same_v<decltype(v.value_or("n", std::uint8_t{1})), std::uint8_t>);

    CHECK(message_of([&] { v.value_or("text", 1); }) == "expected integer, found string");
    CHECK(message_of([&] { v.value_or("n", "y"); }) == "expected string, found integer");
    CHECK(message_of([&] { v.value_or("real", 1); }) == "expected integer, found number");
    CHECK(message_of([&] { value(300).value_or(std::uint8_t{1}); }) == "integer out of range");
    CHECK(message_of([&] { value(-1).value_or(1u); }) == "integer out of range");
    CHECK(message_of([&] { value(UINT64_MAX).value_or(1); }) == "integer out of range");
    CHECK(message_of([&] { value(0x1p63).value_or(std::int64_t{1}); }) == "expected integer, found number");
}

TEST_CASE("values are compared with C++ values") {
    const value v = json::object("currency", "USD", "n", 1, "none", nullptr);
    CHECK(v["currency"] == "USD");
    CHECK(v["currency"] != "EUR");
    CHECK("USD" == v["currency"]);
    CHECK(v["currency"] == std::string("USD"));
    CHECK(v["currency"] == std::string_view("USD"));
    CHECK(v["n"] == 1);
    CHECK(v["n"] == 1.0);
    CHECK(v["n"] != "1");
    CHECK(v["n"] != true);
    CHECK(v["none"] == nullptr);
    CHECK(v["missing"] != "");
}

TEST_CASE("array and object need no nested braces") {
    CHECK(json::array(1, "two", nullptr) == json::array({1, "two", nullptr}));
    CHECK(json::array(json::array(1)) == json::array({json::array({1})}));
    CHECK(json::object("a", 1, "b", json::object("c", 2.5)) ==
          json::object({{"a", 1}, {"b", json::object({{"c", 2.5}})}}));
    const std::string name = "computed";
    CHECK(json::to_string(json::object(name, 1, "a", 2, name, 3)) == R"({"computed":3,"a":2})");
}
