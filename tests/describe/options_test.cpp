// omit_empty, rest, one_or_many, tagged structs, and types that encode themselves.

#include <keel/describe.hpp>

#include <doctest/doctest.h>

#include <map>

namespace zoo {

using keel::json::value;

enum class mood { unsaid, glad, sad };
KEEL_DESCRIBE_ENUM(mood, glad, sad)

struct sparse {
    std::string name = "x";
    std::string text;
    std::vector<int> list;
    std::vector<bool> bits;
    std::map<std::string, int> map;
    value any;
    mood how = mood::unsaid;
    bool flag = false;
    int number = 7;
};
KEEL_DESCRIBE(sparse, name, (text, keel::omit_empty), (list, keel::omit_empty), (bits, keel::omit_empty),
              (map, keel::omit_empty), (any, keel::omit_empty), (how, keel::omit_empty), (flag, keel::omit_empty),
              (number, keel::omit_empty))

struct open {
    int known = 0;
    value rest;  // also a valid member name in JSON
};
KEEL_DESCRIBE(open, known, (rest, keel::rest))

struct message {
    std::vector<std::string> to;
};
KEEL_DESCRIBE(message, (to, "Who gets it", keel::one_or_many))

struct circle {
    double radius = 0;
};
KEEL_DESCRIBE_TAGGED(circle, "type", "circle", radius)

struct nothing {};
KEEL_DESCRIBE_TAGGED(nothing, "type", "nothing")

struct open_square {
    double side = 0;
    value others;
};
KEEL_DESCRIBE_TAGGED(open_square, "type", "square", side, (others, keel::rest))

using closed_shape = std::variant<circle, nothing>;
using open_shape = std::variant<circle, nothing, value>;

/// Encoded as "3 apples".
struct amount {
    int count = 0;
    std::string what;
};
value keel_encode(const amount& a) { return std::to_string(a.count) + " " + a.what; }
bool keel_decode(const value& from, amount& into, keel::decode_error& e) {
    const auto text = from.if_string();
    if (!text || text->size() < 3 || (*text)[1] != ' ') {
        e.text = "expected an amount";
        return false;
    }
    into.count = (*text)[0] - '0';
    into.what = text->substr(2);
    return true;
}

enum class direction { up, down };
value keel_encode(direction d) { return d == direction::up ? 1 : -1; }
bool keel_decode(const value& from, direction& into, keel::decode_error&) {
    into = from.if_int() == 1 ? direction::up : direction::down;
    return true;
}

/// Delegates to a described struct, whose path is appended to ours.
struct wrapped {
    circle inner;
};
value keel_encode(const wrapped& w) { return keel::encode(w.inner); }
bool keel_decode(const value& from, wrapped& into, keel::decode_error& e) { return keel::decode(from, into.inner, e); }

struct order {
    std::vector<amount> items;
    direction where = direction::up;
    wrapped shape;
};
KEEL_DESCRIBE(order, items, where, shape)

}  // namespace zoo

using namespace keel;

namespace {

template <class T>
std::string shown(const T& from) {
    std::string direct;
    CHECK(write_json(direct, from));
    CHECK(direct == json::to_string(encode(from)));  // both ways of encoding agree
    return direct;
}

template <class T>
std::string complaint(const char* text) {
    T into{};
    decode_error e;
    return decode(json::parse(text), into, e) ? "fits" : e.message();
}

}  // namespace

TEST_CASE("omit_empty omits values that are empty or default") {
    CHECK(shown(zoo::sparse{}) == R"({"name":"x"})");
    zoo::sparse full;
    full.text = "t";
    full.list = {1};
    full.bits = {true};
    full.map = {{"k", 1}};
    full.any = json::object();
    full.how = zoo::mood::sad;
    full.flag = true;
    full.number = 0;
    CHECK(shown(full) == R"({"name":"x","text":"t","list":[1],"bits":[true],"map":{"k":1},"any":{},)"
                         R"("how":"sad","flag":true,"number":0})");
}

TEST_CASE("omit_empty members are not required, and keep their previous value") {
    zoo::sparse s;
    s.text = "kept";
    decode_error e;
    REQUIRE(decode(json::parse(R"({"name":"n"})"), s, e));
    CHECK(s.text == "kept");
    CHECK(schema_of<zoo::sparse>()["required"] == json::array({"name"}));
    CHECK_FALSE(schema_of<zoo::sparse>()["properties"]["text"].contains("default"));
}

TEST_CASE("unknown members are collected in rest, and written after the known members") {
    auto o = decode<zoo::open>(json::parse(R"({"b":[1],"known":3,"rest":"r","a":{}})"));
    CHECK(o.known == 3);
    CHECK(o.rest == json::parse(R"({"b":[1],"rest":"r","a":{}})"));
    CHECK(shown(o) == R"({"known":3,"b":[1],"rest":"r","a":{}})");
    SUBCASE("without unknown members it is null") {
        decode_error e;
        REQUIRE(decode(json::parse(R"({"known":4})"), o, e));
        CHECK(o.rest.is_null());
    }
    SUBCASE("it cannot override a known member") {
        o.rest.set("known", "no");
        CHECK(shown(o) == R"({"known":3,"b":[1],"rest":"r","a":{}})");
    }
    SUBCASE("it outlives the document it was read from") {
        json::document d;
        decode_error e;
        REQUIRE(decode(*d.read(R"({"known":1,"more":"text of the document"})"), o, e));
        d.clear();
        CHECK(o.rest["more"].as_string() == "text of the document");
        CHECK_FALSE(o.rest.borrowed());
    }
    CHECK(json::to_string(schema_of<zoo::open>()["properties"]).find("rest") == std::string::npos);
    CHECK(schema_of<zoo::open>()["additionalProperties"] == json::value(true));
}

TEST_CASE("one_or_many encodes a single element without an array, and decodes both forms") {
    CHECK(shown(zoo::message{{"a"}}) == R"({"to":"a"})");
    CHECK(shown(zoo::message{{"a", "b"}}) == R"({"to":["a","b"]})");
    CHECK(shown(zoo::message{}) == R"({"to":[]})");
    CHECK(decode<zoo::message>(json::parse(R"({"to":"a"})")).to == std::vector<std::string>{"a"});
    CHECK(decode<zoo::message>(json::parse(R"({"to":["a"]})")).to == std::vector<std::string>{"a"});
    CHECK(complaint<zoo::message>(R"({"to":3})") == "to: expected string, found integer");
    CHECK(json::to_string(schema_of<zoo::message>()["properties"]["to"]) ==
          R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}],"description":"Who gets it"})");
}

TEST_CASE("a tagged struct writes its tag first and requires it") {
    CHECK(shown(zoo::circle{2}) == R"({"type":"circle","radius":2.0})");
    CHECK(shown(zoo::nothing{}) == R"({"type":"nothing"})");
    CHECK(decode<zoo::circle>(json::parse(R"({"radius":2,"type":"circle"})")).radius == 2);
    CHECK(complaint<zoo::circle>(R"({"radius":2})") == "type: required");
    CHECK(complaint<zoo::circle>(R"({"type":"square","radius":2})") == R"(type: expected "circle", found "square")");
    CHECK(complaint<zoo::circle>(R"({"type":1,"radius":2})") == "type: expected string, found integer");
    CHECK(json::to_string(schema_of<zoo::circle>()) ==
          R"({"type":"object","properties":{"type":{"type":"string","const":"circle"},"radius":{"type":"number"}},)"
          R"("required":["type","radius"]})");
}

TEST_CASE("the tag is not part of the rest") {
    const auto s = decode<zoo::open_square>(json::parse(R"({"type":"square","side":1,"color":"red"})"));
    CHECK(s.others == json::parse(R"({"color":"red"})"));
    CHECK(shown(s) == R"({"type":"square","side":1.0,"color":"red"})");
}

TEST_CASE("a variant of tagged structs is selected by the tag") {
    const auto s = decode<zoo::closed_shape>(json::parse(R"({"type":"nothing"})"));
    CHECK(s.index() == 1);
    CHECK(complaint<zoo::closed_shape>(R"({"type":"square"})") ==
          R"(type: expected one of "circle", "nothing", found "square")");
    CHECK(complaint<zoo::closed_shape>("{}") == "type: required");
    CHECK(complaint<zoo::closed_shape>(R"({"type":[]})") == "type: expected string, found array");
    CHECK(complaint<zoo::closed_shape>("3") == "expected object, found integer");
    SUBCASE("an unknown tag selects the alternative that accepts anything") {
        const auto o = decode<zoo::open_shape>(json::parse(R"({"type":"square"})"));
        REQUIRE(o.index() == 2);
        CHECK(shown(o) == R"({"type":"square"})");
    }
    SUBCASE("a known tag with invalid members does not") {
        CHECK(complaint<zoo::open_shape>(R"({"type":"circle"})") == "radius: required");
    }
}

TEST_CASE("a type may encode and decode itself") {
    zoo::order o;
    o.items = {{3, "apples"}, {1, "pear"}};
    o.where = zoo::direction::down;
    CHECK(shown(o) == R"({"items":["3 apples","1 pear"],"where":-1,"shape":{"type":"circle","radius":0.0}})");
    const auto again = decode<zoo::order>(encode(o));
    CHECK(again.items[0].what == "apples");
    CHECK(again.where == zoo::direction::down);
    CHECK(complaint<zoo::order>(R"({"items":["3 apples",""]})") == "items[1]: expected an amount");
    CHECK(complaint<zoo::order>(R"({"items":[],"where":1,"shape":{"type":"circle","radius":""}})") ==
          "shape.radius: expected number, found string");
    CHECK(schema_of<zoo::order>()["properties"]["where"] == json::object());
}

TEST_CASE("an optional json::value distinguishes null from missing") {
    struct local {
        static std::optional<json::value> read(const char* text) {
            return decode<std::optional<json::value>>(json::parse(text));
        }
    };
    CHECK(local::read("null").has_value());
    CHECK(decode<std::optional<int>>(json::parse("null")) == std::nullopt);
}
