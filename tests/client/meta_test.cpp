// `_meta` of callers and of servers.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// Whether a call with this _meta was refused at once, or omitted the invalid part.
bool kept_from_the_wire(const std::string& revision, const json::value& meta, std::string_view wrong) {
    client_under_test t;
    t.connect(revision);
    call_options how;
    how.meta = meta;
    outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
    if (o.failed) return t.silent();
    bool absent = t.wire().output().find(wrong) == std::string::npos;
    t.answer(t.expect("tools/call"), text_result(revision, "ok"));
    return absent;
}

}  // namespace

TEST_CASE("META-01: invalid _meta keys are not sent, valid ones are") {
    for (const std::string& revision : revisions_from("2025-06-18")) {
        for (const char* key : {"-x", "x-", "a b", "com.example/x/y", "1com/x", ".x", "com.-a/x", "\xC3\xA9"}) {
            json::value meta;
            meta.set(key, "WRONG");
            CHECK_MESSAGE(kept_from_the_wire(revision, meta, "WRONG"), revision << " " << key);
        }
        client_under_test t;
        t.connect(revision);
        call_options how;
        how.meta = json::object({{"com.example/x", 1}, {"plain", 2}, {"com.example.b-c/", 3}, {"a_b.c-d", 4}});
        outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
        json::value call = t.expect("tools/call");
        const json::value& sent = call["params"]["_meta"];
        CHECK(sent["com.example/x"].if_int() == 1);
        CHECK(sent["plain"].if_int() == 2);
        CHECK(sent["com.example.b-c/"].if_int() == 3);
        CHECK(sent["a_b.c-d"].if_int() == 4);
        t.answer(call, text_result(revision, "ok"));
        CHECK(o.text == "ok");
    }
}

TEST_CASE("META-02: results are read whatever a server writes at reserved keys") {
    for (const std::string& revision : revisions_from("2025-06-18")) {
        for (const char* value : {"null", "7", "[]", R"({"name":[]})", R"("x")", "{}"}) {
            client_under_test t;
            t.connect(revision);
            json::value meta;
            for (const char* key :
                 {"serverInfo", "related-task", "protocolVersion", "subscriptionId", "logLevel", "new"}) {
                meta.set("io.modelcontextprotocol/" + std::string(key), json::parse(value));
            }
            meta.set("progressToken", json::parse(value));
            meta.set("traceparent", json::parse(value));
            json::value result = text_result(revision, "ok");
            result.set("_meta", meta);
            outcome_of_task& o = t.run(t.client->call_tool("x"), [&](const tool_result& r) {
                for (const json::member& each : meta.members()) {
                    if (each.key().ends_with("/serverInfo")) continue;  // used by the engine itself
                    CHECK(r.meta[each.key()] == each.content);
                }
                return std::string("read");
            });
            t.answer(t.expect("tools/call"), result);
            CHECK_MESSAGE(o.text == "read", o.text);
            json::value params = json::object({{"level", "info"}, {"data", 1}});
            params.set("_meta", meta);
            t.notify("notifications/message", params);
            t.notify("notifications/tools/list_changed", json::object({{"_meta", meta}}));
            CHECK(t.silent());
            CHECK(t.client->connected());
        }
    }
}

TEST_CASE("META-03: trace context is sent only in the W3C format") {
    constexpr const char* parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    client_under_test t;
    t.connect(modern);
    call_options how;
    how.meta = json::object({{"traceparent", parent}, {"tracestate", "a=1"}, {"baggage", "k=v"}});
    outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
    json::value call = t.expect("tools/call");
    CHECK(call["params"]["_meta"]["traceparent"].if_string() == parent);
    CHECK(call["params"]["_meta"]["tracestate"].if_string() == "a=1");
    CHECK(call["params"]["_meta"]["baggage"].if_string() == "k=v");
    t.answer(call, text_result(modern, "ok"));
    CHECK(o.text == "ok");
    for (const char* wrong : {"WRONG", "00-WRONG0000000000000000000000000-0000000000000000-01"}) {
        for (const char* key : {"traceparent", "tracestate", "baggage"}) {
            json::value meta;
            meta.set(key, wrong);
            CHECK_MESSAGE(kept_from_the_wire(modern, meta, "WRONG"), key << " " << wrong);
        }
    }
    CHECK(kept_from_the_wire(modern, json::object({{"traceparent", 7777777}}), "7777777"));
}
