// A server that loses its session (D18).

#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// What a client does when its session is lost.
void renew(link_under_test& t, std::string_view session = "s-2") {
    t.link->speak(false, "");
    auto opening = t.ask("initialize");
    REQUIRE(t.on->last().shown() == "POST initialize");
    CHECK_FALSE(t.on->last().has("Mcp-Session-Id"));  // LHTTP-11
    t.on->answer(t.on->last(), "{}", {{"mcp-session-id", std::string(session)}});
    REQUIRE(opening->ends == 1);
    t.speak(false, t.version);
    t.peer->notify("notifications/initialized", "{}", false);
    t.link->session_renewed(true);
    auto& initialized = *t.on->all("POST notifications/initialized").back();
    CHECK(initialized.header("Mcp-Session-Id") == session);
    t.on->accept(initialized);
}

/// The open requests get a response that the session is unknown.
void refuse_all(link_under_test& t, std::string_view shown) {
    for (seen_request* each : t.on->all(shown)) {
        if (each->open()) t.on->reply(*each, 404, "", "");
    }
}

}  // namespace

TEST_CASE("D18, LHTTP-11: after a 404 the request is sent once more, in a new session") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        auto call = t.ask("a", R"({"x":1})");
        std::string body = t.on->last().what.body;
        t.on->reply(t.on->last(), 404, "text/plain", "no such session");
        CHECK(t.sessions_lost == 1);
        CHECK(call->ends == 0);
        renew(t);
        REQUIRE(t.on->all("POST a").size() == 2);
        seen_request& again = *t.on->all("POST a")[1];
        CHECK(again.what.body == body);
        CHECK(again.header("Mcp-Session-Id") == "s-2");
        t.on->answer(again, R"({"done":true})");
        CHECK(call->outcome == R"({"done":true})");
    }
}

TEST_CASE("D18: ten requests that get a 404 open one new session, and each is sent once more") {
    link_under_test t(legacy());
    t.shake_hands();
    std::vector<std::shared_ptr<asked>> calls;
    for (int i = 0; i < 10; ++i) calls.push_back(t.ask("a"));
    auto posts = t.on->all("POST a");
    // Some before the new session exists, some after its initialize was answered.
    for (std::size_t i = 0; i < 6; ++i) t.on->reply(*posts[i], 404, "", "");
    t.link->speak(false, "");
    auto opening = t.ask("initialize");
    seen_request& initialize = t.on->last();
    for (std::size_t i = 6; i < 8; ++i) t.on->reply(*posts[i], 404, "", "");
    t.on->answer(initialize, "{}", {{"mcp-session-id", "s-2"}});
    t.speak(false, legacy_version);
    for (std::size_t i = 8; i < 10; ++i) t.on->reply(*posts[i], 404, "", "");
    t.peer->notify("notifications/initialized", "{}", false);
    t.link->session_renewed(true);
    t.on->accept(*t.on->all("POST notifications/initialized").back());
    CHECK(t.sessions_lost == 1);
    CHECK(t.on->all("POST initialize").size() == 2);
    posts = t.on->all("POST a");
    REQUIRE(posts.size() == 20);
    for (std::size_t i = 10; i < 20; ++i) {
        CHECK(posts[i]->header("Mcp-Session-Id") == "s-2");
        t.on->answer(*posts[i]);
    }
    for (const auto& each : calls) CHECK(each->outcome == "{}");
}

TEST_CASE("D18: requests that the server had started fail, those it may have rejected wait for the renewal") {
    link_under_test t(legacy());
    t.shake_hands();
    auto refused = t.ask("refused");
    auto streaming = t.ask("streaming");
    auto answered = t.ask("answered");
    auto silent = t.ask("silent");
    t.on->open_stream(*t.on->all("POST streaming")[0]);
    t.on->reply(*t.on->all("POST refused")[0], 404, "", "");
    CHECK(streaming->outcome == "session lost");
    CHECK(t.on->all("POST streaming")[0]->cancelled);
    CHECK(silent->ends == 0);
    t.on->answer(*t.on->all("POST answered")[0], R"({"after":"all"})");
    CHECK(answered->outcome == R"({"after":"all"})");  // the correct outcome
    renew(t);
    CHECK(silent->outcome == "session lost");
    CHECK(t.on->all("POST silent")[0]->cancelled);
    t.on->answer(*t.on->all("POST refused")[1]);
    CHECK(refused->outcome == "{}");
}

TEST_CASE("D18: requests made meanwhile wait, and unsent ones are not lost") {
    link_under_test t(legacy());
    t.shake_hands();
    auto first = t.ask("first");
    t.on->stalled = true;
    auto unsent = t.ask("unsent");
    t.on->stalled = false;
    t.on->reply(*t.on->all("POST first")[0], 404, "", "");
    CHECK(t.on->all("POST unsent")[0]->cancelled);
    auto meanwhile = t.ask("meanwhile");
    t.peer->notify("notifications/meanwhile", "{}");
    CHECK(t.on->all("POST meanwhile").empty());
    auto changed_mind = t.ask("changed_mind");
    changed_mind->line.stop();  // D6: it was not written
    renew(t);
    for (auto [method, count] : {std::pair("first", 2u), std::pair("unsent", 2u), std::pair("meanwhile", 1u)}) {
        auto posts = t.on->all(std::string("POST ") + method);
        REQUIRE(posts.size() == count);
        CHECK(posts.back()->header("Mcp-Session-Id") == "s-2");
        t.on->answer(*posts.back());
    }
    CHECK(t.on->all("POST notifications/meanwhile").size() == 1);
    CHECK(t.on->all("POST changed_mind").empty());
    CHECK(t.on->all("POST notifications/cancelled").empty());
    CHECK(first->outcome == "{}");
    CHECK(unsent->outcome == "{}");
    CHECK(meanwhile->outcome == "{}");
}

TEST_CASE("D18: a second 404 for the same request fails it") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "");
    renew(t);
    t.on->reply(*t.on->all("POST a")[1], 404, "", "");
    CHECK(call->outcome == "session lost");
    CHECK(t.sessions_lost == 1);
    // Another request starts a new attempt.
    auto next = t.ask("b");
    t.on->reply(t.on->last(), 404, "", "");
    CHECK(t.sessions_lost == 2);
    renew(t, "s-3");
    t.on->answer(*t.on->all("POST b")[1]);
    CHECK(next->outcome == "{}");
}

TEST_CASE("D18: without a new session waiting requests fail, and the next request tries again") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "");
    auto meanwhile = t.ask("b");
    auto opening = t.ask("initialize");
    t.on->fail(t.on->last(), http_client::transfer_failure::not_sent, "refused");
    CHECK(opening->outcome == "unavailable");
    t.link->session_renewed(false);
    CHECK(call->outcome == "session lost");
    CHECK(meanwhile->outcome == "session lost");
    auto later = t.ask("c");
    CHECK(t.on->last().header("Mcp-Session-Id") == "s-1");
    t.on->reply(t.on->last(), 404, "", "");
    CHECK(t.sessions_lost == 2);
    renew(t);
    t.on->answer(*t.on->all("POST c")[1]);
    CHECK(later->outcome == "{}");
}

TEST_CASE("D18: the new session may be opened inside the callback that reports the loss") {
    link_under_test t(legacy());
    t.shake_hands();
    std::shared_ptr<asked> opening;
    t.when_session_lost = [&] { opening = t.ask("initialize"); };
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "");
    REQUIRE(t.on->last().shown() == "POST initialize");
    t.on->answer(t.on->last());  // the server has no sessions now
    t.peer->notify("notifications/initialized", "{}", false);
    t.link->session_renewed(true);
    t.on->accept(t.on->last());
    seen_request& again = *t.on->all("POST a")[1];
    CHECK_FALSE(again.has("Mcp-Session-Id"));
    t.on->answer(again);
    CHECK(call->outcome == "{}");
}

TEST_CASE("D18: requests in the new session do not wait for the end of the renewal") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "");
    auto opening = t.ask("initialize");
    t.on->answer(t.on->last(), "{}", {{"mcp-session-id", "s-2"}});
    t.speak(false, legacy_version);
    t.peer->notify("notifications/initialized", "{}", false);
    t.link->session_opened();
    auto level = t.ask("logging/setLevel");
    t.on->accept(*t.on->all("POST notifications/initialized").back());
    t.on->answer(*t.on->all("POST logging/setLevel").back());
    CHECK(level->outcome == "{}");
    t.link->session_renewed(true);
    REQUIRE(t.on->all("POST a").size() == 2);
    t.on->answer(*t.on->all("POST a")[1]);
    CHECK(call->outcome == "{}");
    CHECK(t.on->all("GET").size() == 1);
}

TEST_CASE("D18: a 404 for a notification or a response reports the loss, too") {
    link_under_test t(legacy());
    t.shake_hands();
    t.peer->notify("notifications/x", "{}");
    t.on->reply(t.on->last(), 404, "", "");
    CHECK(t.sessions_lost == 1);
    renew(t);
    CHECK(t.on->all("POST notifications/x").size() == 2);
    t.on->accept(*t.on->all("POST notifications/x")[1]);
}

TEST_CASE("a 404 without a session, for initialize, or in the modern era is only a 404") {
    {
        link_under_test t(legacy());
        auto opening = t.ask("initialize");
        t.on->reply(t.on->last(), 404, "", "");
        CHECK(opening->http_status == 404);
        t.shake_hands("");
        auto call = t.ask("a");
        t.on->reply(t.on->last(), 404, "", "");
        CHECK(call->outcome == "rejected 0: HTTP 404 Not Found");
        CHECK(t.sessions_lost == 0);
    }
    link_under_test t;
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "", {{"mcp-session-id", "x"}});
    CHECK(call->outcome == "rejected 0: HTTP 404 Not Found");
    CHECK(t.sessions_lost == 0);
}

TEST_CASE("D18: a link that closes while its session is being renewed is closed") {
    link_under_test t(legacy());
    t.shake_hands();
    auto call = t.ask("a");
    t.on->reply(t.on->last(), 404, "", "");
    auto meanwhile = t.ask("b");
    t.peer->close();
    CHECK(call->outcome == "connection closed");
    CHECK(meanwhile->outcome == "connection closed");
    t.link->session_renewed(true);
    CHECK(t.on->all("POST b").empty());
}

TEST_CASE("D18, B15: requests of the server in a lost session are cancelled, and the next one may reuse their ids") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        t.link->session_opened();
        t.on->open_stream(t.on->last());
        std::vector<rpc::serial> asked;
        std::vector<std::shared_ptr<rpc::request>> open;
        t.when_asked = [&](rpc::serial request, std::string_view) {
            asked.push_back(request);
            open.push_back(t.peer->open_request(request));
        };
        const char* const question = R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})";
        t.on->event(t.on->last(), question);
        REQUIRE(asked.size() == 1);
        t.ask("a");
        t.on->reply(t.on->last(), 404, "", "");
        CHECK(open[0]->token().stop_requested());
        renew(t);
        t.on->answer(*t.on->all("POST a").back());
        REQUIRE(t.on->all("GET").size() == 2);
        seen_request& stream = *t.on->all("GET").back();
        t.on->open_stream(stream);
        t.on->event(stream, question);
        REQUIRE(asked.size() == 2);
        // Responses to the first one are ignored.
        t.peer->finish(asked[0], R"({"roots":[1]})");
        CHECK(t.on->all("POST result").empty());
        t.peer->finish(asked[1], R"({"roots":[2]})");
        REQUIRE(t.on->all("POST result").size() == 1);
        CHECK(t.on->last().what.body.find("[2]") != std::string::npos);
        CHECK(t.on->last().header("Mcp-Session-Id") == "s-2");
        t.on->accept(t.on->last());
    }
}

TEST_CASE("D18: a server that rejects every session it creates is tried a few times, not forever") {
    link_under_test t(legacy());
    t.shake_hands();
    int session = 2;
    for (int i = 0; i < 20; ++i) {
        auto call = t.ask("a");
        seen_request& post = *t.on->all("POST a").back();
        const int before = t.sessions_lost;
        t.on->reply(post, 404, "", "");
        if (t.sessions_lost == before) {
            CHECK(call->outcome == "session lost");  // no new session was requested
            CHECK(t.sessions_lost == 2);
            return;
        }
        renew(t, "s-" + std::to_string(session++));  // the server accepts its handshake
        t.on->reply(*t.on->all("POST a").back(), 404, "", "");
    }
    FAIL("it did not stop");
}

TEST_CASE("D18: the request for a new session does not wait for connections of calls in the old one") {
    link_under_test t(legacy());
    t.shake_hands();
    t.ask("a");
    CHECK_FALSE(t.on->last().what.urgent);
    t.on->reply(t.on->last(), 404, "", "");
    t.link->speak(false, "");
    auto opening = t.ask("initialize");
    CHECK(t.on->last().what.urgent);
    t.on->answer(t.on->last(), "{}", {{"mcp-session-id", "s-2"}});
    t.speak(false, legacy_version);
    t.peer->notify("notifications/initialized", "{}", false);
    t.link->session_renewed(true);
    t.on->accept(*t.on->all("POST notifications/initialized").back());
    t.on->answer(*t.on->all("POST a").back());
}

TEST_CASE("D18: a handshake that meets a lost session is not completed in the next one, which has its own") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.link->speak(false, "");
        auto opening = t.ask("initialize");
        t.on->answer(t.on->last(), "{}", {{"mcp-session-id", "s-1"}});
        t.speak(false, version);
        t.peer->notify("notifications/initialized", "{}", false);
        auto call = t.ask("a");
        t.on->reply(*t.on->all("POST notifications/initialized")[0], 404, "", "");
        CHECK(t.on->all("POST a").empty());  // the server would refuse it
        CHECK(t.sessions_lost == 1);
        CHECK(call->ends == 0);
        renew(t);
        CHECK(t.on->all("POST notifications/initialized").size() == 2);  // one for each session
        t.on->answer(*t.on->all("POST a").back());
        CHECK(call->outcome == "{}");
    }
}

TEST_CASE("D18: a server that rejects every session it creates is tried twice more, and again by the next call") {
    for (const char* version : legacy_versions) {
        link_under_test t(legacy(version));
        t.shake_hands();
        int given = 1;
        // A new session that the server no longer knows at its first message.
        auto renew_in_vain = [&] {
            t.link->speak(false, "");
            auto opening = t.ask("initialize");
            t.on->answer(t.on->last(), "{}", {{"mcp-session-id", "s-" + std::to_string(++given)}});
            t.speak(false, t.version);
            t.peer->notify("notifications/initialized", "{}", false);
            t.link->session_renewed(true);
            t.on->reply(*t.on->all("POST notifications/initialized").back(), 404, "", "");
            refuse_all(t, "POST a");
        };
        auto call = t.ask("a");
        t.on->reply(t.on->last(), 404, "", "");
        for (int renewed = 0; t.sessions_lost > renewed && renewed < 10; ++renewed) renew_in_vain();
        CHECK(t.sessions_lost == 2);
        CHECK(call->outcome == "session lost");
        CHECK(t.on->open() == 0);

        auto next = t.ask("b");
        t.on->reply(t.on->last(), 404, "", "");
        CHECK(t.sessions_lost == 3);
        renew(t, "s-last");
        t.on->answer(*t.on->all("POST b").back());
        CHECK(next->outcome == "{}");
    }
}

TEST_CASE("D18: a session in which the server accepted a request counts: each one may be renewed") {
    link_under_test t(legacy());
    t.shake_hands();
    for (int i = 0; i < 10; ++i) {
        auto call = t.ask("a");
        t.on->reply(t.on->last(), 404, "", "");
        CHECK(t.sessions_lost == i + 1);
        renew(t, "s-" + std::to_string(i + 2));
        t.on->answer(*t.on->all("POST a").back());
        CHECK(call->outcome == "{}");
    }
}
