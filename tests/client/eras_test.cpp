// Detecting the era of a server over stdio and sockets (docs/rules/protocol.md, section 1.1), and remembering it.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

json::value introduction(std::string_view versions) {
    json::value r = json::parse(R"({"resultType":"complete","capabilities":{},"ttlMs":0,"cacheScope":"private"})");
    r.set("supportedVersions", json::parse(versions));
    return r;
}

json::value other_versions(std::string_view supported) {
    json::value data = json::object({{"requested", modern}});
    data.set("supported", json::parse(supported));
    return data;
}

void finish_handshake(client_under_test& t, outcome_of_task& o, std::string_view version = "2025-11-25") {
    t.answer(t.expect("initialize"), initialize_result(version));
    t.expect("notifications/initialized");
    CHECK(o.text == "done");
    CHECK(t.client->server().protocol_version == version);
    CHECK(!t.client->server().modern);
    spoke(version);
}

void finish_modern(client_under_test& t, outcome_of_task& o, const json::value& probe) {
    t.answer(probe, introduction(R"(["2026-07-28"])"));
    CHECK(o.text == "done");
    CHECK(t.client->server().modern);
    spoke(modern);
}

}  // namespace

TEST_CASE("1.1, VER-13: the newest common version of several is selected, and unknown ones are ignored") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.answer(t.expect("server/discover"), introduction(R"(["2099-01-01","2026-07-28","2025-11-25"])"));
    spoke(modern);
    CHECK(o.text == "done");
    CHECK(t.client->server().protocol_version == modern);
    CHECK(t.silent());
}

TEST_CASE("1.1: a server that lists only older versions gets an initialize request") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.answer(t.expect("server/discover"), introduction(R"(["2025-06-18","2025-11-25"])"));
    finish_handshake(t, o);
}

TEST_CASE("1.1, VER-13: without a common version, connecting fails with the server's versions in the error") {
    for (const char* versions : {R"(["2099-01-01"])", "[]"}) {
        client_under_test t;
        outcome_of_task& o = t.run(t.client->connect());
        t.answer(t.expect("server/discover"), introduction(versions));
        CHECK(o.kind == error_kind::unavailable);
        CHECK(t.silent());
        CHECK(!t.client->connected());
        CHECK(t.wire().closed());
    }
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32022, "no", other_versions(R"(["2099-01-01"])"));
    CHECK(o.kind == error_kind::unavailable);
    CHECK(o.text.find("2099-01-01") != std::string::npos);
    CHECK(t.silent());
    // The next attempt starts over.
    outcome_of_task& again = t.run(t.client->connect());
    finish_modern(t, again, t.expect("server/discover"));
}

TEST_CASE("1.1, VER-04, VER-13: -32022 with a common version repeats the probe with that version, never initialize") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32022, "no", other_versions(R"(["2025-11-25","2026-07-28"])"));
    json::value second = t.expect("server/discover");
    CHECK(second["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].if_string() == modern);
    finish_modern(t, o, second);
}

TEST_CASE("1.1, VER-04: a second -32022 is an error") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32022, "no", other_versions(R"(["2026-07-28"])"));
    t.refuse(t.expect("server/discover"), -32022, "no", other_versions(R"(["2026-07-28"])"));
    CHECK(o.failed);
    CHECK(t.silent());
    outcome_of_task& again = t.run(t.client->connect());
    finish_modern(t, again, t.expect("server/discover"));
}

TEST_CASE("1.1: -32022 with older versions only is followed by initialize") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32022, "no", other_versions(R"(["2025-03-26"])"));
    finish_handshake(t, o, "2025-03-26");
}

TEST_CASE("1.1, VER-04: -32020 and -32021 are errors of a modern server, and initialize is not tried") {
    for (int code : {-32020, -32021}) {
        client_under_test t;
        outcome_of_task& o = t.run(t.client->connect());
        t.refuse(t.expect("server/discover"), code, "such is the matter");
        CHECK(o.kind == error_kind::rejected);
        CHECK(o.code == code);
        CHECK(o.text.find("such is the matter") != std::string::npos);
        CHECK(t.silent());
        CHECK(t.wire().closed());
        outcome_of_task& again = t.run(t.client->connect());
        finish_modern(t, again, t.expect("server/discover"));
    }
}

TEST_CASE("1.1, VER-03: a probe without a response means an older server, and a late response to it is ignored") {
    for (const std::string& revision : older_revisions) {
        client_options options;
        options.probe_timeout = 3s;
        client_under_test t(options);
        outcome_of_task& o = t.run(t.client->connect());
        json::value probe = t.expect("server/discover");
        t.advance(2999ms);
        CHECK(t.silent());
        t.advance(1ms);
        json::value greeting = t.expect("initialize");
        CHECK(greeting["id"] != probe["id"]);
        CHECK(t.silent());  // the probe is not cancelled either: an old server would not know its id
        t.answer(probe, introduction(R"(["2026-07-28"])"));
        CHECK(!o.done());
        t.answer(greeting, initialize_result(revision));
        t.expect("notifications/initialized");
        spoke(revision);
        CHECK(o.text == "done");
        CHECK(!t.client->server().modern);
        outcome_of_task& called = t.run(t.client->call_tool("x"));
        json::value call = t.expect("tools/call");
        CHECK(!call["params"]["_meta"].contains("io.modelcontextprotocol/protocolVersion"));
        CHECK(call["id"] != probe["id"]);
        t.answer(call, text_result(revision, "ok"));
        CHECK(called.text == "ok");
    }
}

TEST_CASE("1.1: during the version probe everything but its response is ignored") {
    client_options options;
    options.roots.emplace();
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect());
    json::value probe = t.expect("server/discover");
    t.notify("notifications/message", json::object({{"level", "info"}, {"data", "starting"}}));
    t.ask(1, "roots/list");
    t.send_text("Server started on stdio");
    json::value other;
    other.set("id", "9");
    t.answer(other, introduction(R"(["2026-07-28"])"));
    CHECK(t.silent());
    CHECK(!o.done());
    t.refuse(probe, -32601);
    finish_handshake(t, o);
}

TEST_CASE("1.1: an invalid response to the probe means an older server") {
    for (const char* result : {"{}", R"({"supportedVersions":7,"capabilities":{}})", R"({"supportedVersions":[]})"}) {
        client_under_test t;
        outcome_of_task& o = t.run(t.client->connect());
        t.answer(t.expect("server/discover"), json::parse(result));
        INFO(result);
        finish_handshake(t, o);
    }
}

TEST_CASE("1.1: a child process that exits on the probe is started again and gets an initialize request") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.expect("server/discover");
    t.wire().eof();
    t.loop->run();
    t.advance(10s);
    CHECK(t.connector->wires.size() == 2);
    finish_handshake(t, o);
    CHECK(t.connector->wires[0]->closed());
}

TEST_CASE("1.1, VER-16: -32022 in response to initialize causes one more probe") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.expect("server/discover");
    t.advance(5s);
    t.refuse(t.expect("initialize"), -32022, "locked", other_versions(R"(["2026-07-28"])"));
    finish_modern(t, o, t.expect("server/discover"));
}

TEST_CASE("1.1: only one more probe follows") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.expect("server/discover");
    t.advance(5s);
    t.refuse(t.expect("initialize"), -32022, "locked", other_versions(R"(["2026-07-28"])"));
    t.refuse(t.expect("server/discover"), -32601);
    t.refuse(t.expect("initialize"), -32022, "locked", other_versions(R"(["2026-07-28"])"));
    CHECK(o.kind == error_kind::rejected);
    CHECK(o.code == -32022);
    CHECK(t.silent());
}

TEST_CASE("VER-16: the detected era is used at the next connection, by other clients too") {
    auto eras = std::make_shared<era_memory>();
    client_options options;
    options.eras = eras;
    client_under_test first(options);
    first.connect("2025-06-18");
    CHECK(eras->is_modern("script") == false);
    client_under_test second(options);
    outcome_of_task& o = second.run(second.client->connect());
    finish_handshake(second, o, "2025-06-18");  // without a probe
    eras->remember("script", true);
    client_under_test third(options);
    third.connect(modern);
    CHECK(eras->is_modern("script") == true);
}

TEST_CASE("1.1, VER-16: a remembered older era that is outdated is dropped, and the server is probed") {
    for (int code : {-32022, -32601, -32602}) {
        auto eras = std::make_shared<era_memory>();
        eras->remember("script", false);
        client_options options;
        options.eras = eras;
        client_under_test t(options);
        outcome_of_task& o = t.run(t.client->connect());
        t.refuse(t.expect("initialize"), code);
        finish_modern(t, o, t.expect("server/discover"));
        CHECK(eras->is_modern("script") == true);
    }
}

TEST_CASE("1.1, VER-16: a remembered modern era that is outdated is detected by the probe itself") {
    auto eras = std::make_shared<era_memory>();
    eras->remember("script", true);
    client_options options;
    options.eras = eras;
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32601);
    finish_handshake(t, o);
    CHECK(eras->is_modern("script") == false);
}

TEST_CASE("VER-03: no single error code means an older server, and a server that supports discovery is modern") {
    for (int code :
         {-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32019, -32023, -32800, -1, 0, 404}) {
        client_under_test t;
        outcome_of_task& o = t.run(t.client->connect());
        t.refuse(t.expect("server/discover"), code);
        INFO(code);
        finish_handshake(t, o);
    }
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    finish_modern(t, o, t.expect("server/discover"));
    CHECK(t.silent());
}

// ---- children that the probe confuses ----

namespace {

/// Connects to a child process that answers the probe with an error, or not at all, and rejects the `initialize` after it: a stdio
/// bridge that has initialized its server itself.
outcome_of_task& connect_to_bridge(client_under_test& t, bool answers_probe = true) {
    t.connector->child = true;
    outcome_of_task& o = t.run(t.client->connect());
    json::value probe = t.expect("server/discover");
    if (answers_probe) t.refuse(probe, -32601, "Method not found");
    else t.advance(5s);
    json::value first = t.expect("initialize");
    CHECK(!o.done());
    // supergateway 3.4.2 passes on the error of its HTTP client.
    t.refuse(first, 400,
             R"(Error POSTing to endpoint (HTTP 400): {"jsonrpc":"2.0","error":{"code":-32600,"message":)"
             R"("Invalid Request: Server already initialized"},"id":null})");
    t.advance(10s);  // the end of the first child
    return o;
}

}  // namespace

TEST_CASE("VER-03: a child that rejects initialize after the probe is replaced once, and the new one is not probed") {
    for (bool answers_probe : {true, false}) {
        client_under_test t;
        outcome_of_task& o = connect_to_bridge(t, answers_probe);
        REQUIRE(t.connector->wires.size() == 2);
        CHECK(t.connector->wires[0]->closed());
        finish_handshake(t, o);
        CHECK(t.silent());

        // Remembered: the next connection begins with initialize.
        outcome_of_task& closed = t.run(t.client->close());
        t.advance(10s);
        REQUIRE(closed.done());
        outcome_of_task& again = t.run(t.client->connect());
        CHECK(t.connector->wires.size() == 3);
        finish_handshake(t, again);
    }
}

TEST_CASE("VER-03: a child that exits on the initialize after the probe is replaced once, too") {
    client_under_test t;
    t.connector->child = true;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32601, "Method not found");
    t.expect("initialize");
    t.wire().eof();
    t.advance(10s);
    REQUIRE(t.connector->wires.size() == 2);
    finish_handshake(t, o);
}

TEST_CASE("VER-03: a child that rejects every initialize is not started a third time") {
    client_under_test t;
    outcome_of_task& o = connect_to_bridge(t);
    t.refuse(t.expect("initialize"), -32600, "Server already initialized");
    t.advance(10s);
    CHECK(t.connector->wires.size() == 2);
    CHECK(o.text == "rejected: Server already initialized");
    CHECK(t.silent());
    CHECK(t.wire().closed());
}

TEST_CASE("VER-03: an outdated memory and a confused child together cost one probe and one more child") {
    client_options options;
    options.eras = std::make_shared<era_memory>();
    options.eras->remember("script", false);
    client_under_test t(options);
    t.connector->child = true;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("initialize"), -32600, "no");
    t.refuse(t.expect("server/discover"), -32601, "Method not found");
    t.refuse(t.expect("initialize"), -32600, "no");
    t.advance(10s);
    t.refuse(t.expect("initialize"), -32600, "no");
    t.advance(10s);
    CHECK(o.kind == error_kind::rejected);
    CHECK(t.connector->wires.size() == 2);
    CHECK(t.silent());
}

TEST_CASE("VER-03: a socket is not opened again if the server rejects initialize") {
    client_under_test t;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32601, "Method not found");
    t.refuse(t.expect("initialize"), -32600, "no");
    CHECK(o.kind == error_kind::rejected);
    CHECK(t.connector->wires.size() == 1);
    t.advance(10s);
}

TEST_CASE("VER-03: closing the client while a confused child is replaced ends both children") {
    client_under_test t;
    t.connector->child = true;
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), -32601, "Method not found");
    t.refuse(t.expect("initialize"), -32600, "Server already initialized");
    outcome_of_task& closed = t.run(t.client->close());
    t.advance(30s);
    CHECK(closed.done());
    CHECK(o.kind == error_kind::closed);
    for (const auto& each : t.connector->wires) CHECK(each->closed());
    while (!t.silent()) t.next();
}
