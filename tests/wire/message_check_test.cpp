// Tests that the check of every message detects errors.

#include "support/message_check.hpp"
#include "support/tap.hpp"
#include "support/test_data.hpp"

#include <doctest/doctest.h>

namespace {

using namespace keel::test;
namespace json = keel::json;

const std::string server_info = R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}})";

/// The error in the last of these server messages, after the client's messages.
std::string problem(const std::vector<std::string>& from_client, const std::vector<std::string>& from_server) {
    message_check check;
    for (const std::string& line : from_client) check.sent(line);
    std::string last;
    for (const std::string& line : from_server) {
        CHECK_MESSAGE(check.problems().empty(), check.problems().front());
        check.received(json::parse(line));
    }
    return check.problems().empty() ? "" : check.problems().front().substr(0, check.problems().front().find('\n'));
}

std::string initialize(std::string_view version, std::string_view capabilities = "{}") {
    return request_line("0", "initialize",
                        R"({"protocolVersion":")" + std::string(version) + R"(","capabilities":)" +
                            std::string(capabilities) + R"(,"clientInfo":{"name":"c","version":"0"}})");
}
std::string opened(std::string_view version) {
    return result_line("0", R"({"protocolVersion":")" + std::string(version) +
                                R"(","capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
}

}  // namespace

TEST_CASE("a result that does not match the method is detected, in every revision") {
    if (test_data_missing("schema")) return;
    for (std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        std::vector<std::string> asked = {initialize(version), request_line("1", "tools/call", R"({"name":"x"})")};
        CHECK(problem(asked, {opened(version), result_line("1", R"({"content":[]})")}).empty());
        CHECK(problem(asked, {opened(version), result_line("1", R"({"tools":[]})")}) ==
              "not a CallToolResult of " + version + ": content: required");
        CHECK(problem(asked, {opened(version), result_line("1", R"({"content":[{"type":"picture"}]})")})
                  .starts_with("not a CallToolResult of " + version));
    }
    CHECK(problem({modern_line("1", "tools/call", R"("name":"x")")},
                  {result_line("1", R"({"resultType":"complete",)" + server_info + "}")}) ==
          "not a CallToolResult of 2026-07-28: content: required");
}

TEST_CASE("content is checked against the negotiated revision") {
    if (test_data_missing("schema")) return;
    std::string audio = R"({"content":[{"type":"audio","data":"YQ==","mimeType":"audio/wav"}]})";
    auto with = [&](const std::string& version) {
        return problem({initialize(version), request_line("1", "tools/call", R"({"name":"x"})")},
                       {opened(version), result_line("1", audio)});
    };
    CHECK(!with("2024-11-05").empty());
    CHECK(with("2025-03-26").empty());
}

TEST_CASE("an initialize result must be valid and name a known revision") {
    if (test_data_missing("schema")) return;
    CHECK(problem({initialize("2025-11-25")}, {opened("2025-11-25")}).empty());
    CHECK(problem({initialize("1999-01-01")}, {opened("1999-01-01")}) == "an unknown revision: 1999-01-01");
    CHECK(problem({initialize("2025-11-25")}, {result_line("0", R"({"protocolVersion":"2025-11-25"})")})
              .starts_with("not a InitializeResult of 2025-11-25"));
}

TEST_CASE("missing members that the newest revision requires are detected") {
    if (test_data_missing("schema")) return;
    std::vector<std::string> call = {modern_line("1", "tools/call", R"("name":"x")")};
    CHECK(problem(call, {result_line("1", R"({"resultType":"complete","content":[],)" + server_info + "}")}).empty());
    CHECK(problem(call, {result_line("1", R"({"resultType":"complete","content":[]})")}) ==
          "a result without serverInfo (VER-18)");
    CHECK(problem(call, {result_line("1", R"({"content":[],)" + server_info + "}")}) != "");
    CHECK(problem(call, {result_line("1", R"({"resultType":"done","content":[],)" + server_info + "}")}) ==
          "a resultType that does not exist (BASE-10)");
    CHECK(problem({modern_line("1", "tools/list")},
                  {result_line("1", R"({"resultType":"complete","tools":[],)" + server_info + "}")}) ==
          "no ttlMs (CACHE-01)");
    CHECK(problem({modern_line("1", "tools/list")},
                  {result_line("1", R"({"resultType":"complete","tools":[],"ttlMs":0,)" + server_info + "}")}) ==
          "no cacheScope (CACHE-01)");
    // A custom method has its own results, but belongs to the revision too.
    CHECK(problem({modern_line("1", "example/list")},
                  {result_line("1", R"({"resultType":"complete",)" + server_info + "}")})
              .empty());
    CHECK(problem({modern_line("1", "example/list")}, {result_line("1")}) != "");
}

TEST_CASE("a request that the server must not send is detected") {
    std::string ask = R"({"resultType":"input_required","requestState":"s",)" + server_info +
                      R"(,"inputRequests":{"a":{"method":"roots/list"}}})";
    auto call = [](std::string_view method, std::string_view capabilities) {
        return std::vector{
            request_line("1", method, R"({"name":"x",)" + meta_with("\"2026-07-28\"", capabilities) + "}")};
    };
    CHECK(problem(call("tools/call", R"({"roots":{}})"), {result_line("1", ask)}).empty());
    CHECK(problem(call("tools/call", "{}"), {result_line("1", ask)}) ==
          "roots/list for a client that has not declared roots (MRTR-05)");
    CHECK(problem(call("tools/list", R"({"roots":{}})"), {result_line("1", ask)}) ==
          "input_required as the answer to tools/list (MRTR-02)");
    CHECK(problem(call("tools/call", "{}"),
                  {result_line("1", R"({"resultType":"input_required",)" + server_info + "}")}) ==
          "input_required with neither inputRequests nor requestState (MRTR-03)");
    CHECK(problem(call("tools/call", "{}"), {request_line("9", "roots/list")}) ==
          "a request of the server's (BASE-16)");
    CHECK(problem({initialize("2025-11-25")}, {opened("2025-11-25"), request_line("9", "roots/list")}) ==
          "roots/list for a client that has not declared roots");
    CHECK(problem({initialize("2025-11-25", R"({"elicitation":{}})")},
                  {opened("2025-11-25"),
                   request_line("9", "elicitation/create",
                                R"({"mode":"url","message":"m","url":"https://x","elicitationId":"e"})")}) ==
          "elicitation in a mode that the client has not declared (ELI-02)");
}

TEST_CASE("errors are checked too") {
    if (test_data_missing("schema")) return;
    std::vector<std::string> call = {modern_line("1", "tools/call", R"("name":"x")")};
    CHECK(problem(call, {error_line("1", -32602, "no")}).empty());
    CHECK(problem(call, {error_line("1", -32002, "no")}) == "a code of older revisions (BASE-14)");
    CHECK(problem(call, {error_line("1", -32055, "no")}) == "a code that the specification keeps (BASE-13)");
    CHECK(problem(call, {error_line("1", -32022, "no")}).starts_with("not a UnsupportedProtocolVersionError"));
    CHECK(problem(call, {R"({"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"no"}})"}) != "");
    CHECK(problem({}, {error_line("", -32700, "no")}).empty());
    CHECK(problem({}, {R"({"jsonrpc":"2.0","error":{"code":-32700}})"}) != "");
}

TEST_CASE("notifications are checked against the revision") {
    if (test_data_missing("schema")) return;
    CHECK(problem({initialize("2025-11-25")},
                  {opened("2025-11-25"), notification_line("notifications/tools/list_changed")})
              .empty());
    CHECK(problem({initialize("2025-06-18")},
                  {opened("2025-06-18"),
                   notification_line("notifications/elicitation/complete", R"({"elicitationId":"e"})")}) ==
          "no notification of revision 2025-06-18");
    CHECK(
        problem({initialize("2025-11-25")},
                {opened("2025-11-25"), notification_line("notifications/message", R"({"level":"error","data":1})")}) ==
        "logging was not declared (LOG-01)");
    CHECK(problem({modern_line("1", "tools/list")}, {notification_line("notifications/tools/list_changed")}) ==
          "no subscriptionId of a listen (SUB-03)");
    CHECK(problem({modern_line("1", "tools/list")}, {cancel_line("1")}) ==
          "a cancellation of something that is not the server's (CAN-01, SUB-05)");
    CHECK(problem({initialize("2025-11-25")}, {opened("2025-11-25"), "[" + result_line("1") + "]"}) ==
          "a batch outside of revision 2025-03-26");
}

TEST_CASE("a test may disable the check for intentionally invalid messages") {
    message_check check;
    check.expect_off_schema("to see that it can be switched off");
    check.sent(modern_line("1", "tools/list"));
    check.received(json::parse(result_line("1")));
    CHECK(check.problems().empty());
}
