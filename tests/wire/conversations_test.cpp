// Plays every conversation in this folder, under each of its versions.

#include "support/proof.hpp"
#include "wire/conversation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace {

using namespace keel::conversations;
namespace json = keel::json;

std::string played(std::string_view text, const std::string& version = "2026-07-28") {
    return play(parse(text, "x.txt"), version);
}

std::string compared(const char* expected, const char* got) {
    names known;
    return difference(json::parse(expected), json::parse(got), known);
}

}  // namespace

TEST_CASE("every conversation goes as written") {
    std::vector<std::filesystem::path> files;
    for (const auto& each : std::filesystem::directory_iterator(std::filesystem::path(__FILE__).parent_path())) {
        if (each.path().extension() == ".txt") files.push_back(each.path());
    }
    std::sort(files.begin(), files.end());
    REQUIRE(!files.empty());
    for (const auto& file : files) {
        conversation c = read(file);
        for (const std::string& version : c.versions) {
            INFO(file.filename().string() << " under " << version);
            std::string problem = play(c, version);
            CHECK_MESSAGE(problem.empty(), problem);
            if (problem.empty()) keel::test::proved(c.title, version);
        }
    }
}

TEST_CASE("a mismatch is reported with its line, the expected and the received message") {
    CHECK(played(R"(# ping
versions: 2025-11-25
!initialize
--> {"jsonrpc":"2.0","id":1,"method":"ping"}
<-- {"jsonrpc":"2.0","id":2,"result":{}}
)",
                 "2025-11-25") == R"(x.txt:5 (2025-11-25)
    message.id: expected 2, not 1
    expected {"jsonrpc":"2.0","id":2,"result":{}}
    got      {"jsonrpc":"2.0","id":1,"result":{}})");
}

TEST_CASE("an unexpected or missing message is a mismatch") {
    const std::string ping =
        "# ping\nversions: 2025-11-25\n!initialize\n"
        R"(--> {"jsonrpc":"2.0","id":1,"method":"ping"})"
        "\n";
    CHECK(played(ping, "2025-11-25").starts_with("x.txt:4 (2025-11-25)\n    expected nothing\n    got      {"));
    CHECK(played(ping + "<-- nothing\n", "2025-11-25").starts_with("x.txt:5 (2025-11-25)\n    expected nothing"));
    CHECK(played(ping + "<-- {\"...\":\"...\"}\n<-- {\"more\":1}\n", "2025-11-25") ==
          "x.txt:6 (2025-11-25)\n    expected {\"more\":1}\n    got      nothing");
}

TEST_CASE("members match in any order, numbers by value, everything else exactly") {
    CHECK(compared(R"({"a":1,"b":[2.0]})", R"({"b":[2],"a":1})").empty());
    CHECK(compared(R"({"a":1})", R"({"a":1,"b":2})") == "message.b is not expected: 2");
    CHECK(compared(R"({"a":1,"b":2})", R"({"a":1})") == "message.b is missing");
    CHECK(compared(R"({"a":1,"...":"..."})", R"({"a":1,"b":2})").empty());
    CHECK(compared(R"({"a":"..."})", R"({"a":[1]})").empty());
    CHECK(compared(R"([1])", R"([1,2])") == "message: expected 1 elements, not 2");
    CHECK(compared(R"({"a":"1"})", R"({"a":1})") == "message.a: expected \"1\", not 1");
    CHECK(compared(R"(["$x","$x"])", R"([5,5])").empty());
    CHECK(compared(R"(["$x","$x"])", R"([5,6])") == "message[1]: expected $x, which is 5, not 6");
}

TEST_CASE("an invalid conversation file is rejected with its line") {
    CHECK_THROWS_WITH(parse("# t\nversions: 1999-01-01\n", "x.txt"), "x.txt:2: unknown version: 1999-01-01");
    CHECK_THROWS_WITH(parse("# t\nversions: all\nhello\n", "x.txt"),
                      "x.txt:3: unknown line: expected -->, <--, ! or a setting: hello");
    CHECK_THROWS_WITH(parse("versions: all\n", "x.txt"), "x.txt:1: missing title: the first line must be # …");
    CHECK(parse("# t\nversions: legacy\n").versions.size() == 4);
    CHECK(parse("# t\nversions: 2025-06-18+\n").versions == std::vector<std::string>{"2025-06-18", "2025-11-25"});
    CHECK(parse("# t\nversions: -2025-03-26\n").versions == std::vector<std::string>{"2024-11-05", "2025-03-26"});
}
