// Cancelled calls.

#include "link_under_test.hpp"

using namespace keel;
using namespace keel::test;

namespace {

link_settings_for_test era(bool modern) {
    link_settings_for_test how;
    how.modern = modern;
    return how;
}

}  // namespace

TEST_CASE("D6: a call cancelled before it is sent leaves no trace") {
    for (bool modern : {true, false}) {
        link_under_test t(era(modern));
        t.on->stalled = true;
        auto call = t.ask("a");
        call->line.stop();
        CHECK(call->outcome == "cancelled");
        CHECK(t.on->shown() == "POST a");
        CHECK(t.on->at(0).cancelled);
        CHECK_FALSE(t.on->at(0).left);
        CHECK(t.link->open_exchanges() == 0);
    }
}

TEST_CASE("D6: a call cancelled in the turn in which it was made is not started") {
    link_under_test t(era(false));
    auto first = t.ask("first");
    std::shared_ptr<asked> second;
    t.when_heard = [&](std::string_view) {
        second = t.ask("second");
        second->line.stop();
    };
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})");
    CHECK(second->outcome == "cancelled");
    CHECK(t.on->shown() == "POST first");
    t.on->event(t.on->last(), fake_wire::result_text(t.on->last()));
    CHECK(first->outcome == "{}");
}

TEST_CASE("D7: in the modern era a call is cancelled by closing its stream, without a POST") {
    for (bool streaming : {false, true}) {
        link_under_test t(era(true));
        auto call = t.ask("a");
        if (streaming) t.on->open_stream(t.on->last());
        call->line.stop();
        CHECK(call->outcome == "cancelled");
        CHECK(t.on->shown() == "POST a");
        CHECK(t.on->last().cancelled);
        CHECK(t.link->open_exchanges() == 0);
    }
}

TEST_CASE(
    "D7, LHTTP-18: in the older era a call is cancelled by exactly one notification, and its exchange is "
    "dropped") {
    for (const char* version : legacy_versions) {
        for (bool streaming : {false, true}) {
            link_under_test t(legacy(version));
            t.shake_hands();
            auto call = t.ask("a");
            seen_request& post = t.on->last();
            if (streaming) t.on->open_stream(post);
            call->line.stop();
            CHECK(call->outcome == "cancelled");
            REQUIRE(t.on->all("POST notifications/cancelled").size() == 1);
            seen_request& cancel = t.on->last();
            CHECK(json::parse(cancel.what.body)["params"]["requestId"] == json::parse(post.id()));
            CHECK(cancel.header("Mcp-Session-Id") == "s-1");
            CHECK(post.cancelled);
            t.on->accept(cancel);
            CHECK(t.link->open_exchanges() == 0);
        }
    }
}

TEST_CASE("D7: a stalled server does not delay the cancelling caller") {
    link_under_test t(era(false));
    t.shake_hands();
    auto call = t.ask("a");
    t.on->stalled = true;
    call->line.stop();
    CHECK(call->outcome == "cancelled");
    CHECK(t.on->last().shown() == "POST notifications/cancelled");
    CHECK_FALSE(t.on->last().left);
}

TEST_CASE("D4, D7: a call that times out ends, and the server is notified as the transport requires") {
    for (bool modern : {true, false}) {
        link_under_test t(era(modern));
        if (!modern) t.shake_hands();
        auto call = t.ask("a");
        t.loop->advance(60s);
        CHECK(call->outcome == "timed out");
        CHECK(t.on->all("POST notifications/cancelled").size() == (modern ? 0 : 1));
        CHECK(t.on->all("POST a")[0]->cancelled);
    }
}

TEST_CASE("D5, B10: initialize is given up without a cancel notification, and its exchange is dropped") {
    link_under_test t(era(false));
    auto call = t.ask("initialize");
    call->line.stop();
    CHECK(t.on->shown() == "POST initialize");
    CHECK(t.on->last().cancelled);
    CHECK(t.link->open_exchanges() == 0);
}

TEST_CASE("D8, D17: a response on another stream after the cancel is dropped") {
    link_under_test t(era(false));
    t.shake_hands();
    auto one = t.ask("one");
    seen_request& first = t.on->last();
    auto two = t.ask("two");
    seen_request& second = t.on->last();
    t.on->open_stream(second);
    one->line.stop();
    t.on->event(second, fake_wire::result_text(first));
    CHECK(one->outcome == "cancelled");
    CHECK(t.reports.empty());
    t.on->event(second, fake_wire::result_text(second));
    CHECK(two->outcome == "{}");
}

TEST_CASE("a call may be cancelled in an event of its own stream, with more events behind it") {
    for (bool modern : {true, false}) {
        link_under_test t(era(modern));
        if (!modern) t.shake_hands();
        auto call = t.ask("a");
        seen_request& post = t.on->last();
        t.when_heard = [&](std::string_view) { call->line.stop(); };
        t.on->open_stream(post);
        std::string note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
        t.on->body(post, note + note + "data: " + fake_wire::result_text(post) + "\n\n");
        CHECK(call->outcome == "cancelled");
        CHECK(t.heard.size() == 1);
        CHECK(post.cancelled);
    }
}

TEST_CASE("D7: a call that waits to resume its stream is cancelled with a notification") {
    link_under_test t(era(false));
    t.shake_hands();
    auto call = t.ask("a");
    t.on->open_stream(t.on->last());
    t.on->event(t.on->last(), "", "id: 1\n");
    t.on->end(t.on->last());
    CHECK(call->ends == 0);
    call->line.stop();
    CHECK(call->outcome == "cancelled");
    CHECK(t.on->last().shown() == "POST notifications/cancelled");
    t.on->accept(t.on->last());
    t.loop->advance(10s);
    CHECK(t.on->all("GET").empty());
}

TEST_CASE("I11: a listen stream that fails is lost, one with a response has ended") {
    for (bool graceful : {true, false}) {
        link_under_test t(era(true));
        auto listen = t.ask("subscriptions/listen");
        seen_request& post = t.on->last();
        t.on->open_stream(post);
        t.on->event(post, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}})");
        CHECK(t.heard.size() == 1);
        if (graceful) t.on->event(post, fake_wire::result_text(post));
        t.on->end(post);
        CHECK(listen->outcome == (graceful ? "{}" : "stream lost"));
    }
}

TEST_CASE("I10: a listen request that the server cancels closes its stream, and nothing else") {
    link_under_test t(era(true));
    rpc::peer::call_options_with_progress options;
    options.peer_may_end = true;
    auto listen = t.ask("subscriptions/listen", "{}", options);
    seen_request& post = t.on->last();
    auto call = t.ask("a");
    seen_request& other = t.on->last();
    t.on->open_stream(post);
    t.on->event(post,
                R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + post.id() + "}}");
    CHECK(listen->outcome == "cancelled");
    CHECK(post.cancelled);
    CHECK(t.link->open_exchanges() == 1);
    CHECK(t.on->shown() == "POST subscriptions/listen, POST a");
    t.on->answer(other);
    CHECK(call->outcome == "{}");
}
