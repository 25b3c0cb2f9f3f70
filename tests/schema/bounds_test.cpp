#include "ask.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace keel;

namespace {

std::string nested(std::size_t depth, std::string_view open, std::string_view close, std::string_view middle = {}) {
    std::string out;
    for (std::size_t i = 0; i != depth; ++i) out += open;
    out += middle;
    for (std::size_t i = 0; i != depth; ++i) out += close;
    return out;
}

json::value deep_array(std::size_t depth) {
    json::value v = json::array();
    for (std::size_t i = 1; i < depth; ++i) {
        json::value outer;
        outer.push_back(std::move(v));
        v = std::move(outer);
    }
    return v;
}

std::string why(const schema& s, const json::value& v) {
    decode_error e;
    return s.check(v, e) ? "fits" : e.text;
}

constexpr std::string_view too_deep = "nested too deeply";
constexpr std::string_view too_much = "validation stopped: work limit exceeded";

}  // namespace

TEST_CASE("SCH-07: a recursive schema rejects a value that is nested too deeply") {
    const schema s(json::parse(R"({"items":{"$ref":"#"}})"));
    CHECK(s.accepts(deep_array(40)));
    CHECK(why(s, deep_array(200)) == too_deep);
    CHECK(why(s, deep_array(200'000)) == too_deep);
    const schema deeper(json::parse(R"({"items":{"$ref":"#"}})"), {.max_depth = 1000});
    CHECK(deeper.accepts(deep_array(200)));
}

TEST_CASE("SCH-07: a schema that only refers to itself rejects every value") {
    CHECK(why(schema(json::parse(R"({"$ref":"#"})")), 1) == too_deep);
    CHECK(why(schema(json::parse(R"({"allOf":[{"$ref":"#"}]})")), 1) == too_deep);
    CHECK(
        why(schema(json::parse(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})")),
            1) == too_deep);
    CHECK(why(schema(json::parse(R"({"$dynamicAnchor":"a","$dynamicRef":"#a"})")), 1) == too_deep);
}

TEST_CASE("SCH-07: reaching a limit rejects the value even inside \"not\"") {
    // If "not" treated the limit as a mismatch, it would accept the value.
    CHECK(why(schema(json::parse(R"({"not":{"$ref":"#"}})")), 1) == too_deep);
    CHECK(why(schema(json::parse(R"({"anyOf":[{"$ref":"#"},true]})")), 1) == too_deep);
    CHECK(why(schema(json::parse(R"({"oneOf":[{"$ref":"#"},true]})")), 1) == too_deep);
    CHECK(why(schema(json::parse(R"({"if":{"$ref":"#"},"else":true})")), 1) == too_deep);
    CHECK(why(schema(json::parse(R"({"contains":{"$ref":"#/$defs/a"},"minContains":0,"maxContains":5,
                                     "$defs":{"a":{"$ref":"#/$defs/a"}}})")),
              json::array({1})) == too_deep);
    CHECK(why(schema(json::parse(R"({"unevaluatedProperties":true,"anyOf":[{"$ref":"#"},true]})")),
              json::object({{"a", 1}})) == too_deep);
}

TEST_CASE("SCH-07: exponential alternatives are stopped by the work limit") {
    // Each level tries both halves of the next one: 2^40 combinations.
    std::string text = R"({"$ref":"#/$defs/n0","$defs":{)";
    for (int i = 0; i != 40; ++i) {
        const std::string next = R"({"$ref":"#/$defs/n)" + std::to_string(i + 1) + "\"}";
        text += "\"n" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
    }
    text += R"("n40":false}})";
    const schema s(json::parse(text));
    CHECK(why(s, 1) == too_much);
    const schema little(json::parse(R"({"items":{"type":"integer"}})"), {.max_work = 10});
    CHECK(little.accepts(json::parse("[1,2,3]")));
    CHECK(why(little, json::parse("[1,2,3,4,5,6,7,8,9,10,11,12]")) == too_much);
}

TEST_CASE("SCH-07: a schema that is nested too deeply or has too many subschemas is rejected") {
    CHECK(refusal(nested(100, R"({"not":)", "}", "true")) == "good");
    CHECK(refusal(nested(200, R"({"not":)", "}", "true")).find("schemas nested too deeply: more than 128 levels") !=
          std::string::npos);
    std::string many = R"({"properties":{)";
    for (int i = 0; i != 10'001; ++i) many += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\":true";
    many += "}}";
    CHECK(refusal(many).find("too many schemas: more than 10000") != std::string::npos);
    CHECK(refusal(many, {.max_subschemas = 20'000}) == "good");
    // Deeply nested data inside a schema is accepted.
    json::value data = json::object();
    data.set("const", deep_array(100'000));
    const schema s(data);
    CHECK(s.accepts(deep_array(100'000)));
    CHECK_FALSE(s.accepts(deep_array(99'999)));
}

TEST_CASE("SCH-07: uniqueItems does not compare all pairs of a large array") {
    const schema s(json::parse(R"({"uniqueItems":true})"));
    json::value numbers = json::array();
    json::value texts = json::array();
    json::value objects = json::array();
    for (int i = 0; i != 100'000; ++i) {
        numbers.push_back(i);
        texts.push_back("item " + std::to_string(i));
        objects.push_back(json::object({{"n", i / 2}, {"half", i % 2 == 0}}));
    }
    CHECK(s.accepts(numbers));
    CHECK(s.accepts(texts));
    CHECK(s.accepts(objects));
    numbers.push_back(99'999.0);
    texts.push_back("item 5");
    objects.push_back(json::object({{"half", false}, {"n", 7}}));
    CHECK_FALSE(s.accepts(numbers));
    CHECK_FALSE(s.accepts(texts));
    CHECK_FALSE(s.accepts(objects));
    CHECK(why(s, numbers) == "expected unique items");
    CHECK_FALSE(s.accepts(json::array({texts, numbers, texts})));
}

TEST_CASE("SCH-07: repeated comparison of large values counts as work") {
    std::string all = R"({"uniqueItems":true})";
    for (int i = 1; i != 1000; ++i) all += R"(,{"uniqueItems":true})";
    const schema s(json::parse("{\"allOf\":[" + all + "]}"));
    json::value large = json::array();
    for (int i = 0; i != 50'000; ++i) large.push_back(i);
    json::value other = large;
    other.push_back(0);
    large.push_back(1);
    CHECK(why(s, json::array({large, other})) == too_much);
    const schema constants(json::parse(R"({"enum":[{"a":[1,2,3]},{"a":[1,2,4]},{"a":[1,2,5]}]})"), {.max_work = 12});
    CHECK(why(constants, json::parse(R"({"a":[1,2,5]})")) == too_much);
}

TEST_CASE("many properties are found by name in any order") {
    std::string schema_text = R"({"properties":{)";
    std::string value = "{";
    for (int i = 0; i != 500; ++i) {
        const std::string name = "\"p" + std::to_string(i) + "\":";
        schema_text += (i ? "," : "") + name + (i % 2 ? R"({"type":"string"})" : R"({"type":"integer"})");
        const int j = 499 - i;
        value += (i ? ",\"p" : "\"p") + std::to_string(j) + "\":" + (j % 2 ? "\"x\"" : "1");
    }
    const schema s(json::parse(schema_text + R"(},"required":["p3","p499","other"],"additionalProperties":false})"));
    CHECK(ask(s, value + "}") == "other: required");
    CHECK(ask(s, value + ",\"more\":1}") == "more: unknown property");
    const schema t(json::parse(schema_text + R"(},"required":["p3","p499"],"additionalProperties":false})"));
    CHECK(ask(t, value + "}") == "fits");
}

TEST_CASE("evaluated members are tracked beyond the inline capacity") {
    std::string schema_text = R"({"anyOf":[{"patternProperties":{"^a":true}},false],"unevaluatedProperties":false})";
    json::value v = json::object();
    for (int i = 0; i != 1000; ++i) v.append("a" + std::to_string(i), i);
    const schema s(json::parse(schema_text));
    CHECK(s.accepts(v));
    v.append("b", 1);
    decode_error e;
    CHECK_FALSE(s.check(v, e));
    CHECK(e.path == "b");
}

TEST_CASE("one schema validates values in several threads at once") {
    const schema s(json::parse(R"({"properties":{"a":{"pattern":"^(x|y)+$"},"b":{"uniqueItems":true}},
                                   "unevaluatedProperties":false})"));
    const json::value good = json::parse(R"({"a":"xyxyxy","b":[1,2,3]})");
    const json::value bad = json::parse(R"({"a":"xyz"})");
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i) {
        threads.emplace_back([&, copy = s] {
            for (int n = 0; n != 500; ++n) {
                decode_error e;
                if (!copy.accepts(good) || s.accepts(bad) || copy.check(bad, e) || e.path != "a") ++wrong;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
}
