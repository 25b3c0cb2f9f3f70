// The three regressions that led to the lifecycle rules, replayed against the state machine.
// docs/design/founding-regressions.md explains how each one fails if its check is removed.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

TEST_CASE(
    "founding #2306: the end of the transport cancels running handlers, wakes nested waiters, drops late answers") {
    harness h;
    // Several handlers wait for nested answers, so that failing the waiters changes the table while others are in it.
    std::vector<serial> handlers;
    std::vector<serial> nested;
    for (int i = 0; i < 50; ++i) {
        handlers.push_back(h.request(std::to_string(i)));
        nested.push_back(h.call("sampling/createMessage", handlers.back()));
        nested.push_back(h.call("elicitation/create", handlers.back()));
    }
    h.take_log();
    h.take_tap();

    SUBCASE("stdin ends, stdout still works") {
        h.eof();
        CHECK(h.fired == 50);
        CHECK(h.delivered == 100);
        CHECK(h.core.waiting() == 0);
        CHECK(h.tap.size() == 50);  // each gets one "shutting down" error
        // The handlers wake up and fail in different ways; none of their errors are sent.
        for (serial each : handlers) h.fail(each, -32603, "sampling failed: connection closed");
        CHECK(h.tap.size() == 50);
        CHECK(h.log.back() == "closed");
    }
    SUBCASE("the peer has disconnected") {
        h.read_error("connection reset");
        CHECK(h.fired == 50);
        CHECK(h.delivered == 100);
        for (serial each : handlers) h.fail(each, -32603, "sampling failed: connection closed");
        CHECK(h.tap.empty());
        CHECK(h.log.back() == "closed: connection reset");
    }
    SUBCASE("the peer has closed only its read end") {
        h.write_error("broken pipe");
        CHECK(h.fired == 50);
        CHECK(h.delivered == 100);
        for (serial each : handlers) h.finish(each);
        CHECK(h.tap.empty());
        CHECK(h.log.back() == "closed: broken pipe");
    }
    // The event itself woke them: no time had to pass, and no handler was joined before its token was triggered.
    for (serial each : nested) {
        std::string prefix = "deliver " + std::to_string(each) + " closed: connection closed";
        bool woken = std::any_of(h.log.begin(), h.log.end(),
                                 [&](const std::string& entry) { return entry.starts_with(prefix); });
        REQUIRE(woken);
    }
}

TEST_CASE("founding #2306: cleanup runs to its end before the connection reports closed") {
    harness h;
    serial one = h.request("1");
    h.eof();
    CHECK(h.logged("fire 1 shutdown: server shutting down"));
    h.advance(1900ms);  // cleanup that itself waits
    CHECK(!h.core.closed());
    h.end_quietly(one);
    CHECK(h.core.closed());
}

TEST_CASE("founding #2334: a cancel between the handler's return and its answer affects no other request") {
    harness h;
    std::vector<serial> others;
    for (int i = 2; i < 10; ++i) others.push_back(h.request(std::to_string(i)));
    serial one = h.request("1");
    // The handler has returned; the cancel is read before its result is delivered.
    h.cancel("1");
    h.finish(one, R"({"v":1})");
    CHECK(h.answers_to("1") == 0);

    // The opposite order: the answer is final but still queued.
    serial two = h.request("1");
    h.stall();
    h.finish(two, R"({"v":2})");
    h.cancel("1");
    h.finish(two, R"({"v":3})");
    h.resume();
    CHECK(h.answers_to("1") == 0);

    CHECK(!h.core.closing());
    for (serial each : others) h.finish(each);
    CHECK(h.tap.size() == others.size());
}

TEST_CASE("founding #2334: invalid UTF-8 is answered and the connection continues") {
    harness h;
    serial one = h.request("1");
    h.feed("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{\"text\":\"\xff\xfe\"}}");
    h.feed("\x80\x81\x82");
    REQUIRE(h.tap.size() == 2);
    for (const std::string& frame : h.tap) CHECK(frame.starts_with(R"({"jsonrpc":"2.0","error":{"code":-32700,)"));
    CHECK(h.invocations() == 1);
    h.take_tap();
    h.finish(one);
    h.finish(h.request("3"));
    CHECK(h.tap == lines{result_line("1"), result_line("3")});
}

TEST_CASE("founding #2502: every kind of message is dropped by a closed peer and sent by an open one") {
    harness h;
    serial one = h.request("1", "work", with_token("1"));
    auto send_everything = [&] {
        h.progress(one, static_cast<double>(h.core.count().received + h.core.count().dropped_late + h.tap.size()));
        h.say(one, "log");
        h.say(one, "other", false);
        CHECK(h.notify("notifications/resources/list_changed"));
        h.abandon(h.call("ask"), "no longer wanted");
    };
    send_everything();
    CHECK(h.take_tap().size() == 6);

    h.write_error("broken pipe");
    auto before = h.core.count().dropped_late;
    send_everything();
    h.finish(one);
    send_everything();
    CHECK(h.tap.empty());
    CHECK(h.core.queued_bytes() == 0);
    CHECK(h.core.count().dropped_late - before == 9);
    CHECK(h.call("ask") == 0);
    CHECK(h.refused.kind == error_kind::closed);
    CHECK(h.log.back() == "closed: broken pipe");
}
