// Detecting the era of a server over HTTP (docs/rules/protocol.md, section 1.1): the body is read before the status is
// interpreted.

#include "http_client_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

std::string& connect(web_client& t) {
    return t.run(t.client->connect(), [] { return std::string("done"); });
}

void refuse(web_client& t, std::string_view method, int status, std::string_view error) {
    seen_request& r = t.last(method);
    std::string body;
    if (!error.empty()) body = R"({"jsonrpc":"2.0","id":)" + r.id() + R"(,"error":)" + std::string(error) + "}";
    t.connector->requests->reply(r, status, body.empty() ? "" : "application/json", body);
    t.loop->run();
}

constexpr const char* discover_response = R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})";

}  // namespace

TEST_CASE("VER-15, VER-04, VER-13: 400 with -32022 is followed by the same request with a listed version") {
    web_client t(false);
    std::string& o = connect(t);
    refuse(t, "server/discover", 400,
           R"({"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}})");
    t.answer("server/discover", discover_response);
    spoke(modern);
    CHECK(o == "done");
    CHECK(t.client->server().modern);
}

TEST_CASE("VER-15, VER-04: 400 with -32020 or -32021 is the error of a modern server, and initialize is not tried") {
    for (int code : {-32020, -32021}) {
        web_client t(false);
        std::string& o = connect(t);
        refuse(t, "server/discover", 400, R"({"code":)" + std::to_string(code) + R"(,"message":"such is the matter"})");
        CHECK(o == "failed: such is the matter");
        CHECK(t.connector->requests->all("POST initialize").empty());
        std::string& again = connect(t);
        t.answer("server/discover", discover_response);
        spoke(modern);
        CHECK(again == "done");
    }
}

TEST_CASE("VER-15: 400 without such a body, and 404 for the probe itself, mean an older server") {
    struct refusal {
        int status;
        const char* error;
    };
    for (const refusal& each :
         {refusal{400, ""}, refusal{400, R"({"code":-32000,"message":"Bad Request: no session"})"},
          refusal{404, R"({"code":-32601,"message":"Method not found"})"}, refusal{405, ""},
          refusal{400, R"({"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}})"}}) {
        web_client t(false);
        std::string& o = connect(t);
        refuse(t, "server/discover", each.status, each.error);
        t.connector->requests->answer(
            t.last("initialize"),
            R"({"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
        t.loop->run();
        for (seen_request* told : t.connector->requests->all("POST notifications/initialized"))
            t.connector->requests->accept(*told);
        for (seen_request* stream : t.connector->requests->all("GET"))
            t.connector->requests->reply(*stream, 405, "", "");
        t.loop->run();
        INFO(each.status << each.error);
        CHECK(o == "done");
        CHECK(t.client->server().protocol_version == "2025-06-18");
        spoke("2025-06-18");
    }
}

TEST_CASE("1.1: 5xx, a lost connection and a missing response do not tell the era: they are errors") {
    for (int status : {500, 502, 503, 0}) {
        web_client t(false);
        std::string& o = connect(t);
        if (status > 0) refuse(t, "server/discover", status, "");
        else t.connector->requests->fail(t.last("server/discover"));
        t.loop->run();
        CHECK(o.starts_with("failed: "));
        CHECK(t.connector->requests->all("POST initialize").empty());
    }
    web_client t(false);
    std::string& o = connect(t);
    t.loop->advance(60s);
    CHECK(o.starts_with("failed: "));
    CHECK(t.connector->requests->all("POST initialize").empty());
}

namespace {

/// Connects to a server of 2025-11-25 over HTTP; `get` is the status of its response to the request for the notification stream, 0: none.
void connect_legacy(web_client& t, int get) {
    std::string& o = connect(t);
    refuse(t, "server/discover", 400, "");
    t.connector->requests->answer(
        t.last("initialize"),
        R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},
            "resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"s","version":"1"}})");
    t.loop->run();
    for (seen_request* told : t.connector->requests->all("POST notifications/initialized"))
        t.connector->requests->accept(*told);
    seen_request& stream = *t.connector->requests->all("GET").at(0);
    if (get == 200) t.connector->requests->open_stream(stream);
    else if (get > 0) t.connector->requests->reply(stream, get, "", "");
    t.loop->advance(1s);
    REQUIRE(o == "done");
    spoke("2025-11-25");
}

subscription_request all_changes() {
    subscription_request all;
    all.tools = all.prompts = all.resources = true;
    all.uris = {"a:b"};
    return all;
}

bool has_nothing(const subscription_request& r) { return !r.tools && !r.prompts && !r.resources && r.uris.empty(); }

}  // namespace

TEST_CASE("LHTTP-01: a subscription is empty if the server has refused the stream for its notifications") {
    // Stateless servers of the Python SDK 1.28 (405) and of the TypeScript SDK 1.x behind Express (404).
    for (int status : {405, 404, 400}) {
        INFO(status);
        web_client t(false);
        connect_legacy(t, status);
        const std::size_t sent = t.sent();
        subscription kept;
        std::string& o = t.run(t.client->subscribe(all_changes()), [&](subscription& s) {
            kept = std::move(s);
            return std::string("subscribed");
        });
        CHECK(o == "subscribed");
        CHECK(has_nothing(kept.agreed()));
        CHECK(t.sent() == sent);  // no resources/subscribe: its notifications could not arrive
        kept.stop();
        t.loop->run();
    }
}

TEST_CASE("LHTTP-01: with the stream, or while the server has not answered yet, a subscription has what was declared") {
    for (int status : {200, 0}) {
        INFO(status);
        web_client t(false);
        connect_legacy(t, status);
        subscription kept;
        std::string& o = t.run(t.client->subscribe(all_changes()), [&](subscription& s) {
            kept = std::move(s);
            return std::string("subscribed");
        });
        t.connector->requests->answer(t.last("resources/subscribe"));
        t.loop->run();
        CHECK(o == "subscribed");
        CHECK(kept.agreed().tools);
        CHECK(kept.agreed().uris.size() == 1);
        if (status == 0) {  // refused after all
            t.connector->requests->reply(*t.connector->requests->all("GET").at(0), 405, "", "");
            t.loop->run();
            CHECK(kept.how_ended() == subscription_end::lost);
        }
        kept.stop();
        t.loop->run();
        for (seen_request* left : t.connector->requests->all("POST resources/unsubscribe"))
            t.connector->requests->answer(*left);
        t.loop->run();
    }
}
