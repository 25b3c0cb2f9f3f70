#include "ask.hpp"

#include "schema/pattern.hpp"

#include <doctest/doctest.h>

using namespace keel;

namespace {

/// "yes", "no", or the error.
std::string match(std::string_view expression, std::string_view text) {
    std::string why;
    const auto p = validation::pattern::make(expression, why);
    if (!p) return why;
    return p->found_in(text) ? "yes" : "no";
}

}  // namespace

TEST_CASE("a pattern matches anywhere unless it is anchored") {
    CHECK(match("b+", "abbbc") == "yes");
    CHECK(match("^b+", "abbbc") == "no");
    CHECK(match("", "") == "yes");
    CHECK(match("^a$", "a") == "yes");
    CHECK(match("^a$", "a\n") == "no");  // only the very end, not before a trailing newline
    CHECK(match("^b", "a\nb") == "no");  // no multi-line mode
    CHECK(match("a|^b$", "b") == "yes");
}

TEST_CASE("syntax of ECMA-262 has the meaning of ECMA-262") {
    CHECK(match("^\\d$", "\xE0\xA7\xAA") == "no");  // Bengali digit four
    CHECK(match("^\\w$", "\xC3\xA9") == "no");
    CHECK(match("^\\W$", "\xC3\xA9") == "yes");
    CHECK(match("^\\s$", "\xC2\xA0") == "yes");
    CHECK(match("^\\s$", "\xEF\xBB\xBF") == "yes");
    CHECK(match("^[\\s]$", "\xE2\x80\xA8") == "yes");
    CHECK(match("^[^\\S]$", "\xC2\xA0") == "yes");
    CHECK(match("^\\S$", "\xC2\xA0") == "no");
    CHECK(match("^.$", "\n") == "no");
    CHECK(match("^.$", "\r") == "no");
    CHECK(match("^.$", "\xE2\x80\xA9") == "no");
    CHECK(match("^.$", "\xF0\x9F\x98\x80") == "yes");  // one character
    CHECK(match("^[^]$", "\n") == "yes");
    CHECK(match("[]", "a") == "no");
    CHECK(match("a|[]", "a") == "yes");
    CHECK(match("^\\cA$", "\x01") == "yes");
    CHECK(match("^\\u0041\\x42$", "AB") == "yes");
    CHECK(match("^\\u{1F600}$", "\xF0\x9F\x98\x80") == "yes");
    CHECK(match("^\\uD83D\\uDE00$", "\xF0\x9F\x98\x80") == "yes");
    CHECK(match("^[\\uD83D\\uDE00-\\u{1F602}]$", "\xF0\x9F\x98\x81") == "yes");
    CHECK(match("^\\/a\\-b$", "/a-b") == "yes");
    CHECK(match("^(?<year>\\d{4})$", "2024") == "yes");
    CHECK(match("^(?<a>x)(?<a>y)?$", "xy") == "yes");
    CHECK(match("^\\p{Letter}+$", "\xC3\xA9t") == "yes");
    CHECK(match("^\\p{Lu}$", "A") == "yes");
    CHECK(match("^\\P{Lu}$", "A") == "no");
    CHECK(match("^\\p{General_Category=Uppercase_Letter}$", "A") == "yes");
    CHECK(match("^\\p{Script=Greek}+$", "\xCE\xB1") == "yes");
    CHECK(match("^[\\p{L}\\d_-]+$", "a_1-\xC3\xA9") == "yes");
    CHECK(match("^[\\b]$", "\b") == "yes");
    CHECK(match("\\bfoo\\b", "a foo b") == "yes");
    CHECK(match("^[a-]$", "-") == "yes");
    CHECK(match("^[\\w-.]+$", "a-.") == "yes");
    CHECK(match("^[[]$", "[") == "yes");
    CHECK(match("^[:alpha:]$", "p") == "yes");  // a class of these characters, not a POSIX class
    CHECK(match("^[[:alpha:]]$", ":]") == "yes");
    CHECK(match("^a{2,3}?$", "aaa") == "yes");
    CHECK(match("^a{,2}$", "a{,2}") == "yes");  // a literal brace
    CHECK(match("^{}$", "{}") == "yes");
    CHECK(match("^\\0$", std::string_view("\0", 1)) == "yes");
    CHECK(match("\\Qa", "a").find("unknown escape \\Q") != std::string::npos);
}

TEST_CASE("unsupported features are rejected, and the error names them") {
    CHECK(match("(a)\\1", "") == "pattern uses a backreference, which is not supported");
    CHECK(match("(?<a>x)\\k<a>", "") == "pattern uses a backreference, which is not supported");
    CHECK(match("(?=a)b", "") == "pattern uses a lookahead, which is not supported");
    CHECK(match("^(?!a)", "") == "pattern uses a lookahead, which is not supported");
    CHECK(match("(?<=a)b", "") == "pattern uses a lookbehind, which is not supported");
    CHECK(match("(?<!a)b", "") == "pattern uses a lookbehind, which is not supported");
    CHECK(match("(?i:a)", "") == "pattern uses flags within a group, which is not supported");
    CHECK(match("\\p{Alphabetic}", "") == "pattern uses the property \\p{Alphabetic}, which is not supported");
    CHECK(match("a{5000}", "").starts_with("unsupported pattern: "));
    CHECK(refusal(R"({"pattern":"(a)\\1"})") == "/pattern: pattern uses a backreference, which is not supported");
    CHECK(refusal(R"x({"patternProperties":{"^(?!x)":true}})x") ==
          "/patternProperties/^(?!x): pattern uses a lookahead, which is not supported");
    CHECK(refusal(R"({"pattern":5})") == "/pattern: expected a string, found 5");
}

TEST_CASE("an invalid regular expression is rejected") {
    for (const char* bad : {"(", ")", "[a", "\\", "[b-a]", "(?<", "(?P<n>a)", "(?#x)", "(?i)a", "\\a", "\\x1", "\\u12",
                            "\\u{110000}", "\\p", "\\p{", "\\p{=}", "\\c1", "[\\"}) {
        CHECK_MESSAGE(match(bad, "").starts_with("invalid pattern: "), bad);
    }
    CHECK(match("*a", "") != "yes");
    CHECK(match("a**", "") != "yes");
}

TEST_CASE("SCH-07: an exponential pattern runs in linear time or is rejected") {
    const std::string many(50'000, 'a');
    CHECK(match("^(a+)+$", many + '!') == "no");
    CHECK(match("(a+)+$", many + '!') == "no");
    CHECK(match("^(a|aa)+$", many + '!') == "no");
    CHECK(match("(x+x+)+y", std::string(50'000, 'x')) == "no");
    CHECK(match("^(([a-z])+.)+[A-Z]([a-z])+$", many) == "no");
    CHECK(match("((((a{0,100}){0,100}){0,100}){0,100})", "a").starts_with("unsupported pattern: "));
    CHECK(match(std::string(20'000, 'a'), "a") == "pattern is longer than 16384 bytes");
    CHECK(match(std::string(10'000, '('), "a").starts_with("invalid pattern: "));
    std::string nested;
    for (int i = 0; i != 3000; ++i) nested += '(';
    nested += 'a';
    for (int i = 0; i != 3000; ++i) nested += ')';
    CHECK(match(nested, "a") != "no");  // groups alone cost nothing
    // A large pattern on a large text counts as work.
    const schema s(json::parse(R"({"pattern":"^([a-z]{0,80}[0-9]){0,10}x"})"));
    decode_error e;
    CHECK_FALSE(s.check(std::string(50'000'000, 'a'), e));
    CHECK(e.text == "validation stopped: work limit exceeded");
}
