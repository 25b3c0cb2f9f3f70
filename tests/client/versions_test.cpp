// Versions, capabilities and extensions: what every request contains, and what the program can fix.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

client_options pinned(protocol_mode mode, std::string version = {}) {
    client_options options;
    options.mode = mode;
    options.version = std::move(version);
    return options;
}

json::value bare_initialize_result(std::string_view version) {
    json::value r = json::parse(R"({"capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
    r.set("protocolVersion", version);
    return r;
}

}  // namespace

TEST_CASE(
    "VER-07, VER-20: every request carries version, capabilities and client info, also custom requests and "
    "later rounds") {
    client_options options;
    options.about.name = "asker";
    options.about.version = "3";
    options.roots.emplace();
    options.on_url = [](url_question) { return elicit_action::decline; };
    client_under_test t(options);
    t.connect(modern);
    auto check = [](const json::value& request) {
        const json::value& meta = request["params"]["_meta"];
        CHECK(meta["io.modelcontextprotocol/protocolVersion"].if_string() == modern);
        CHECK(meta["io.modelcontextprotocol/clientInfo"]["name"].if_string() == "asker");
        const json::value& can = meta["io.modelcontextprotocol/clientCapabilities"];
        CHECK(json::to_string(can) == R"({"roots":{},"elicitation":{"url":{}}})");
    };
    call_options with_meta;
    with_meta.meta = json::object({{"com.example/x", 1}});
    outcome_of_task& called = t.run(t.client->call_tool("x", {}, with_meta));
    json::value first = t.expect("tools/call");
    check(first);
    CHECK(first["params"]["_meta"]["com.example/x"].if_int() == 1);
    t.answer(first, questions(R"({"r":{"method":"roots/list"}})"));
    json::value second = t.expect("tools/call");
    check(second);
    CHECK(second["params"]["_meta"]["com.example/x"].if_int() == 1);
    t.answer(second, text_result(modern, "ok"));
    CHECK(called.text == "ok");
    outcome_of_task& own = t.run(t.client->request("com.example/do"));
    json::value asked = t.expect("com.example/do");
    check(asked);
    t.answer(asked, json::object({{"resultType", "complete"}}));
    CHECK(own.done());
    outcome_of_task& pinged = t.run(t.client->ping());
    json::value ping = t.expect("server/discover");
    check(ping);
    t.refuse(ping, -32603);
    CHECK(pinged.failed);
}

TEST_CASE("VER-07: _meta entries of a caller cannot replace those of the protocol") {
    client_under_test t;
    t.connect(modern);
    call_options how;
    how.meta = json::object({{"io.modelcontextprotocol/protocolVersion", "1999-01-01"}, {"progressToken", "mine"}});
    outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
    if (o.failed) return;  // refused at once, which is also correct
    std::string line = t.wire().output();
    CHECK(line.find("1999-01-01") == std::string::npos);
    CHECK(line.find("mine") == std::string::npos);
    t.answer(t.expect("tools/call"), text_result(modern, "ok"));
    CHECK(o.text == "ok");
}

TEST_CASE("VER-12: extensions are off until the program enables them, and older revisions do not send them") {
    client_options options;
    client_under_test without(options);
    without.connect(modern);
    outcome_of_task& one = without.run(without.client->call_tool("x"));
    json::value plain = without.expect("tools/call");
    CHECK(json::to_string(plain["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]) == "{}");
    without.answer(plain, text_result(modern, ""));
    CHECK(one.done());
    options.extensions["com.example/x"] = json::object({{"a", 1}});
    client_under_test with(options);
    with.connect(modern);
    outcome_of_task& two = with.run(with.client->call_tool("x"));
    json::value extended = with.expect("tools/call");
    CHECK(json::to_string(extended["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"]) ==
          R"({"com.example/x":{"a":1}})");
    with.answer(extended, text_result(modern, ""));
    CHECK(two.done());
}

TEST_CASE("VER-06: a server without an extension is used as usual") {
    client_options options;
    options.extensions["com.example/x"] = json::object();
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), text_result(modern, "ok"));
    CHECK(o.text == "ok");
}

TEST_CASE("VER-05: an extension with an invalid name or invalid settings is rejected by the constructor") {
    for (const char* id : {"", "x", "/x", "com.example/", "com..example/x", "-a/x", "com.example/-x"}) {
        client_options options;
        options.extensions[id] = json::object();
        INFO(id);
        bool allowed = std::string_view(id) == "com.example/";  // a name may be empty
        if (allowed) {
            client_under_test t(options);
            t.connect(modern);
        } else {
            CHECK_THROWS_AS(client_under_test{options}, std::invalid_argument);
        }
    }
    client_options options;
    options.extensions["com.example/x"] = json::value(1);
    CHECK_THROWS_AS(client_under_test{options}, std::invalid_argument);
}

TEST_CASE("VER-19: the server's name has no effect, even if it is missing or absurd") {
    for (const char* info : {"null", "7", R"({"name":7})", R"({"name":"claude","version":""})", R"({"version":"1"})"}) {
        client_under_test t;
        outcome_of_task& o = t.run(t.client->connect());
        json::value meta;
        meta.set("io.modelcontextprotocol/serverInfo", json::parse(info));
        json::value result = result_in(modern, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})");
        result.set("_meta", meta);
        t.answer(t.expect("server/discover"), result);
        spoke(modern);
        CHECK_MESSAGE(o.text == "done", info << o.text);
        outcome_of_task& called = t.run(t.client->call_tool("x"));
        json::value answer = text_result(modern, "ok");
        answer.set("_meta", meta);
        t.answer(t.expect("tools/call"), answer);
        CHECK_MESSAGE(called.text == "ok", info << called.text);
    }
}

TEST_CASE("1.1: in legacy mode initialize is sent first, with the newest version or the pinned one") {
    client_under_test newest(pinned(protocol_mode::legacy));
    outcome_of_task& o = newest.run(newest.client->connect());
    json::value greeting = newest.expect("initialize");
    CHECK(greeting["params"]["protocolVersion"].if_string() == "2025-11-25");
    newest.answer(greeting, bare_initialize_result("2024-11-05"));
    newest.expect("notifications/initialized");
    CHECK(o.text == "done");
    for (const std::string& revision : older_revisions) {
        client_under_test t(pinned(protocol_mode::automatic, revision));
        outcome_of_task& connected = t.run(t.client->connect());
        json::value first = t.expect("initialize");
        CHECK(first["params"]["protocolVersion"].if_string() == revision);
        t.answer(first, bare_initialize_result(revision));
        spoke(revision);
        t.expect("notifications/initialized");
        CHECK(connected.text == "done");
    }
}

TEST_CASE("1.1: in legacy mode -32022 is an error, and no probe follows") {
    client_under_test t(pinned(protocol_mode::legacy));
    outcome_of_task& o = t.run(t.client->connect());
    t.refuse(t.expect("initialize"), -32022);
    CHECK(o.kind == error_kind::rejected);
    CHECK(t.silent());
}

TEST_CASE("1.1: in modern mode there is no fallback") {
    for (const char* version : {"", modern}) {
        for (int code : {-32601, -32022, -32000}) {
            client_under_test t(pinned(protocol_mode::modern, version));
            outcome_of_task& o = t.run(t.client->connect());
            json::value data;
            data.set("supported", json::array({"2025-11-25"}));
            t.refuse(t.expect("server/discover"), code, "no", data);
            CHECK(o.failed);
            CHECK(t.silent());
            CHECK(t.wire().closed());
        }
        client_under_test silent(pinned(protocol_mode::modern, version));
        outcome_of_task& o = silent.run(silent.client->connect());
        silent.expect("server/discover");
        silent.advance(60s);
        CHECK(o.failed);
        CHECK(silent.silent());
        client_under_test good(pinned(protocol_mode::modern, version));
        good.connect(modern);
    }
}

TEST_CASE("1.1: an unknown version, or one of the other era, is rejected by the constructor") {
    CHECK_THROWS_AS(client_under_test(pinned(protocol_mode::automatic, "2025-01-01")), std::invalid_argument);
    CHECK_THROWS_AS(client_under_test(pinned(protocol_mode::legacy, modern)), std::invalid_argument);
    CHECK_THROWS_AS(client_under_test(pinned(protocol_mode::modern, "2025-11-25")), std::invalid_argument);
}
