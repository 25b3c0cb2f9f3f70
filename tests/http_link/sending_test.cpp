// Outgoing messages: one message per POST, and its headers.

#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("HTTP-04, HTTP-06: each message is its own POST") {
    for (const char* version : versions) {
        link_under_test t(speaking(version));
        const std::size_t first = t.open();
        auto one = t.ask("tools/list");
        t.peer->notify("notifications/roots/list_changed", "{}");
        auto two = t.ask("prompts/list");
        REQUIRE(t.on->shown(first) == "POST tools/list, POST notifications/roots/list_changed, POST prompts/list");
        for (std::size_t i = first; i < t.on->requests.size(); ++i) {
            CHECK(json::parse(t.on->at(i).what.body).is_object());
            CHECK(t.on->at(i).what.path.empty());
        }
        t.on->accept(t.on->at(first + 1));
        t.on->answer(t.on->at(first + 2), R"({"prompts":[]})");
        t.on->answer(t.on->at(first), R"({"tools":[]})");
        CHECK(one->outcome == R"({"tools":[]})");
        CHECK(two->outcome == R"({"prompts":[]})");
    }
}

TEST_CASE("HTTP-04: messages of one turn are sent at its end, each as its own POST, in order") {
    for (const char* version : versions) {
        link_under_test t(speaking(version));
        const std::size_t first = t.open();
        auto call = t.ask("ping");
        t.when_heard = [&](std::string_view) {
            t.peer->notify("notifications/a", "{}");
            t.peer->notify("notifications/b", "{}");
            CHECK(t.on->requests.size() == first + 1);  // not yet
        };
        t.on->open_stream(t.on->at(first));
        t.on->event(t.on->at(first), R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})");
        CHECK(t.on->shown(first) == "POST ping, POST notifications/a, POST notifications/b");
        t.on->event(t.on->at(first), fake_wire::result_text(t.on->at(first)));
        CHECK(call->outcome == "{}");
    }
}

TEST_CASE("HTTP-05: both media types are accepted, and the body is JSON") {
    for (const char* version : versions) {
        link_under_test t(speaking(version));
        t.open();
        auto call = t.ask("tools/list");
        CHECK(t.on->last().header("Accept") == "application/json, text/event-stream");
        CHECK(t.on->last().header("Content-Type") == "application/json");
        t.on->answer(t.on->last());
    }
}

TEST_CASE("HDR-01, HDR-02: every POST of the modern era has the headers for version and method") {
    link_under_test t;
    auto call = t.ask("tools/list");
    t.peer->notify("notifications/roots/list_changed", "{}");
    for (auto& each : t.on->requests) CHECK(each->header("MCP-Protocol-Version") == modern_version);
    CHECK(t.on->at(0).header("Mcp-Method") == "tools/list");
    CHECK(t.on->at(1).header("Mcp-Method") == "notifications/roots/list_changed");
    CHECK_FALSE(t.on->at(0).has("Mcp-Name"));
    t.on->answer(t.on->at(0));
    t.on->accept(t.on->at(1));
    // The server selects another version: the next request contains it.
    t.speak(true, "2027-01-01");
    auto again = t.ask("tools/list");
    CHECK(t.on->last().header("MCP-Protocol-Version") == "2027-01-01");
    t.on->answer(t.on->last());
}

TEST_CASE("HDR-03, HDR-11: the name is in Mcp-Name, encoded if a header cannot contain it") {
    struct sample {
        const char* name;
        const char* header;
    };
    for (sample each : {sample{"add", "add"}, sample{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
                        sample{" padded ", "=?base64?IHBhZGRlZCA=?="},
                        sample{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}}) {
        link_under_test t;
        auto call = t.call(each.name);
        CHECK(t.on->last().header("Mcp-Name") == each.header);
        t.on->answer(t.on->last());
        CHECK(call->outcome == "{}");
    }
}

TEST_CASE("HDR-14: the older era sends its version in everything after initialize, and neither method nor name") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        auto call = t.call("add");
        t.link->session_opened();
        CHECK_FALSE(t.on->at(0).has("MCP-Protocol-Version"));
        for (std::size_t i = 1; i < t.on->requests.size(); ++i) {
            CHECK(t.on->at(i).header("MCP-Protocol-Version") == version);
            CHECK_FALSE(t.on->at(i).has("Mcp-Method"));
            CHECK_FALSE(t.on->at(i).has("Mcp-Name"));
        }
        CHECK(t.on->requests.size() == 4);
        t.on->answer(t.on->at(2));
    }
}

TEST_CASE(
    "HDR-07: headers of the call are added; protocol headers cannot be replaced, and values cannot contain "
    "line ends") {
    link_settings_for_test how;
    how.options.headers = {{"Authorization", "Bearer url"}, {"X-Team", "blue"}};
    link_under_test t(how);
    http_client::header_list extra = {{"Mcp-Param-Region", "us"},   {"authorization", "Bearer call"},
                                      {"mcp-method", "evil"},       {"ACCEPT", "text/html"},
                                      {"X-Bad", "a\r\nHost: evil"}, {"Bad Name", "x"}};
    rpc::peer::call_options_with_progress options;
    options.attributes = &extra;
    auto call = t.ask("tools/call", "{}", options);
    seen_request& sent = t.on->last();
    CHECK(sent.header("Mcp-Param-Region") == "us");
    CHECK(sent.header("Authorization") == "Bearer call");
    CHECK(sent.header("X-Team") == "blue");
    CHECK(sent.header("Mcp-Method") == "tools/call");
    CHECK(sent.header("Accept") == "application/json, text/event-stream");
    CHECK_FALSE(sent.has("X-Bad"));
    CHECK_FALSE(sent.has("Bad Name"));
    CHECK(t.reports.size() == 4);
    t.on->answer(sent);
}

TEST_CASE("a URL with invalid or reserved headers is rejected") {
    auto loop = std::make_shared<manual_loop>();
    for (auto [name, value] : {std::pair("X-A", "b\nc"), std::pair("", "x"), std::pair("Mcp-Session-Id", "x")}) {
        http_client::http_link_options options;
        options.headers = {{name, value}};
        auto make = [&] {
            http_client::http_link link(loop, std::make_unique<fake_pool>(std::make_shared<fake_wire>()), options);
        };
        CHECK_THROWS_AS(make(), std::invalid_argument);
    }
}

TEST_CASE("LHTTP-09: the session id is sent with every request after initialize") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands("abc!~");
        t.link->session_opened();
        auto call = t.ask("tools/list");
        t.peer->notify("notifications/x", "{}");
        CHECK_FALSE(t.on->at(0).has("Mcp-Session-Id"));
        for (std::size_t i = 1; i < t.on->requests.size(); ++i) CHECK(t.on->at(i).header("Mcp-Session-Id") == "abc!~");
        CHECK(t.on->shown() ==
              "POST initialize, POST notifications/initialized, GET, POST tools/list, POST notifications/x");
        t.on->answer(t.on->at(3));
    }
}

TEST_CASE("LHTTP-12: an invalid session id is not sent back, and a session id is never shown") {
    for (std::string id : {std::string("two words"), std::string("caf\xc3\xa9"), std::string(5000, 'x')}) {
        link_under_test t(legacy());
        t.shake_hands(id);
        auto call = t.ask("tools/list");
        CHECK_FALSE(t.on->last().has("Mcp-Session-Id"));
        CHECK(t.reports.size() == 1);
        t.on->answer(t.on->last());
        for (const std::string& each : t.reports) CHECK(each.find(id) == std::string::npos);
    }
    link_under_test t(legacy());
    t.shake_hands("very-secret");
    auto call = t.ask("tools/list");
    t.on->reply(t.on->last(), 404, "text/plain", "gone");
    t.link->session_renewed(false);
    CHECK(call->outcome == "session lost");
    CHECK(call->text.find("very-secret") == std::string::npos);
    CHECK_FALSE(t.reports.empty());
    for (const std::string& each : t.reports) CHECK(each.find("very-secret") == std::string::npos);
}

TEST_CASE("HTTP-20: a session id from a modern server is ignored") {
    link_under_test t;
    for (const char* method : {"server/discover", "initialize"}) {
        auto probe = t.ask(method);
        t.on->answer(t.on->last(), "{}", {{"mcp-session-id", "abc"}});
        CHECK(probe->outcome == "{}");
    }
    auto call = t.ask("tools/list");
    CHECK_FALSE(t.on->last().has("Mcp-Session-Id"));
    t.on->answer(t.on->last());
    CHECK_FALSE(t.link->has_session());
}

TEST_CASE("BASE-17: in the modern era no response is sent, even if the server sends a request") {
    link_under_test t;
    t.peer->core().accept_requests(true);  // as if the check were missing
    auto call = t.ask("tools/list");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})");
    t.on->event(t.on->last(), fake_wire::result_text(t.on->at(0)));
    CHECK(t.on->shown() == "POST tools/list");
    CHECK(call->outcome == "{}");
}

TEST_CASE("B20: in the older era a request of the server is answered by a POST") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("tools/call");
    seen_request& post = t.on->last();
    t.on->open_stream(post);
    t.on->event(post, R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})");
    REQUIRE(t.on->last().shown() == "POST result");
    CHECK(t.on->last().what.body == R"({"jsonrpc":"2.0","id":"q","result":{"roots":[]}})");
    CHECK(t.on->last().header("Mcp-Session-Id") == "s-1");
    t.on->accept(t.on->last());
    t.on->event(post, fake_wire::result_text(post));
    CHECK(call->outcome == "{}");
}

TEST_CASE("B4, B20: a response that was not sent is withdrawn when the server cancels its request") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("tools/call");
    seen_request& post = t.on->last();
    t.on->open_stream(post);
    t.on->stalled = true;
    t.on->event(post, R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})");
    seen_request& answer = t.on->last();
    REQUIRE(answer.shown() == "POST result");
    t.on->event(post, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}})");
    CHECK(answer.cancelled);
    CHECK_FALSE(answer.left);
    t.on->event(post, fake_wire::result_text(post));
    CHECK(call->outcome == "{}");
}

TEST_CASE("B21: a cancel of a modern server for a request of the client is ignored") {
    link_under_test t;
    auto call = t.ask("tools/list");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    CHECK(call->ends == 0);
    t.on->event(t.on->last(), fake_wire::result_text(t.on->last()));
    CHECK(call->outcome == "{}");
}

TEST_CASE("no message overtakes notifications/initialized, until it is answered or five seconds have passed") {
    for (bool answered : {true, false}) {
        link_under_test t(legacy());
        auto opening = t.ask("initialize");
        t.on->answer(t.on->last());
        t.speak(false, legacy_version);
        t.peer->notify("notifications/initialized", "{}", false);
        t.link->session_opened();
        auto call = t.ask("tools/list");
        CHECK(t.on->shown() == "POST initialize, POST notifications/initialized");
        if (answered) t.on->reply(t.on->last(), 200, "application/json", "{}");
        else t.loop->advance(5s);
        CHECK(t.on->shown() == "POST initialize, POST notifications/initialized, GET, POST tools/list");
        t.on->answer(t.on->last());
        CHECK(call->outcome == "{}");
    }
}

TEST_CASE("J1: unsent messages are limited: calls are rejected, responses dropped with a report") {
    link_settings_for_test how = legacy();
    how.bounds.out_queue = 1000;
    how.bounds.out_queue_soft = 1000;
    link_under_test t(how);
    t.shake_hands("");
    auto asker = t.ask("tools/call");
    seen_request& stream = t.on->last();
    t.on->open_stream(stream);
    t.on->stalled = true;
    auto large = t.ask("a", R"({"x":")" + std::string(1000, 'x') + R"("})");
    auto refused = t.ask("b");
    CHECK(refused->outcome == "unavailable");
    t.on->event(stream, R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})");
    CHECK(t.on->all("POST result").empty());
    CHECK(t.reports.size() == 1);
    // It is written, and there is room again.
    t.on->last().left = true;
    auto next = t.ask("c");
    CHECK(next->ends == 0);
    t.on->stalled = false;
    for (auto* each : {t.on->all("POST a")[0], t.on->all("POST c")[0]}) t.on->answer(*each);
    t.on->event(stream, fake_wire::result_text(stream));
    CHECK(large->outcome == "{}");
    CHECK(next->outcome == "{}");
}

TEST_CASE("B20, D7: responses, notifications and pings do not wait behind calls, which may wait for them") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        auto call = t.ask("tools/call");
        seen_request& post = t.on->last();
        auto given_up = t.ask("resources/read");
        auto ping = t.ask("ping");
        t.on->answer(t.on->last());
        t.on->open_stream(post);
        t.on->event(post, R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})");
        given_up->line.stop();
        t.peer->notify("notifications/roots/list_changed", "{}");
        for (auto [shown, urgent] :
             {std::pair("POST initialize", true), std::pair("POST notifications/initialized", true),
              std::pair("POST tools/call", false), std::pair("POST resources/read", false),
              std::pair("POST ping", true), std::pair("POST result", true),
              std::pair("POST notifications/cancelled", true),
              std::pair("POST notifications/roots/list_changed", true)}) {
            CAPTURE(std::string(shown));
            REQUIRE(t.on->all(shown).size() == 1);
            CHECK(t.on->all(shown)[0]->what.urgent == urgent);
        }
        t.on->event(post, fake_wire::result_text(post));
        CHECK(call->outcome == "{}");
        CHECK(ping->outcome == "{}");
    }
}
