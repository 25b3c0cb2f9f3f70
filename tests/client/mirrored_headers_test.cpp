// Arguments in headers over HTTP on 2026-07-28, with engine and link together. tests/http_link tests the link alone.

#include "http_client_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* annotated = R"([{"name":"good","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer","x-mcp-header":"Level"},
        "inner":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}}}}},
    {"name":"bad one","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}},
    {"name":"plain","inputSchema":{"type":"object"}}])";

std::string tools(std::string_view list) { return R"({"tools":)" + std::string(list) + "}"; }

}  // namespace

TEST_CASE(
    "HDR-12, HDR-17: over HTTP, tools with invalid annotations are dropped and reported with name and reason,"
    " the others stay") {
    web_client t;
    std::string& o = t.list();
    t.answer("tools/list", tools(annotated));
    CHECK(o == "good plain ");
    REQUIRE(t.log.size() == 1);
    CHECK(t.log[0].find("bad one") != std::string::npos);
    CHECK(t.log[0].find("x-mcp-header") != std::string::npos);
}

TEST_CASE(
    "HDR-07, HDR-08, HDR-11: over HTTP, annotated arguments are also sent as headers, absent and null ones "
    "are not") {
    web_client t;
    t.list();
    t.answer("tools/list", tools(annotated));
    std::string& o = t.call("good", R"({"region":" \u00e9","level":42,"inner":{"on":true}})");
    seen_request& r = t.last("tools/call");
    CHECK(r.header("Mcp-Param-Region") == "=?base64?IMOp?=");
    CHECK(r.header("Mcp-Param-Level") == "42");
    CHECK(r.header("Mcp-Param-On") == "true");
    CHECK(r.header("Mcp-Name") == "good");
    t.answer("tools/call", R"({"content":[]})");
    CHECK(o == "ok");
    t.call("good", R"({"region":null,"inner":{}})");
    seen_request& without = t.last("tools/call");
    for (const char* name : {"Mcp-Param-Region", "Mcp-Param-Level", "Mcp-Param-On"}) CHECK(!without.has(name));
    t.answer("tools/call", R"({"content":[]})");
}

TEST_CASE("HDR-07: over HTTP, headers are sent however a tool is called, and in every round") {
    web_client t;
    t.list();
    t.answer("tools/list", tools(annotated));
    json::value params = json::parse(R"({"name":"good","arguments":{"region":"eu"}})");
    std::string& own =
        t.run(t.client->request("tools/call", params), [](const json::value&) { return std::string("ok"); });
    CHECK(t.last("tools/call").header("Mcp-Param-Region") == "eu");
    t.answer("tools/call", R"({"content":[]})");
    CHECK(own == "ok");
    std::string& once =
        t.run(t.client->request_once("tools/call", params), [](const request_round&) { return std::string("ok"); });
    CHECK(t.last("tools/call").header("Mcp-Param-Region") == "eu");
    t.answer("tools/call", R"({"content":[]})");
    CHECK(once == "ok");
    std::string& rounds = t.call("good", R"({"region":"us"})");
    t.answer("tools/call", R"({"resultType":"input_required","requestState":"s"})");
    t.loop->advance(1s);
    CHECK(t.last("tools/call").header("Mcp-Param-Region") == "us");
    t.answer("tools/call", R"({"content":[]})");
    CHECK(rounds == "ok");
}

TEST_CASE("HDR-18: over HTTP, a call that is rejected because of its headers is retried once with the current tools") {
    web_client t;
    std::string& o = t.call("good", R"({"region":"eu"})");
    CHECK(!t.last("tools/call").has("Mcp-Param-Region"));  // not listed yet
    auto refuse = [&] {
        seen_request& r = t.last("tools/call");
        t.connector->requests->reply(
            r, 400, "application/json",
            R"({"jsonrpc":"2.0","id":)" + r.id() + R"(,"error":{"code":-32020,"message":"Region is missing"}})");
        t.loop->run();
    };
    refuse();
    t.answer("tools/list", tools(annotated));
    CHECK(t.last("tools/call").header("Mcp-Param-Region") == "eu");
    t.answer("tools/call", R"({"content":[]})");
    CHECK(o == "ok");
    std::string& again = t.call("good", R"({"region":"eu"})");
    refuse();
    t.answer("tools/list", tools(annotated));
    refuse();
    CHECK(again == "failed: Region is missing");
    std::size_t sent = t.sent();
    t.loop->advance(1s);
    CHECK(t.sent() == sent);
}
