// Rules D: requests that we send.

#include "harness.hpp"

#include <cmath>

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

std::string text(serial n) { return std::to_string(n); }

const call_options plain{.idle = {}, .total = {}, .want_progress = false};
const call_options with_progress{};

}  // namespace

TEST_CASE(
    "D1: when the connection ends, every waiter fails once, with the cause, before the connection is reported closed") {
    harness h(role::client);
    for (int i = 0; i < 100; ++i) h.call();
    h.read_error("server exited with status 3");
    REQUIRE(h.log.size() == 101);
    for (std::size_t i = 0; i < 100; ++i) {
        CHECK(h.log[i] == "deliver " + text(i + 1) + " closed: connection closed: server exited with status 3");
    }
    CHECK(h.log.back() == "closed: server exited with status 3");
}

TEST_CASE("D3: a request made after the end fails at once and writes nothing") {
    harness h(role::client);
    h.close();
    CHECK(h.call() == 0);
    CHECK(h.refused.kind == error_kind::closed);
    CHECK(h.refused.error.message == "connection closed");
    CHECK(h.tap.empty());
}

TEST_CASE("D4: a request without an answer in time fails with a timeout, and the peer is notified") {
    harness h(role::client);
    serial call = h.call();
    h.take_tap();
    h.advance(60s - 1ns);
    CHECK(h.log.empty());
    h.advance(1ns);
    CHECK(h.log == lines{"deliver " + text(call) + " timed out: no answer or progress within 60 s"});
    CHECK(h.tap == lines{cancel_line(text(call), "timed out")});
}

TEST_CASE("D4: a request may have its own timeouts, or none") {
    harness h(role::client);
    serial quick = h.call("ask", 0, {.idle = 1s, .total = 1h, .want_progress = false});
    serial patient = h.call("ask", 0, {.idle = duration::max(), .total = duration::max(), .want_progress = false});
    h.advance(1s);
    CHECK(h.log == lines{"deliver " + text(quick) + " timed out: no answer or progress within 1 s"});
    h.advance(24h * 365);
    CHECK(h.core.waiting() == 1);
    h.feed(result_line(text(patient)));
}

TEST_CASE("D4: a nested request that times out does not affect its parent request") {
    harness h;
    serial one = h.request("1");
    serial nested = h.call("ask", one, {.idle = 1s, .total = {}, .want_progress = false});
    h.advance(1s);
    CHECK(h.logged("deliver " + text(nested) + " timed out: no answer or progress within 1 s"));
    CHECK(h.core.is_open(one));
    h.take_tap();
    h.finish(one);
    CHECK(h.tap == lines{result_line("1")});
}

TEST_CASE("D6: a request abandoned before its write began is never written, nor is a cancel") {
    harness h(role::client);
    h.stall();
    serial call = h.call();
    h.abandon(call, "changed my mind");
    h.resume();
    CHECK(h.tap.empty());
    CHECK(h.log.empty());
    h.advance(1h);
    CHECK(!h.core.closing());
}

TEST_CASE("D6: a request that times out before its write began is never written, nor is a cancel") {
    harness h(role::client);
    h.stall();
    h.call("ask", 0, {.idle = 1s, .total = {}, .want_progress = false});
    h.advance(1s);
    CHECK(h.delivered == 1);
    h.resume();
    CHECK(h.tap.empty());
}

TEST_CASE("D7: a request abandoned after its write began is cancelled exactly once") {
    const std::string request = R"({"jsonrpc":"2.0","id":1,"method":"ask"})";
    for (std::size_t n = 1; n <= request.size() + 1; ++n) {
        CAPTURE(n);
        harness h(role::client);
        h.stall();
        serial call = h.call();
        h.accept(n);
        h.abandon(call, "why");  // returns at once although the writer is stalled
        h.abandon(call, "again");
        CHECK(h.core.waiting() == 0);
        h.resume();
        CHECK(h.tap == lines{request, cancel_line("1", "why")});
    }
}

TEST_CASE("D8: an answer after the waiter has ended is dropped silently") {
    harness h(role::client);
    serial abandoned = h.call();
    h.abandon(abandoned);
    serial late = h.call();
    h.advance(60s);
    h.take_log();
    h.take_tap();
    h.feed(result_line(text(abandoned)));
    h.feed(result_line(text(late)));
    h.feed(error_line(text(late), -32603, "x"));
    CHECK(h.log.empty());
    CHECK(h.tap.empty());
    CHECK(h.core.count().unmatched_responses == 3);
}

TEST_CASE("D9: a response with an unused id is dropped silently") {
    for (role r : {role::server, role::client}) {
        harness h(r);
        h.feed(result_line("99"));
        h.feed(error_line("\"x\"", -1, "x"));
        CHECK(h.log.empty());
        CHECK(h.tap.empty());
        CHECK(h.core.count().unmatched_responses == 2);
        h.finish(h.request("1"));
        CHECK(h.tap == lines{result_line("1")});
    }
}

TEST_CASE("D10: a malformed response fails its waiter at once, and no other") {
    for (role r : {role::server, role::client}) {
        for (std::string rest : {R"("result":{},"error":{"code":1,"message":"x"}})", R"("other":1})", R"("result":5})",
                                 R"("result":null})", R"("result":[]})", R"("error":5})", R"("error":null})",
                                 R"("error":{}})", R"("error":{"code":"1","message":"x"}})", R"("error":{"code":1}})",
                                 R"("error":{"code":1.5,"message":"x"}})", R"("error":{"code":1,"message":7}})"}) {
            CAPTURE(rest);
            harness h(r);
            serial call = h.call();
            serial other = h.call();
            h.take_tap();
            h.feed(R"({"jsonrpc":"2.0","id":)" + text(call) + "," + rest);
            REQUIRE(h.log.size() == 1);
            CHECK(h.log[0].starts_with("deliver " + text(call) + " bad message: "));
            CHECK(h.tap.empty());
            CHECK(h.core.waiting() == 1);
            h.feed(result_line(text(other)));
        }
    }
}

TEST_CASE("D10: a response without the version fails its waiter too") {
    harness h(role::client);
    serial call = h.call();
    h.feed(R"({"id":)" + text(call) + R"(,"result":{}})");
    CHECK(h.log == lines{"deliver " + text(call) + R"( bad message: jsonrpc is not "2.0")"});
}

TEST_CASE("an error answer is delivered with its code, message and data") {
    harness h(role::client);
    serial call = h.call();
    h.feed(R"({"jsonrpc":"2.0","id":)" + text(call) +
           R"(,"error":{"code":-32002,"message":"no such thing","data":{"uri":"x"}}})");
    CHECK(h.log == lines{"deliver " + text(call) + " rejected -32002: no such thing"});
    serial huge = h.call();
    h.feed(R"({"jsonrpc":"2.0","id":)" + text(huge) + R"(,"error":{"code":-99999999999,"message":"x"}})");
    CHECK(h.log.back() == "deliver " + text(huge) + " rejected -2147483648: x");
}

TEST_CASE("D11: an error without id, or with a null id, is reported once and fails no call") {
    for (std::string line : {R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"bad\nline"}})",
                             R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad\nline"}})"}) {
        CAPTURE(line);
        harness h(role::client);
        serial call = h.call();
        h.take_tap();
        h.feed(line);
        CHECK(h.log == lines{R"(report error without id from the peer: bad\x0aline)"});
        CHECK(h.tap.empty());
        CHECK(h.core.waiting() == 1);
        h.feed(result_line(text(call)));
    }
}

TEST_CASE("D12: progress restarts the idle time but never extends the total") {
    harness h(role::client);
    serial call = h.call("ask", 0, with_progress);
    CHECK(h.take_tap() == lines{R"({"jsonrpc":"2.0","id":1,"method":"ask","params":{"_meta":{"progressToken":1}}})"});
    int beats = 0;
    while (h.core.waiting() == 1) {
        h.advance(59s);
        if (h.core.waiting() == 0) break;
        h.feed(progress_line(text(call), std::to_string(++beats)));
        REQUIRE(beats < 100);
    }
    CHECK(beats == 30);  // 30 * 59 s < 30 min
    CHECK(h.log.back() == "deliver 1 timed out: no answer within 30 min");
    CHECK(h.tap == lines{cancel_line("1", "timed out")});
}

TEST_CASE("D12: without progress the idle time decides") {
    harness h(role::client);
    serial call = h.call("ask", 0, with_progress);
    h.advance(59s);
    h.feed(progress_line(text(call), "1"));
    h.advance(60s - 1ns);
    CHECK(h.core.waiting() == 1);
    h.advance(1ns);
    CHECK(h.core.waiting() == 0);
}

TEST_CASE("D12: the progress token is added to the existing parameters") {
    harness h(role::client);
    serial call = h.call("ask", 0, with_progress, json::parse(R"({"name":"x","_meta":{"k":1}})"));
    CHECK(h.tap ==
          lines{R"({"jsonrpc":"2.0","id":1,"method":"ask","params":{"name":"x","_meta":{"k":1,"progressToken":1}}})"});
    h.feed(result_line(text(call)));
}

TEST_CASE("D13: progress is delivered before the answer that follows it, in order") {
    harness h(role::client);
    serial call = h.call("ask", 0, with_progress);
    for (const char* p : {"1", "2", "3"}) h.feed(progress_line(text(call), p));
    h.feed(result_line(text(call)));
    CHECK(h.log == lines{"progress 1 1", "progress 1 2", "progress 1 3", "deliver 1 {}"});
}

TEST_CASE("D14: progress for an unknown or finished token, or malformed progress, is dropped silently") {
    harness h(role::client);
    serial done = h.call("ask", 0, with_progress);
    h.feed(result_line(text(done)));
    serial open = h.call("ask", 0, with_progress);
    h.take_log();
    h.take_tap();
    for (std::string params :
         {R"({"progressToken":1,"progress":1})", R"({"progressToken":99,"progress":1})",
          R"({"progressToken":"2","progress":1})", R"({"progressToken":2.0,"progress":1})", R"({"progressToken":2})",
          R"({"progressToken":2,"progress":"1"})", R"({"progress":1})", "{}", "[]"}) {
        CAPTURE(params);
        h.feed(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)" + params + "}");
        CHECK(h.log.empty());
    }
    CHECK(h.tap.empty());
    h.feed(result_line(text(open)));
}

TEST_CASE("D15: progress that does not increase, or is not finite, is not sent") {
    harness h;
    serial one = h.request("1", "work", with_token("\"t\""));
    for (double p : {1.0, 1.0, 0.5, std::nan(""), std::numeric_limits<double>::infinity(), 2.0, -1.0, 2.5})
        h.progress(one, p);
    CHECK(h.tap == lines{progress_line("\"t\"", "1"), progress_line("\"t\"", "2"), progress_line("\"t\"", "2.5")});
    h.finish(one);
}

TEST_CASE("D15: a total that is not finite, or a message that is not UTF-8, is omitted") {
    harness h;
    serial one = h.request("1", "work", with_token("7"));
    h.progress(one, -2, std::nan(""), "\xff");
    h.progress(one, -1, 0.5, "ok");
    CHECK(h.tap[0] == progress_line("7", "-2"));
    CHECK(
        h.tap[1] ==
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":-1,"total":0.5,"message":"ok"}})");
    h.finish(one);
}

TEST_CASE("progress is not sent to a peer that did not request it") {
    for (std::string params :
         {"", "{}", R"({"_meta":{}})", R"({"_meta":{"progressToken":null}})", R"({"_meta":{"progressToken":1.5}})",
          R"({"_meta":{"progressToken":{}}})", R"({"_meta":7})"}) {
        CAPTURE(params);
        harness h;
        serial one = h.request("1", "work", params);
        CHECK(!h.core.wants_progress(one));
        h.progress(one, 1);
        CHECK(h.tap.empty());
        h.finish(one);
    }
}

// The driver catches exceptions of callbacks; here the core must not depend on the callback.
TEST_CASE("D16: receiving continues after any number of deliveries") {
    harness h(role::client);
    serial call = h.call("ask", 0, with_progress);
    h.feed(progress_line(text(call), "1"));
    h.feed(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}})");
    h.feed(result_line(text(call)));
    CHECK(h.log == lines{"progress 1 1", "notification notifications/message", "deliver 1 {}"});
}

TEST_CASE("D17: of an answer and an abandon, the first counts and the other has no effect") {
    {
        harness h(role::client);
        serial call = h.call();
        h.take_tap();
        h.feed(result_line(text(call)));
        h.abandon(call);
        CHECK(h.log == lines{"deliver 1 {}"});
        CHECK(h.tap.empty());
    }
    {
        harness h(role::client);
        serial call = h.call();
        h.take_tap();
        h.stall();
        h.abandon(call);
        h.accept(10);  // the cancel is being written
        h.feed(result_line(text(call)));
        h.resume();
        CHECK(h.log.empty());
        CHECK(h.tap == lines{cancel_line(text(call))});
    }
}

TEST_CASE("the call is in the table before its request is written") {
    harness h(role::client);
    h.stall();
    serial call = h.call();
    h.feed(result_line(text(call)));  // also valid before the request was written completely
    CHECK(h.log == lines{"deliver 1 {}"});
    h.resume();
    CHECK(h.tap.size() == 1);
}

TEST_CASE("a call with parameters that JSON cannot express is rejected and leaks nothing") {
    harness h(role::client);
    CHECK(h.call("ask", 0, plain, json::object({{"x", std::nan("")}})) == 0);
    CHECK(h.refused.kind == error_kind::unavailable);
    CHECK(h.core.waiting() == 0);
    CHECK(h.tap.empty());
}

TEST_CASE("D12: parameters given as text are sent with the members of _meta and the progress token") {
    struct sample {
        std::string_view members, meta;
        bool progress;
        std::string_view expected;
    };
    const sample samples[] = {
        {"", "", false, ""},
        {R"("a":1)", "", false, R"(,"params":{"a":1})"},
        {"", R"("k":2)", false, R"(,"params":{"_meta":{"k":2}})"},
        {R"("a":1)", R"("k":2)", false, R"(,"params":{"a":1,"_meta":{"k":2}})"},
        {"", "", true, R"(,"params":{"_meta":{"progressToken":1}})"},
        {R"("a":1)", R"("k":2)", true, R"(,"params":{"a":1,"_meta":{"k":2,"progressToken":1}})"},
    };
    for (const sample& each : samples) {
        CAPTURE(each.expected);
        harness h(role::client);
        call_params params;
        params.members = each.members;
        params.meta = each.meta;
        h.core.call(0, "ask", params, {.idle = {}, .total = {}, .want_progress = each.progress}, h.refused);
        h.advance(0s);
        CHECK(h.tap == lines{R"({"jsonrpc":"2.0","id":1,"method":"ask")" + std::string(each.expected) + "}"});
        h.feed(result_line("1"));
    }
}
