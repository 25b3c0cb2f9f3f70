// Detecting the era of a server, and the handshake of the older revisions (docs/rules/protocol.md, section 1.1).

#include "support/client_harness.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE(
    "VER-07, VER-14, VER-20: a modern server is detected by the probe, and every request carries version, "
    "capabilities and name") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    json::value probe = t.expect("server/discover");
    const json::value& meta = probe["params"]["_meta"];
    CHECK(meta["io.modelcontextprotocol/protocolVersion"].if_string() == "2026-07-28");
    CHECK(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    CHECK(meta["io.modelcontextprotocol/clientInfo"]["name"].if_string() == "client-under-test");
    json::value result =
        json::parse(R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},
        "ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}})");
    t.answer(probe, result);
    spoke("2026-07-28");
    CHECK(o.text == "done");
    CHECK(t.client->server().modern);
    CHECK(t.client->server().about.name == "s");
    outcome_of_task& listed =
        t.run(t.client->list_tools(), [](const auto& tools) { return std::to_string(tools.size()); });
    json::value list = t.expect("tools/list");
    CHECK(list["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].if_string() == "2026-07-28");
    t.answer(list, json::parse(R"({"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"})"));
    CHECK(listed.text == "0");
}

TEST_CASE(
    "VER-03, LIFE-01, LIFE-03: after any error response of an older server to the probe, the handshake "
    "follows") {
    for (int code : {-32601, -32602, -32000, -32603, 7}) {
        client_under_test t;
        outcome_of_task& o = t.run(t.client->connect());
        t.refuse(t.expect("server/discover"), code);
        json::value init = t.expect("initialize");
        CHECK(init["params"]["protocolVersion"].if_string() == "2025-11-25");
        CHECK(init["params"]["clientInfo"]["version"].if_string() == "1.0");
        CHECK(t.silent());
        t.answer(init,
                 json::parse(
                     R"({"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}})"));
        spoke("2025-06-18");
        t.expect("notifications/initialized");
        CHECK(o.text == "done");
        CHECK(t.client->server().protocol_version == "2025-06-18");
    }
}

TEST_CASE("D1: every waiting call fails once, with the cause, before on_disconnected runs") {
    std::vector<std::string> order;
    client_options options;
    options.on_disconnected = [&](const disconnection& d) { order.push_back("disconnected " + d.cause); };
    client_under_test t(options);
    t.connect("2025-11-25");
    t.connector->exit_description = "it exited with status 3";
    std::vector<outcome_of_task*> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(&t.run(t.client->call_tool("x")));
    t.wire().eof();
    t.loop->run();
    for (outcome_of_task* each : calls) {
        CHECK(each->kind == error_kind::closed);
        CHECK(each->text.find("exited with status 3") != std::string::npos);
    }
    REQUIRE(order.size() == 1);
    CHECK(order[0].find("exited with status 3") != std::string::npos);
}
