// Tests that client_check, which every other test of this folder relies on, detects errors.

#include "support/client_check.hpp"
#include "support/test_data.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace keel;
using namespace keel::test;

namespace {

/// Lines of a conversation; those of the server begin with '<'. Returns the check's error for the last one.
std::string verdict(std::initializer_list<const char*> lines) {
    client_check check;
    std::size_t before = 0;
    for (const char* line : lines) {
        before = check.problems().size();
        if (*line == '<') check.heard(line + 1);
        else check.wrote(json::parse(line));
    }
    std::string all;
    for (std::size_t i = before; i < check.problems().size(); ++i) all += check.problems()[i] + "\n";
    return all;
}

bool finds(std::string_view what, std::initializer_list<const char*> lines) {
    std::string said = verdict(lines);
    INFO(said);
    bool found = said.find(what) != std::string::npos;
    CHECK(found);
    return found;
}

constexpr const char* greeting =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"v"}}})";
constexpr const char* greeted =
    R"(<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"n","version":"v"}}})";
constexpr const char* confirmed = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
constexpr const char* modern_call =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";

}  // namespace

TEST_CASE("valid conversations are accepted") {
    CHECK(verdict({greeting, greeted, confirmed, R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"}) == "");
    CHECK(verdict({modern_call}) == "");
    CHECK(verdict({greeting, greeted, confirmed, R"(<{"jsonrpc":"2.0","id":"a","method":"roots/list"})",
                   R"({"jsonrpc":"2.0","id":"a","result":{"roots":[]}})"}) == "");
}

TEST_CASE("violations are detected") {
    if (test_data_missing("schema")) return;
    finds("BASE-01", {"[]"});
    finds("BASE-03", {modern_call, modern_call});
    finds("BASE-02", {greeting, greeted, confirmed, R"({"jsonrpc":"2.0","id":null,"method":"ping"})"});
    finds("not a CallToolRequest", {greeting, greeted, confirmed, R"({"jsonrpc":"2.0","id":2,"method":"tools/call"})"});
    finds("VER-07", {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})"});
    finds(
        "clientCapabilities",
        {R"({"jsonrpc":"2.0","id":1,"method":"a/b","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"});
    finds("LIFE-01", {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}})"});
    finds("LIFE-03", {greeting, confirmed});
    finds("LIFE-04", {greeting, greeted, confirmed, modern_call});
    finds("LIFE-04", {greeting, greeted, confirmed, R"({"jsonrpc":"2.0","id":2,"method":"subscriptions/listen"})"});
    finds("LIFE-05", {greeting, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"});
    finds("LIFE-10", {greeting, R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"});
    finds("CAN-01", {R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})"});
    finds("BASE-05", {greeting, greeted, confirmed, R"({"jsonrpc":"2.0","id":9,"result":{}})"});
    finds("BASE-17",
          {modern_call, R"(<{"jsonrpc":"2.0","id":"a","method":"ping"})", R"({"jsonrpc":"2.0","id":"a","result":{}})"});
    finds("not a ListRootsResult",
          {greeting, greeted, confirmed, R"(<{"jsonrpc":"2.0","id":"a","method":"roots/list"})",
           R"({"jsonrpc":"2.0","id":"a","result":{}})"});
    finds("BASE-05", {greeting, greeted, confirmed, R"(<{"jsonrpc":"2.0","id":"a","method":"ping"})",
                      R"(<{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}})",
                      R"({"jsonrpc":"2.0","id":"a","result":{}})"});
}
