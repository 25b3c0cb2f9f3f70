#include <keel/json.hpp>

#include "../../src/json/key_index.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace keel;
using json::kind;
using json::value;

namespace {

/// Reads a text and writes it again; or the reason and offset of the error. Decoding in place must not make a difference.
std::string outcome(std::string_view text, std::size_t max_depth = 512) {
    // In a block of exactly this size, so that a sanitizer detects every read beyond the text.
    const std::unique_ptr<char[]> bytes(new char[text.size()]);
    if (!text.empty()) std::memcpy(bytes.get(), text.data(), text.size());
    json::document source;
    const auto show = [&](const value* v) {
        if (v) return json::to_string(*v);
        return std::string(source.error().what) + " @" + std::to_string(source.error().offset);
    };
    const std::string copied = show(source.read({bytes.get(), text.size()}, {.max_depth = max_depth}));
    REQUIRE(std::string_view(bytes.get(), text.size()) == text);
    const std::string in_place = show(source.read_in_place(bytes.get(), text.size(), {.max_depth = max_depth}));
    REQUIRE(in_place == copied);
    return copied;
}

bool reads(std::string_view text) { return json::document().read(text) != nullptr; }

std::string nested(std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
}

}  // namespace

TEST_CASE("valid texts are read") {
    CHECK(outcome("null") == "null");
    CHECK(outcome(" \t\r\n true \t\r\n ") == "true");
    CHECK(outcome("false") == "false");
    CHECK(outcome("\"\"") == "\"\"");
    CHECK(outcome("[]") == "[]");
    CHECK(outcome("[ ]") == "[]");
    CHECK(outcome("{}") == "{}");
    CHECK(outcome("{ \n}") == "{}");
    CHECK(outcome(" [ 1 , [ ] , { } , [ [ 2 ] ] ] ") == "[1,[],{},[[2]]]");
    CHECK(outcome(R"( { "a" : { "b" : [ null ] } , "c" : "d" } )") == R"({"a":{"b":[null]},"c":"d"})");
    CHECK(outcome(R"({"":0})") == R"({"":0})");
    CHECK(outcome("\"\x7f\"") == "\"\x7f\"");
}

TEST_CASE("errors report the first invalid byte") {
    CHECK(outcome("") == "unexpected end @0");
    CHECK(outcome("  ") == "unexpected end @2");
    CHECK(outcome("nul") == "unexpected end @3");
    CHECK(outcome("nulL") == "expected a value @3");
    CHECK(outcome("tru ") == "expected a value @3");
    CHECK(outcome("NaN") == "expected a value @0");
    CHECK(outcome("-Infinity") == "invalid number @1");
    CHECK(outcome("'a'") == "expected a value @0");
    CHECK(outcome("[1,]") == "expected a value @3");
    CHECK(outcome("[,1]") == "expected a value @1");
    CHECK(outcome("[1 2]") == "expected ',' or ']' @3");
    CHECK(outcome("[1}") == "expected ',' or ']' @2");
    CHECK(outcome("[") == "unexpected end @1");
    CHECK(outcome("]") == "expected a value @0");
    CHECK(outcome("{") == "unexpected end @1");
    CHECK(outcome("{,}") == "expected a member name @1");
    CHECK(outcome("{1:2}") == "expected a member name @1");
    CHECK(outcome(R"({"a"})") == "expected ':' @4");
    CHECK(outcome(R"({"a":})") == "expected a value @5");
    CHECK(outcome(R"({"a":1,})") == "expected a member name @7");
    CHECK(outcome(R"({"a":1 "b":2})") == "expected ',' or '}' @7");
    CHECK(outcome(R"({"a":1])") == "expected ',' or '}' @6");
    CHECK(outcome("1 2") == "text after the value @2");
    CHECK(outcome("{}}") == "text after the value @2");
    CHECK(outcome("null // c") == "text after the value @5");
    CHECK(outcome(std::string_view("1\0", 2)) == "text after the value @1");
    CHECK(outcome("\"a\nb\"") == "control character in a string @2");
    CHECK(outcome(std::string_view("\"a\0b\"", 5)) == "control character in a string @2");
    CHECK(outcome("\"\\n\x1f\"") == "control character in a string @3");
    CHECK(outcome("\"0123456789abcdef\x01\"") == "control character in a string @17");
    CHECK(outcome("\xEF\xBB\xBF{}") == "expected a value @0");
    CHECK(outcome("[\xC3\xA9]") == "expected a value @1");
    CHECK(outcome("[1\xC2\xA0]") == "expected ',' or ']' @2");
    CHECK(outcome("\v1") == "expected a value @0");
}

TEST_CASE("escapes are decoded") {
    CHECK(json::parse(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
    CHECK(json::parse(R"("\u0041\u00e9\u20AC\uFFFF")") == "A\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF");
    CHECK(json::parse(R"("\ud83d\ude00")") == "\xF0\x9F\x98\x80");
    CHECK(json::parse(R"("\uD800\uDC00\udbff\udfff")") == "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
    CHECK(json::parse(R"("a\u0000b")") == std::string_view("a\0b", 3));
    CHECK(json::parse(R"({"\u0061":1,"a":2})") == json::object({{"a", 2}}));

    CHECK(outcome(R"("\x")") == "invalid escape @2");
    CHECK(outcome(R"("\U0041")") == "invalid escape @2");
    CHECK(outcome("\"\\\n\"") == "invalid escape @2");
    CHECK(outcome("\"\\\xC3\xA9\"") == "invalid escape @2");
    CHECK(outcome(R"("\u00g0")") == "invalid escape @5");
    CHECK(outcome(R"("\u00")") == "invalid escape @5");
    CHECK(outcome(R"("\u-123")") == "invalid escape @3");
}

TEST_CASE("an unpaired surrogate is an error and is never replaced") {
    CHECK(outcome(R"("\ud800")") == "unpaired surrogate @7");
    CHECK(outcome(R"("\ud800x")") == "unpaired surrogate @7");
    CHECK(outcome(R"("\ud800\n")") == "unpaired surrogate @8");
    CHECK(outcome(R"("\ud800\u0041")") == "unpaired surrogate @9");
    CHECK(outcome(R"("\ud800\ud800")") == "unpaired surrogate @10");
    CHECK(outcome(R"("\ud800\ue000")") == "unpaired surrogate @9");
    CHECK(outcome(R"("\udc00")") == "unpaired surrogate @4");
    CHECK(outcome(R"("\udfff\ud800")") == "unpaired surrogate @4");
    CHECK(outcome(R"("\ud800\u)") == "unexpected end @9");
    CHECK(outcome(R"("\ud800\udcg0")") == "invalid escape @11");
}

TEST_CASE("UTF-8 is checked in every string") {
    const std::vector<std::string> good = {
        "\xC2\x80",         "\xDF\xBF",         "\xE0\xA0\x80",
        "\xEC\xBF\xBF",     "\xED\x80\x80",     "\xED\x9F\xBF",
        "\xEE\x80\x80",     "\xEF\xBF\xBF",     "\xF0\x90\x80\x80",
        "\xF3\xBF\xBF\xBF", "\xF4\x80\x80\x80", "\xF4\x8F\xBF\xBF",
        "\xEF\xBB\xBF",     "\xE2\x80\xA8",     "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
    };
    struct wrong {
        std::string bytes;
        std::size_t at;  // the first invalid byte
    };
    const std::vector<wrong> bad = {
        {"\x80", 0},
        {"\xBF", 0},
        {"\xC0\x80", 0},
        {"\xC1\xBF", 0},
        {"\xC2", 1},
        {"\xC2\xC2", 1},
        {"\xC3\x28", 1},
        {"\xE0\x9F\xBF", 1},
        {"\xE0\x80\xAF", 1},
        {"\xE2\x82", 2},
        {"\xE2\x28\xA1", 1},
        {"\xE2\x82\x28", 2},
        {"\xED\xA0\x80", 1},
        {"\xED\xBF\xBF", 1},
        {"\xF0\x8F\xBF\xBF", 1},
        {"\xF0\x9F\x98", 3},
        {"\xF0\x9F", 2},
        {"\xF0\x28\x8C\xBC", 1},
        {"\xF0\x90\x28\xBC", 2},
        {"\xF0\x90\x80\x28", 3},
        {"\xF4\x90\x80\x80", 1},
        {"\xF5\x80\x80\x80", 0},
        {"\xF8\x88\x80\x80\x80", 0},
        {"\xFE", 0},
        {"\xFF", 0},
        {"\xC3\xA9\xA9", 2},
    };
    // At different distances from the start, so that every scanning method is tested, and after an escape.
    for (std::size_t before = 0; before != 36; ++before) {
        for (const char* head : {"", "\\n"}) {
            const std::string start = "[\"" + std::string(head) + std::string(before, 'x');
            for (const std::string& text : good) {
                const std::string all = start + text + "yyy\"]";
                REQUIRE(outcome(all) == all);
                REQUIRE(json::is_utf8(start + text));
            }
            for (const wrong& w : bad) {
                for (const char* tail : {"\"]", "zzzzzzzzzzzzzzzzzzzzzz\"]"}) {
                    REQUIRE(outcome(start + w.bytes + tail) == "invalid UTF-8 @" + std::to_string(start.size() + w.at));
                    REQUIRE(!json::is_utf8(start + w.bytes + tail));
                }
                REQUIRE(!json::is_utf8(start + w.bytes));
                REQUIRE(!reads("{" + start.substr(1) + w.bytes + "\":1}"));
            }
        }
    }
}

TEST_CASE("every code point can be read literally and as an escape") {
    json::document source;
    for (char32_t c = 0x20; c != 0x110000; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        char escaped[16];
        if (c < 0x10000) {
            std::snprintf(escaped, sizeof escaped, "\"\\u%04x\"", static_cast<unsigned>(c));
        } else {
            const auto beyond = static_cast<unsigned>(c - 0x10000);
            std::snprintf(escaped, sizeof escaped, "\"\\u%04x\\u%04x\"", 0xD800 + (beyond >> 10),
                          0xDC00 + (beyond & 0x3FF));
        }
        const value* v = source.read(escaped);
        REQUIRE(v);
        const std::string raw(v->as_string());
        REQUIRE(json::is_utf8(raw));
        REQUIRE(raw.size() == (c < 0x80 ? 1u : c < 0x800 ? 2u : c < 0x10000 ? 3u : 4u));
        if (c == '"' || c == '\\') continue;
        const std::string quoted = '"' + raw + '"';
        v = source.read(quoted);
        REQUIRE(v);
        REQUIRE(*v == raw);
    }
}

TEST_CASE("nesting up to the limit is accepted, one level more is an error") {
    const auto too_deep = [](std::size_t offset) { return "nested too deeply @" + std::to_string(offset); };
    CHECK(outcome(nested(512, '[', ']')) == nested(512, '[', ']'));
    CHECK(outcome(nested(513, '[', ']')) == too_deep(512));
    CHECK(outcome("1", 0) == "1");
    CHECK(outcome("[]", 0) == too_deep(0));
    CHECK(outcome("[{}]", 1) == too_deep(1));
    CHECK(outcome("[[],{},[1]]", 2) == "[[],{},[1]]");
    CHECK(outcome(R"({"a":{"a":{"a":1}}})", 3) == R"({"a":{"a":{"a":1}}})");
    CHECK(outcome(R"({"a":{"a":{"a":1}}})", 2) == too_deep(10));
    // The depth counts open containers, not all containers.
    std::string wide = "[";
    for (int i = 0; i != 1000; ++i) wide += "[[]],";
    wide += "0]";
    CHECK(outcome(wide, 3) == wide);
}

TEST_CASE("of duplicate members the last value is kept, at the position of the first") {
    CHECK(outcome(R"({"a":1,"b":2,"a":3})") == R"({"a":3,"b":2})");
    CHECK(outcome(R"({"a":1,"a":2,"a":[{"a":3,"a":4}]})") == R"({"a":[{"a":4}]})");
    CHECK(outcome(R"({"":1,"":2})") == R"({"":2})");
    CHECK(outcome(R"({"x":1,"ab":2,"y":3,"ab":4,"z":5,"x":6})") == R"({"x":6,"ab":4,"y":3,"z":5})");

    // Around the size at which the reader switches its algorithm.
    for (std::size_t n : {30u, 31u, 32u, 33u, 34u, 100u}) {
        std::string text = "{";
        std::string expected = "{";
        for (std::size_t i = 0; i != n; ++i) text += "\"k" + std::to_string(i) + "\":0,";
        for (std::size_t i = 0; i != n; ++i)
            expected += "\"k" + std::to_string(i) + "\":" + std::to_string(i % 2) + ",";
        for (std::size_t i = 1; i < n; i += 2) text += "\"k" + std::to_string(i) + "\":1,";
        text.back() = '}';
        expected.back() = '}';
        CHECK(outcome(text) == expected);
    }
}

TEST_CASE("an object with many members, each twice, is read") {
    constexpr int many = 100'000;
    std::string text = "{";
    for (int round = 0; round != 2; ++round) {
        for (int i = 0; i != many; ++i) text += "\"name " + std::to_string(i) + "\":" + std::to_string(i + round) + ",";
    }
    text.back() = '}';
    json::document source;
    const value* v = source.read(text);
    REQUIRE(v);
    REQUIRE(v->size() == many);
    for (int i = 0; i != many; ++i) {
        const json::member& m = v->members()[static_cast<std::size_t>(i)];
        REQUIRE(m.key() == "name " + std::to_string(i));
        REQUIRE(m.content.as_int() == i + 1);
    }
}

TEST_CASE("the key index finds each name and no other") {
    value v = json::object();
    for (int i = 0; i != 2000; ++i) v.append(std::string(static_cast<std::size_t>(i % 19), 'x') + std::to_string(i), i);
    json::detail::key_index index;
    REQUIRE(index.build(v.members()));
    for (const json::member& m : v.members()) REQUIRE(index.find(m.key()) == &m);
    CHECK(index.find("") == nullptr);
    CHECK(index.find("x0") == nullptr);
}

TEST_CASE("E1: a text truncated anywhere is an error at its end") {
    const std::string text =
        R"({"text":"a\u00e9\ud83d\ude00\n é 😀 long enough for sixteen","list":[true,false,null,-12.5e+3,{"a":{}}],"b":[]})";
    REQUIRE(reads(text));
    for (std::size_t n = 0; n != text.size(); ++n) {
        REQUIRE(outcome(std::string_view(text).substr(0, n)) == "unexpected end @" + std::to_string(n));
    }
}

TEST_CASE("E1: changing any byte to any other never crashes the reader") {
    const std::string text = R"({"t":"a\ud83d\ude00é","l":[true,-1.5e3,{}]})";
    json::document source;
    for (std::size_t at = 0; at != text.size(); ++at) {
        for (int c = 0; c != 256; ++c) {
            std::string changed = text;
            changed[at] = static_cast<char>(c);
            REQUIRE(!outcome(changed).empty());
            if (const value* v = source.read(changed)) {
                REQUIRE(json::parse(json::to_string(*v)) == *v);
            } else {
                REQUIRE(source.error().offset <= changed.size());
                REQUIRE(*source.error().what != '\0');
            }
        }
    }
}

TEST_CASE("a document can be reused after success, failure and a large text") {
    json::document source;
    CHECK(source.read("[1,2]"));
    CHECK(!source.read("[1,"));
    CHECK(std::string_view(source.error().what) == "unexpected end");
    const value* v = source.read("\"a\\nb\"");
    REQUIRE(v);
    CHECK(*source.error().what == '\0');
    CHECK(*v == "a\nb");

    std::string large = "[";
    for (int i = 0; i != 50'000; ++i) large += "{\"a\\n\":[\"x\\ty\",1]},";
    large.back() = ']';
    for (int round = 0; round != 3; ++round) {
        v = source.read(large);
        REQUIRE(v);
        CHECK(v->size() == 50'000);
        CHECK(v->at(49'999)["a\n"].at(0) == "x\ty");
        v = source.read("{\"a\":[\"\\t\"]}");
        REQUIRE(v);
        CHECK((*v)["a"].at(0) == "\t");
    }
    source.clear();
    CHECK(source.read("[]"));
}

TEST_CASE("strings with escapes of any length are read completely") {
    json::document source;
    for (std::size_t n : {0u, 1u, 15u, 16u, 17u, 100u, 4000u, 4096u, 5000u, 70'000u, 3'000'000u}) {
        const std::string body(n, 'x');
        const std::string text = "[\"" + body + "\\n" + body + "é\\\\" + body + "\",\"\\t\"]";
        std::string overwritten = text;
        for (bool in_place : {false, true}) {
            const value* v =
                in_place ? source.read_in_place(overwritten.data(), overwritten.size()) : source.read(text);
            REQUIRE(v);
            CHECK((v->at(0).as_string() == body + "\n" + body + "é\\" + body));
            CHECK(v->at(1) == "\t");
            const char* at = v->at(0).as_string().data();
            CHECK((at > overwritten.data() && at < overwritten.data() + overwritten.size()) == in_place);
        }
    }
}

TEST_CASE("parse throws an error with the offset and the reason") {
    CHECK_THROWS_WITH_AS(json::parse("[1,x]"), "expected a value at byte 3", json::error);
    CHECK(!json::parse("[\"a\"]").borrowed());
}
