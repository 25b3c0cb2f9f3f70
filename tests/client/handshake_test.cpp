// The lifecycle of a connection of the older revisions, and the timeouts of every request.

#include "revisions.hpp"

#include <keel/async.hpp>

using namespace keel;
using namespace keel::test;

namespace {

client_options pinned(const std::string& version) {
    client_options options;
    options.version = version;
    return options;
}

}  // namespace

TEST_CASE(
    "LIFE-01, LIFE-03, LIFE-07: the handshake offers the newest version, or the pinned one, with capabilities"
    " and name") {
    for (const std::string& revision : older_revisions) {
        for (bool pin : {false, true}) {
            client_options options = pinned(pin ? revision : "");
            options.mode = protocol_mode::legacy;
            options.about.name = "n";
            options.about.version = "v";
            options.about.title = "t";
            options.about.website_url = "https://example.com/";
            options.roots.emplace();
            options.on_sampling = [](sampling_request) { return sampling_result(); };
            options.sampling_with_tools = true;
            client_under_test t(options);
            outcome_of_task& o = t.run(t.client->connect());
            json::value first = t.expect("initialize");
            CHECK(first["params"]["protocolVersion"].if_string() == (pin ? revision : "2025-11-25"));
            CHECK(first["params"]["clientInfo"]["name"].if_string() == "n");
            CHECK(first["params"]["capabilities"]["roots"]["listChanged"].if_bool() == true);
            CHECK(first["params"]["capabilities"]["sampling"].is_object());
            CHECK(t.silent());
            t.answer(first, initialize_result(revision));
            spoke(revision);
            json::value confirmed = t.expect("notifications/initialized");
            CHECK(!confirmed.contains("id"));
            CHECK(o.text == "done");
        }
    }
}

TEST_CASE("LIFE-03: a rejected handshake is not confirmed") {
    for (const std::string& revision : older_revisions) {
        client_under_test t(pinned(revision));
        outcome_of_task& o = t.run(t.client->connect());
        t.refuse(t.expect("initialize"), -32602, "Unsupported protocol version");
        CHECK(o.kind == error_kind::rejected);
        CHECK(o.code == -32602);
        CHECK(t.silent());
        CHECK(t.wire().closed());
        t.connect(revision);
    }
}

TEST_CASE("LIFE-05: a handshake is never cancelled with a notification") {
    for (const std::string& revision : older_revisions) {
        client_options options = pinned(revision);
        options.connect_timeout = 2s;
        client_under_test t(options);
        outcome_of_task& given_up = t.run(t.client->connect());
        t.expect("initialize");
        t.abandon(given_up);
        CHECK(given_up.text == "cancelled");
        CHECK(t.silent());
        outcome_of_task& late = t.run(t.client->connect());
        t.expect("initialize");
        t.advance(2s);
        CHECK(late.kind == error_kind::timed_out);
        CHECK(t.silent());
        outcome_of_task& closed = t.run(t.client->connect());
        t.expect("initialize");
        outcome_of_task& closing = t.run(t.client->close());
        CHECK(closed.kind == error_kind::closed);
        CHECK(closing.done());
        CHECK(t.silent());
        t.connect(revision);
    }
}

TEST_CASE("LIFE-06: a server's ping is answered immediately, also during the handshake and while a handler waits") {
    for (const std::string& revision : older_revisions) {
        event never;
        client_options options = pinned(revision);
        options.on_sampling = [&](sampling_request) -> task<sampling_result> {
            co_await never;
            co_return sampling_result();
        };
        client_under_test t(options);
        outcome_of_task& o = t.run(t.client->connect());
        json::value first = t.expect("initialize");
        t.ask("early", "ping");
        CHECK(json::to_string(t.next()) == R"({"jsonrpc":"2.0","id":"early","result":{}})");
        t.answer(first, initialize_result(revision));
        spoke(revision);
        t.expect("notifications/initialized");
        CHECK(o.text == "done");
        t.ask(1, "sampling/createMessage",
              json::parse(R"({"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":5})"));
        t.ask(2, "ping", json::object());
        CHECK(json::to_string(t.next()) == R"({"jsonrpc":"2.0","id":2,"result":{}})");
        CHECK(t.silent());
    }
}

TEST_CASE("LIFE-09: a server that selects an unsupported or different version is disconnected") {
    for (const std::string& revision : older_revisions) {
        for (const std::string& offered : {std::string("1999-12-31"), std::string(modern), std::string(""),
                                           std::string(revision == "2024-11-05" ? "2025-11-25" : "2024-11-05")}) {
            client_under_test t(pinned(revision));
            outcome_of_task& o = t.run(t.client->connect());
            t.answer(t.expect("initialize"), initialize_result(offered));
            CHECK(o.kind == error_kind::unavailable);
            CHECK(o.text.find(offered) != std::string::npos);
            CHECK(t.silent());
            CHECK(t.wire().closed());
            CHECK(!t.client->connected());
            t.connect(revision);
        }
    }
}

TEST_CASE("LIFE-10: calls made during the handshake wait for its end") {
    for (const std::string& revision : older_revisions) {
        client_under_test t(pinned(revision));
        outcome_of_task& o = t.run(t.client->connect());
        json::value first = t.expect("initialize");
        outcome_of_task& called = t.run(t.client->call_tool("x"));
        outcome_of_task& listed = t.run(t.client->list_tools(), count_of);
        CHECK(t.silent());
        t.answer(first, initialize_result(revision));
        spoke(revision);
        CHECK(o.text == "done");
        t.expect("notifications/initialized");
        t.answer(t.expect("tools/call"), text_result(revision, "ok"));
        t.answer(t.expect("tools/list"), json::parse(R"({"tools":[]})"));
        CHECK(called.text == "ok");
        CHECK(listed.text == "0");
    }
}

TEST_CASE(
    "LIFE-12, LIFE-13, STD-04: a call without a response times out, the server gets a cancel, and a late "
    "response is dropped") {
    for (const std::string& revision : every_revision) {
        client_options options;
        options.limits.request_idle = 7s;
        client_under_test t(options);
        t.connect(revision);
        call_options quick(2s);
        outcome_of_task& short_one = t.run(t.client->call_tool("x", {}, quick));
        outcome_of_task& usual = t.run(t.client->call_tool("x"));
        json::value first = t.expect("tools/call");
        json::value second = t.expect("tools/call");
        t.advance(2s);
        CHECK(short_one.kind == error_kind::timed_out);
        CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == first["id"]);
        CHECK(!usual.done());
        t.advance(5s);
        CHECK(usual.kind == error_kind::timed_out);
        CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == second["id"]);
        t.answer(first, text_result(revision, "late"));
        CHECK(t.silent());
        CHECK(t.client->connected());
    }
}

TEST_CASE("LIFE-13: progress keeps a call alive, up to its absolute limit") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        call_options how;
        how.idle = 2s;
        how.total = 5s;
        outcome_of_task& o = t.run(t.client->call_tool("x", {}, how));
        json::value call = t.expect("tools/call");
        json::value progress = json::object({{"progress", 0}});
        progress.set("progressToken", call["params"]["_meta"]["progressToken"]);
        for (int i = 1; i <= 4; ++i) {
            t.advance(1s);
            progress.set("progress", i);
            t.notify("notifications/progress", progress);
            CHECK(!o.done());
        }
        t.advance(1s);
        CHECK(o.kind == error_kind::timed_out);
        CHECK(t.expect("notifications/cancelled")["params"]["requestId"] == call["id"]);
    }
}

TEST_CASE("LIFE-14: a silent server is pinged, and without a response the connection is lost and that is logged") {
    for (const std::string& revision : older_revisions) {
        std::vector<std::string> ends;
        client_options options;
        options.keep_alive = 10s;
        options.on_disconnected = [&](const disconnection& d) { ends.push_back(d.cause); };
        client_under_test t(options);
        t.connect(revision);
        outcome_of_task& waiting = t.run(t.client->call_tool("x", {}, call_options(1h)));
        t.expect("tools/call");
        for (int i = 0; i < 3; ++i) {
            t.advance(10s);
            t.answer(t.expect("ping"), json::object());
            CHECK(t.client->connected());
        }
        t.advance(10s);
        t.expect("ping");
        t.advance(10s);
        CHECK(waiting.kind == error_kind::closed);
        REQUIRE(ends.size() == 1);
        CHECK(ends[0].find("keep-alive timeout") != std::string::npos);
        CHECK(!t.client->connected());
        bool logged = false;
        for (const std::string& each : t.log) logged = logged || each.find("keep-alive timeout") != std::string::npos;
        CHECK(logged);
    }
}

TEST_CASE("STD-08: the stderr output of a child process is passed on and has no other effect") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        std::string heard;
        client_options options;
        options.on_stderr = [&](std::string_view text) { heard += text; };
        client_under_test t(options);
        t.connect(revision);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        json::value call = t.expect("tools/call");
        t.connector->settings.on_stderr("ERROR: fatal: panic\n");
        CHECK(heard == "ERROR: fatal: panic\n");
        CHECK(t.client->connected());
        t.answer(call, text_result(revision, "ok"));
        CHECK(o.text == "ok");
    }
}
