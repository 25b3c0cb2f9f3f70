// Rules F for the state machine: what handlers return, and how many may run.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

TEST_CASE("F2: a protocol error of the handler is sent with its code, message and data unchanged") {
    harness h;
    h.fail(h.request("1"), 42, "no such \"row\"", json::parse(R"({"row":[1,null,"x"]})"));
    h.fail(h.request("2"), -2147483648, "");
    CHECK(h.tap[0] ==
          R"({"jsonrpc":"2.0","id":1,"error":{"code":42,"message":"no such \"row\"","data":{"row":[1,null,"x"]}}})");
    CHECK(h.tap[1] == error_line("2", -2147483648, ""));
}

TEST_CASE("F2: an error whose message or data cannot be expressed in JSON is still sent") {
    harness h;
    h.fail(h.request("1"), -32000, "\xff");
    h.fail(h.request("2"), -32000, "x", json::object({{"d", std::numeric_limits<double>::infinity()}}));
    CHECK(h.tap == lines{error_line("1", -32000, "error message is not UTF-8"), error_line("2", -32000, "x")});
}

TEST_CASE("F3: a missing or too large result is answered with an internal error") {
    harness h(role::server, limits_with([](limits& l) { l.max_message = 100; }));
    h.finish(h.request("1"), "");
    h.finish(h.request("2"), R"({"x":")" + std::string(100, 'x') + "\"}");
    CHECK(h.tap == lines{error_line("1", -32603, "no result"), error_line("2", -32603, "result too large")});
}

TEST_CASE("F4: an abandoned handler may continue and end at any time; nothing of it is written") {
    harness h;
    serial one = h.request("1", "work", with_token("1"));
    h.write_error();
    h.advance(2s);
    CHECK(h.log.back() == "closed: EPIPE, 1 abandoned");
    CHECK(h.budget->used == 0);
    h.progress(one, 1);
    h.say(one, "x");
    CHECK(h.call("ask", one) == 0);
    CHECK(!h.core.is_open(one));
    h.finish(one);
    CHECK(h.tap.empty());
    CHECK(h.core.count().dropped_late == 3);
}

TEST_CASE("F7: a request context used after its request has ended drops messages and fails requests") {
    harness h;
    serial one = h.request("1", "work", with_token("1"));
    h.finish(one);
    h.take_tap();
    h.progress(one, 1);
    h.say(one, "x", false);
    CHECK(h.call("ask", one) == 0);
    CHECK(h.refused.kind == error_kind::cancelled);
    CHECK(!h.core.is_open(one));
    CHECK(!h.core.wants_progress(one));
    h.core.shield(one);
    CHECK(h.tap.empty());
}

TEST_CASE("F8: requests beyond the limit are answered at once; cancels and nested answers are still processed") {
    harness h(role::server, limits_with([](limits& l) { l.out_queue_soft = l.out_queue = 1 << 30; }));
    std::vector<serial> parked;
    for (int i = 0; i < 256; ++i) parked.push_back(h.request(std::to_string(i)));
    serial nested = h.call("ask", parked[0]);
    h.take_tap();
    for (int i = 256; i < 10'000; ++i) CHECK(h.request(std::to_string(i)) == 0);
    CHECK(h.core.running() == 256);
    CHECK(h.tap.size() == 10'000 - 256);
    CHECK(
        h.tap[0] ==
        R"({"jsonrpc":"2.0","id":256,"error":{"code":-32603,"message":"too many requests in flight","data":{"reason":"overloaded"}}})");
    CHECK(h.core.count().overloaded == 10'000 - 256);
    h.cancel("7");
    CHECK(!h.core.is_open(parked[7]));
    h.feed(result_line(std::to_string(nested)));
    CHECK(h.core.waiting() == 0);
    for (serial each : parked) h.finish(each);
    h.finish(h.request("10000"));
    CHECK(h.answers_to("10000") == 1);
    CHECK(h.answers_to("7") == 0);
}

TEST_CASE("F8: a cancelled handler counts until it ends") {
    harness h(role::server, limits_with([](limits& l) { l.max_in_flight = 1; }));
    serial one = h.request("1");
    h.cancel("1");
    CHECK(h.request("2") == 0);
    h.end_quietly(one);
    h.finish(h.request("3"));
    CHECK(h.answers_to("3") == 1);
}

TEST_CASE("F8: all connections together stay within the budget, and release it when they end") {
    auto budget = std::make_shared<flight_budget>();
    budget->limit = 3;
    std::vector<action> actions;
    {
        byte_stream_sink sink(role::server, {});
        peer_core a(role::server, {}, sink, budget);
        peer_core b(role::server, {}, sink, budget);
        a.on_line(request_line("1"));
        a.on_line(request_line("2"));
        b.on_line(request_line("1"));
        b.on_line(request_line("2"));
        CHECK(budget->used == 3);
        CHECK(b.count().overloaded == 1);
        b.take_actions(actions);
        serial one = std::get<start_handler>(actions.at(0)).request;
        CHECK(b.begin(one));
        b.finish(one, "{}");
        CHECK(budget->used == 2);
        b.on_line(request_line("3"));
        CHECK(budget->used == 3);
    }
    CHECK(budget->used == 0);
}

TEST_CASE("F9: notifications are delivered in order of arrival, also relative to requests") {
    harness h;
    h.feed(R"({"jsonrpc":"2.0","method":"a"})");
    serial one = h.request("1");
    h.feed(R"({"jsonrpc":"2.0","method":"b","params":{}})");
    h.feed(R"({"jsonrpc":"2.0","method":"c"})");
    CHECK(h.log == lines{"notification a", "start 1 work", "notification b", "notification c"});
    h.finish(one);
    h.eof();
    h.feed(R"({"jsonrpc":"2.0","method":"d"})");
    CHECK(h.log.back() == "closed");
}

TEST_CASE("F10: a nested request of a finished request fails locally, at once") {
    harness h;
    serial one = h.request("1");
    h.finish(one);
    CHECK(h.call("ask", one) == 0);
    CHECK(h.call("ask", 999) == 0);
    CHECK(h.refused.kind == error_kind::cancelled);
    CHECK(h.core.waiting() == 0);
}
