// Code of the guides that is not part of an example. It is compiled and run here, and its results are checked.
// tests/drive/test_doc_snippets.py compares the guides with this file.

// clang-format off

#include <keel/describe.hpp>

#include <keel/schema.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace json = keel::json;

namespace describe_guide {

enum class color { red, green };
KEEL_DESCRIBE_ENUM(color, red, green)

struct point {
    double x = 0;
    double y = 0;
};
KEEL_DESCRIBE(point, x, y)

struct paint_args {
    std::string name;
    std::optional<int> count;
    std::vector<point> points;
    color paint = color::red;
};
KEEL_DESCRIBE(paint_args, (name, "Whose picture", keel::min_length(1)), count,
              (points, "Where to paint", keel::min_items(1)), (paint, keel::defaulted))

TEST_CASE("describe.md: a described struct is read and written") {
    auto in = keel::decode<paint_args>(json::parse(R"({"name":"Ann","points":[{"x":1,"y":2}]})"));
    CHECK(in.points.at(0).y == 2);
    CHECK(in.paint == color::red);
    keel::decode_error error;
    CHECK_FALSE(keel::decode(json::parse(R"({"name":"","points":[{"x":1,"y":2}]})"), in, error));
}

struct circle { double radius = 0; };
KEEL_DESCRIBE_TAGGED(circle, "type", "circle", radius)

struct square { double side = 0; };
KEEL_DESCRIBE_TAGGED(square, "type", "square", side)

using figure = std::variant<circle, square, json::value>;

TEST_CASE("describe.md: a variant is read by its tag") {
    CHECK(keel::encode(circle{2}) == json::parse(R"({"type":"circle","radius":2})"));
    CHECK(std::get<square>(keel::decode<figure>(json::parse(R"({"type":"square","side":3})"))).side == 3);
    CHECK(keel::decode<figure>(json::parse(R"({"type":"other"})")).index() == 2);
}

/// An amount of money, in cents; "3.50" on the wire.
struct amount {
    int cents = 0;
};

json::value keel_encode(const amount& from);
bool keel_decode(const json::value& from, amount& into, keel::decode_error& error);

json::value keel_encode(const amount& from) {
    std::string rest = std::to_string(from.cents % 100);
    return std::to_string(from.cents / 100) + "." + (rest.size() < 2 ? "0" + rest : rest);
}
bool keel_decode(const json::value& from, amount& into, keel::decode_error& error) {
    auto text = from.if_string();
    if (!text || text->size() < 4 || (*text)[text->size() - 3] != '.') {
        error.text = "expected an amount, as in \"3.50\"";
        return false;
    }
    into.cents = std::stoi(std::string(text->substr(0, text->size() - 3))) * 100 +
                 std::stoi(std::string(text->substr(text->size() - 2)));
    return true;
}

struct bill {
    amount total;
};
KEEL_DESCRIBE(bill, total)

TEST_CASE("describe.md: a type may encode itself") {
    CHECK(keel::encode(bill{{350}}) == json::parse(R"({"total":"3.50"})"));
    CHECK(keel::decode<bill>(json::parse(R"({"total":"3.05"})")).total.cents == 305);
    bill b;
    keel::decode_error error;
    CHECK_FALSE(keel::decode(json::parse(R"({"total":3})"), b, error));
    CHECK(error.message() == "total: expected an amount, as in \"3.50\"");
}

}  // namespace describe_guide

namespace vendor {

class color {
public:
    std::string name() const { return name_; }
    bool set(std::string_view name) {
        name_ = name;
        return name == "red" || name == "green";
    }

private:
    std::string name_ = "red";
};

}  // namespace vendor

template <>
struct keel::codec<vendor::color> {
    static json::value encode(const vendor::color& from) { return from.name(); }
    static bool decode(const json::value& from, vendor::color& into, keel::decode_error& error) {
        const auto name = from.if_string();
        if (name && into.set(*name)) return true;
        error.text = "expected the name of a color";
        return false;
    }
    static json::value schema() { return json::object("type", "string"); }  // optional
};

TEST_CASE("describe.md: a codec for a type of another library") {
    vendor::color c;
    keel::decode_error error;
    CHECK(keel::decode(json::parse("\"green\""), c, error));
    CHECK(keel::encode(c) == "green");
    CHECK_FALSE(keel::decode(json::parse("\"sky\""), c, error));
    CHECK(error.message() == "expected the name of a color");
    CHECK(keel::schema_of<vendor::color>() == json::object("type", "string"));
}

TEST_CASE("json.md: values are made, changed and looked at") {
    std::vector<std::string> used;
    auto use = [&](std::string_view text) { used.emplace_back(text); };

    json::value v = json::object("name", "x", "sizes", json::array(1, 2.5, nullptr));
    v["more"]["text"] = "y";                                 // inserts members as needed
    if (v["name"] == "x") v["name"] = "z";
    int count = v.value_or("count", 1);                      // 1: there is no such member
    std::string_view name = v["name"].as_string();           // throws json::error if it is not a string
    v["not"]["there"].if_int();                              // std::nullopt; reading inserts nothing
    for (const json::value& size : v["sizes"]) use(json::to_string(size));
    for (const auto& [key, content] : v.members()) use(key);

    CHECK(count == 1);
    CHECK(name == "z");
    CHECK(used == std::vector<std::string>{"1", "2.5", "null", "name", "sizes", "more"});
    CHECK_THROWS_AS(v["sizes"].as_string(), json::error);
    CHECK_FALSE(v["not"]["there"].if_int());
}

TEST_CASE("json.md: a copy outlives its document") {
    std::string line = R"({"params":{"a":"text"}})";

    json::document source;                       // one per connection
    const json::value* v = source.read(line);    // nullptr: see source.error().what and .offset
    json::value kept = (*v)["params"];           // a copy outlives the document and the text

    source.clear();
    line.assign(100, ' ');
    CHECK(kept["a"].as_string() == "text");
}

TEST_CASE("json-schema.md: a value is checked, and the error contains its path") {
    std::string said;
    auto log = [&](std::string text) { said = std::move(text); };
    json::value value = json::object("name", "x", "count", 0);

    const keel::schema arguments(keel::json::parse(R"({
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
        "required": ["name"]
    })"));

    keel::decode_error error;
    if (!arguments.check(value, error, "arguments"))
        log(error.message());       // arguments.count: expected at least 1, found 0

    CHECK(said == "arguments.count: expected at least 1, found 0");
}
