// Rules B: the peer cancels a request. B20: the same rules apply to both roles.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

// Runs the body for a server whose client cancels, then for a client whose server cancels (B20).
template <class Body>
void in_both_roles(Body body) {
    for (role r : {role::server, role::client}) {
        CAPTURE(static_cast<int>(r));
        body(r);
    }
}

}  // namespace

TEST_CASE("B1, B20: a request cancelled before its handler could run is never invoked") {
    in_both_roles([](role r) {
        harness h(r);
        h.hold_starts = true;
        h.request("1");
        h.cancel("1");
        h.release_starts();
        CHECK(h.invocations() == 0);
        CHECK(h.tap.empty());
        h.finish(h.request("2"));
        CHECK(h.tap == lines{result_line("2")});
    });
}

TEST_CASE("B2, B20: a cancel triggers the handler's token in the same turn, and nothing is written") {
    in_both_roles([](role r) {
        harness h(r);
        serial one = h.request("1");
        h.cancel("1");
        CHECK(h.log == lines{"start 1 work", "fire 1 peer"});
        h.end_quietly(one);
        CHECK(h.tap.empty());
        h.finish(h.request("2"));
        CHECK(h.tap == lines{result_line("2")});
    });
}

TEST_CASE("B3, B20: a cancel between the handler's return and its answer wins; afterwards it withdraws") {
    in_both_roles([](role r) {
        {
            harness h(r);
            serial one = h.request("1");
            h.cancel("1");  // the handler has returned; its result has not been passed to finish yet
            h.finish(one, R"({"v":1})");
            CHECK(h.tap.empty());
            CHECK(h.core.count().dropped_late == 1);
        }
        {
            harness h(r);
            h.stall();
            h.finish(h.request("1"), R"({"v":1})");
            h.cancel("1");
            h.resume();
            CHECK(h.tap.empty());
            CHECK(h.core.count().withdrawn == 1);
        }
    });
}

TEST_CASE("B4, B20: queued frames of a cancelled request are withdrawn, those of others stay in order") {
    in_both_roles([](role r) {
        harness h(r);
        serial one = h.request("1", "work", with_token("1"));
        serial two = h.request("2", "work", with_token("2"));
        h.stall();
        h.progress(two, 1);
        h.progress(one, 1);
        h.say(one, "x");
        h.progress(two, 2);
        h.finish(one);
        h.finish(two);
        h.cancel("1");
        h.resume();
        CHECK(h.tap == lines{progress_line("2", "1"), progress_line("2", "2"), result_line("2")});
    });
}

TEST_CASE("B4, A8: if an id was reused before its first answer was written, a cancel withdraws the newer answer") {
    in_both_roles([](role r) {
        harness h(r);
        h.stall();
        h.finish(h.request("1"), R"({"n":1})");
        h.finish(h.request("1"), R"({"n":2})");
        h.cancel("1");
        h.resume();
        CHECK(h.tap == lines{result_line("1", R"({"n":1})")});
    });
}

TEST_CASE("B4: frames of a request that still runs are withdrawn too") {
    harness h;
    serial one = h.request("1", "work", with_token("1"));
    h.stall();
    h.progress(one, 1);
    h.say(one, "x");
    h.cancel("1");
    CHECK(h.core.queued_bytes() == 0);
    h.resume();
    CHECK(h.tap.empty());
    h.end_quietly(one);
}

TEST_CASE("B4: an answer of the library itself is withdrawn like any other") {
    harness h(role::server, limits_with([](limits& l) { l.max_in_flight = 0; }));
    h.stall();
    h.request("1");
    h.feed(R"({"jsonrpc":"2.0","id":2,"method":"work","params":7})");
    h.cancel("1");
    h.cancel("2");
    h.resume();
    CHECK(h.tap.empty());
}

TEST_CASE("B4: after the last queued frame is withdrawn, no write timeout runs and reading is not paused") {
    limits l;
    l.out_queue = 200;
    l.out_queue_soft = 100;
    harness h(role::server, l);
    h.stall();
    h.finish(h.request("1"), R"({"text":")" + std::string(300, 'x') + "\"}");
    CHECK(h.sink.wants_pause());
    h.cancel("1");
    CHECK(h.core.queued_bytes() == 0);
    CHECK(!h.sink.wants_pause());
    CHECK(!h.core.next_deadline());
    h.advance(1h);  // nothing is queued, so the peer is not stalled (C11)
    CHECK(!h.core.closed());
}

TEST_CASE("J1: parked progress is sent when fewer bytes than the soft mark are queued") {
    limits l;
    l.out_queue_soft = 100;
    harness h(role::server, l);
    serial one = h.request("1", "work", with_token("1"));
    serial two = h.request("2");
    h.stall();
    h.finish(two, R"({"text":")" + std::string(300, 'x') + "\"}");
    h.progress(one, 1);
    h.accept(h.core.queued_bytes() - 100);
    CHECK(h.core.queued_bytes() == 100);
    h.accept(1);
    CHECK(h.core.queued_bytes() == 99 + progress_line("1", "1").size() + 1);
    h.resume();
    h.finish(one);
}

TEST_CASE("B4: a withdrawal makes room for parked progress") {
    limits l;
    l.out_queue_soft = 100;
    harness h(role::server, l);
    serial two = h.request("2", "work", with_token("2"));
    h.stall();
    h.finish(h.request("1"), R"({"text":")" + std::string(300, 'x') + "\"}");
    h.progress(two, 1);  // waits for room
    h.cancel("1");
    h.resume();
    CHECK(h.tap == lines{progress_line("2", "1")});
    h.finish(two);
}

TEST_CASE("B5, B20: an answer whose write has begun is completed intact, at every byte") {
    in_both_roles([](role r) {
        const std::string answer = result_line("1", R"({"v":1})");
        for (std::size_t n = 0; n <= answer.size() + 1; ++n) {
            CAPTURE(n);
            harness h(r);
            serial two = h.request("2");
            h.stall();
            h.finish(h.request("1"), R"({"v":1})");
            h.accept(n);
            h.cancel("1");
            h.finish(two);
            h.resume();
            lines expected = n == 0 ? lines{result_line("2")} : lines{answer, result_line("2")};
            CHECK(h.tap == expected);
        }
    });
}

TEST_CASE("B6, B20: a cancel after the answer was written is ignored") {
    in_both_roles([](role r) {
        harness h(r);
        h.finish(h.request("1"));
        h.take_log();
        h.cancel("1");
        CHECK(h.log.empty());
        CHECK(h.tap == lines{result_line("1")});
    });
}

TEST_CASE("B7: a cancel for an unknown id is ignored and does not affect later requests with that id") {
    harness h;
    h.cancel("99");
    CHECK(h.log.empty());
    h.finish(h.request("99"));
    CHECK(h.tap == lines{result_line("99")});
}

TEST_CASE("B8: a cancel that is repeated a thousand times triggers the token once") {
    harness h;
    serial one = h.request("1");
    for (int i = 0; i < 1000; ++i) h.cancel("1");
    CHECK(h.fired == 1);
    h.end_quietly(one);
    for (int i = 0; i < 1000; ++i) h.cancel("1");
    CHECK(h.fired == 1);
    CHECK(h.tap.empty());
}

TEST_CASE("B9: a cancel without a valid id is ignored; true is not 1") {
    harness h;
    serial one = h.request("1");
    for (std::string params : {"{}", R"({"requestId":null})", R"({"requestId":true})", R"({"requestId":1.5})",
                               R"({"requestId":1.0})", R"({"requestId":{"id":1}})", R"({"requestId":[1]})",
                               R"({"requestId":"1"})", R"({"id":1})", "[1]", "1", "null"}) {
        CAPTURE(params);
        h.feed(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)" + params + "}");
        CHECK(h.core.is_open(one));
    }
    h.feed(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
    h.finish(one);
    CHECK(h.tap == lines{result_line("1")});
}

TEST_CASE("B9: a cancel sent as a request is not a cancel") {
    harness h;
    serial one = h.request("1");
    serial other = h.request("2", "notifications/cancelled", R"({"requestId":1})");
    CHECK(h.core.is_open(one));
    h.fail(other, -32601, "no such method");
    h.finish(one);
    CHECK(h.answers_to("1") == 1);
}

TEST_CASE("B10: a shielded request ignores a cancel, before and after its answer is queued") {
    for (bool answered : {false, true}) {
        CAPTURE(answered);
        harness h;
        serial init = h.request("0", "initialize");
        h.shield(init);
        h.stall();
        if (!answered) h.cancel("0");
        CHECK(h.fired == 0);
        h.finish(init, R"({"protocolVersion":"2025-11-25"})");
        if (answered) h.cancel("0");
        h.resume();
        CHECK(h.tap == lines{result_line("0", R"({"protocolVersion":"2025-11-25"})")});
    }
}

TEST_CASE("B10, D5: no cancel is sent for initialize, whether it times out or is abandoned") {
    for (bool times_out : {true, false}) {
        CAPTURE(times_out);
        harness h(role::client);
        serial init = h.call("initialize");
        CHECK(h.take_tap().size() == 1);
        if (times_out) {
            h.advance(60s);
            CHECK(h.log == lines{"deliver " + std::to_string(init) + " timed out: no answer or progress within 60 s"});
        } else {
            h.abandon(init);
        }
        CHECK(h.tap.empty());
        CHECK(h.core.waiting() == 0);
    }
}

TEST_CASE("B11: messages of a handler after the cancel are discarded") {
    harness h;
    serial one = h.request("1", "work", with_token("1"));
    h.cancel("1");
    for (int i = 1; i <= 100; ++i) {
        h.progress(one, i);
        h.say(one, "still here");
        h.say(one, "and here", false);
    }
    CHECK(h.tap.empty());
    CHECK(h.core.queued_bytes() == 0);
    CHECK(h.core.count().dropped_late == 300);
    CHECK(!h.core.wants_progress(one));
    h.end_quietly(one);
}

TEST_CASE(
    "B12: nested requests of a cancelled request fail at once, the peer is notified of each, new ones are refused") {
    harness h;
    serial one = h.request("1");
    serial two = h.request("2");
    serial a = h.call("sampling/createMessage", one);
    serial b = h.call("elicitation/create", one);
    serial other = h.call("roots/list", two);
    h.take_tap();
    h.take_log();
    h.cancel("1");
    CHECK(h.logged("deliver " + std::to_string(a) + " cancelled: cancelled"));
    CHECK(h.logged("deliver " + std::to_string(b) + " cancelled: cancelled"));
    const char* why = "the request that asked was cancelled";
    CHECK(h.take_tap() == lines{cancel_line(std::to_string(a), why), cancel_line(std::to_string(b), why)});
    CHECK(h.call("sampling/createMessage", one) == 0);
    CHECK(h.refused.kind == error_kind::cancelled);
    CHECK(h.tap.empty());
    CHECK(h.core.waiting() == 1);
    h.feed(result_line(std::to_string(other)));
    h.end_quietly(one);
    h.finish(two);
}

TEST_CASE("B12: nested requests that were not sent yet are withdrawn instead") {
    harness h;
    serial one = h.request("1");
    h.stall();
    h.call("sampling/createMessage", one);
    h.cancel("1");
    h.resume();
    CHECK(h.tap.empty());
    CHECK(h.delivered == 1);
    h.end_quietly(one);
}

TEST_CASE("B13: a handler that throws after the cancel writes nothing") {
    harness h;
    serial one = h.request("1");
    h.cancel("1");
    h.fail(one, -32000, "too late");
    CHECK(h.tap.empty());
    CHECK(h.core.count().dropped_late == 1);
}

TEST_CASE("B14: a handler that ignores its token and returns an hour later writes nothing and is freed") {
    harness h;
    serial one = h.request("1");
    h.cancel("1");
    h.advance(1h);
    CHECK(h.core.running() == 1);
    h.finish(one, R"({"late":true})");
    CHECK(h.tap.empty());
    CHECK(h.core.running() == 0);
}

TEST_CASE("B15: cleanup that ends in time is awaited; other cleanup is abandoned after the grace time") {
    for (bool in_time : {true, false}) {
        CAPTURE(in_time);
        harness h;
        serial one = h.request("1");
        h.eof();
        h.advance(1999ms);
        CHECK(!h.core.closed());
        if (in_time) {
            h.end_quietly(one);
            CHECK(h.core.closed());
            CHECK(h.log.back() == "closed");
        } else {
            h.advance(1ms);
            CHECK(h.core.closed());
            CHECK(h.log.back() == "closed, 1 abandoned");
            h.finish(one);  // its end affects nothing else
        }
    }
}

TEST_CASE("B16: of a hundred requests every other one is cancelled; the other fifty are answered") {
    harness h;
    std::vector<serial> all;
    for (int i = 0; i < 100; ++i) all.push_back(h.request(std::to_string(i)));
    for (int i = 0; i < 100; i += 2) h.cancel(std::to_string(i));
    CHECK(h.fired == 50);
    for (serial each : all) h.finish(each);
    CHECK(h.tap.size() == 50);
    for (int i = 0; i < 100; ++i) CHECK(h.answers_to(std::to_string(i)) == static_cast<std::size_t>(i % 2));
}

TEST_CASE("B17: the reason of a cancel reaches the handler, truncated and escaped") {
    harness h;
    serial one = h.request("1");
    serial two = h.request("2");
    serial three = h.request("3");
    h.take_log();
    h.cancel("1", "user pressed stop");
    h.cancel("2", R"(a\u001b[31mb\nc)");
    h.cancel("3", std::string(100'000, 'x'));
    REQUIRE(h.log.size() == 3);
    CHECK(h.log[0] == "fire 1 peer: user pressed stop");
    CHECK(h.log[1] == R"(fire 2 peer: a\x1b[31mb\x0ac)");
    CHECK(h.log[2] == "fire 3 peer: " + std::string(200, 'x') + "…");
    for (serial each : {one, two, three}) h.end_quietly(each);
}

TEST_CASE("B17: a reason that is not a string is ignored, and the cancel is valid") {
    harness h;
    serial one = h.request("1");
    h.feed(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":{"x":1}}})");
    CHECK(h.log.back() == "fire 1 peer");
    h.end_quietly(one);
}

TEST_CASE("B21: a cancel from the server for our request does not end our wait") {
    harness h(role::client);
    h.core.accept_requests(false);
    serial call = h.call();
    h.cancel(std::to_string(call));
    CHECK(h.core.waiting() == 1);
    h.feed(result_line(std::to_string(call), R"({"v":1})"));
    CHECK(h.log == lines{"deliver " + std::to_string(call) + R"( {"v":1})"});
}
