// Rules A: the identity of a request, and its single answer.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

enum class event { returns, throws, cancel, deadline, eof, write_error };
constexpr event all_events[] = {event::returns,  event::throws, event::cancel,
                                event::deadline, event::eof,    event::write_error};

const char* name_of(event e) {
    switch (e) {
        case event::returns: return "return";
        case event::throws: return "throw";
        case event::cancel: return "cancel";
        case event::deadline: return "deadline";
        case event::eof: return "eof";
        case event::write_error: return "write error";
    }
    return "";
}

void happen(harness& h, event e, serial request) {
    switch (e) {
        case event::returns: return h.finish(request, R"({"from":"handler"})");
        case event::throws: return h.fail(request, -32000, "thrown");
        case event::cancel: return h.cancel("1");
        case event::deadline:  // of a graceful close with a drain
            h.close(1s);
            return h.advance(1s);
        case event::eof: return h.eof();
        case event::write_error: return h.write_error();
    }
}

bool ends_connection(event e) { return e == event::deadline || e == event::eof || e == event::write_error; }

// The answer to request 1 after two events; the first event that settles the request decides. Empty: no answer may be
// written.
std::string expected_answer(event first, event second, bool patient, bool stalled) {
    const std::string result = result_line("1", R"({"from":"handler"})");
    const std::string thrown = error_line("1", -32000, "thrown");
    const std::string shutdown = error_line("1", -32603, "server shutting down");
    auto of = [&](event e) -> std::string {
        switch (e) {
            case event::returns: return result;
            case event::throws: return thrown;
            case event::deadline: return shutdown;
            case event::eof: return shutdown;
            case event::cancel:
            case event::write_error: return "";
        }
        return "";
    };
    if (first == event::eof && patient) {
        // The drain continues: the second event decides. A cancel cannot be read any more; the end of the drain
        // answers.
        return second == event::cancel || second == event::eof ? shutdown : of(second);
    }
    if (stalled && second == event::write_error) return "";
    // A cancel withdraws a queued answer as long as input is read.
    if (stalled && second == event::cancel && !ends_connection(first)) return "";
    return of(first);
}

}  // namespace

TEST_CASE("A1: after any two events, in either order, a request has at most one answer") {
    for (bool patient : {false, true}) {
        for (bool stalled : {false, true}) {
            for (event first : all_events) {
                for (event second : all_events) {
                    CAPTURE(patient);
                    CAPTURE(stalled);
                    CAPTURE(name_of(first));
                    CAPTURE(name_of(second));
                    limits l;
                    l.drain_on_eof = patient ? duration(10s) : duration(0s);
                    harness h(role::server, l);
                    serial one = h.request("1");
                    serial bystander = h.request("2");
                    if (stalled) h.stall();
                    happen(h, first, one);
                    happen(h, second, one);
                    // Another request is unaffected: it is answered, or fails because the connection ends.
                    bool ended = ends_connection(first) || ends_connection(second);
                    if (!ended) h.finish(bystander, R"({"bystander":true})");
                    h.resume();
                    if (h.core.is_open(one)) {  // not settled yet: the drain decides
                        CHECK(patient);
                        h.advance(10s);
                    }
                    h.end_quietly(one);
                    h.end_quietly(bystander);

                    std::string expected = expected_answer(first, second, patient, stalled);
                    CHECK(h.answers_to("1") == (expected.empty() ? 0 : 1));
                    if (!expected.empty()) CHECK(std::count(h.tap.begin(), h.tap.end(), expected) == 1);
                    if (!ended) CHECK(h.answers_to("2") == 1);
                    CHECK(h.core.closed() == ended);
                }
            }
        }
    }
}

TEST_CASE("A1: a second answer of the same handler is dropped without other effects") {
    harness h;
    serial one = h.request("1");
    serial two = h.request("2");
    h.finish(one, R"({"n":1})");
    h.finish(one, R"({"n":2})");
    h.fail(one);
    h.end_quietly(one);
    h.finish(two);
    CHECK(h.tap == lines{result_line("1", R"({"n":1})"), result_line("2")});
    CHECK(h.core.count().dropped_late == 2);
}

TEST_CASE("A1: a request is answered even if its handler ends as cancelled without a cancel") {
    harness h;
    h.end_quietly(h.request("1"));
    CHECK(h.tap == lines{error_line("1", -32603, "internal error")});
}

TEST_CASE("A2: messages of a handler are sent in order, then the answer, then nothing") {
    harness h;
    serial one = h.request("1", "work", with_token("\"t\""));
    h.progress(one, 1);
    h.say(one, "two");
    h.progress(one, 3, 3.0, "done");
    h.finish(one);
    lines expected{
        progress_line("\"t\"", "1"), R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two"}})",
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":3,"total":3,"message":"done"}})",
        result_line("1")};
    CHECK(h.tap == expected);
    h.progress(one, 4);  // with a saved context: no error, nothing is written
    h.say(one, "late");
    CHECK(h.tap == expected);
    CHECK(h.core.count().dropped_late == 2);
}

TEST_CASE("A2: pending nested requests of a handler are withdrawn before its answer, not after it") {
    harness h;
    serial one = h.request("1");
    serial nested = h.call("sampling/createMessage", one);
    h.finish(one);
    REQUIRE(h.tap.size() == 3);
    CHECK(h.tap[1].find("notifications/cancelled") != std::string::npos);
    CHECK(h.tap[2] == result_line("1"));
    CHECK(h.logged("deliver " + std::to_string(nested) + " cancelled: cancelled"));
}

TEST_CASE("A3: the answer carries the id with its value and type, and every id can be cancelled") {
    const std::string ids[] = {
        "0",     "-7",    "9223372036854775807", "-9223372036854775808", "18446744073709551615", "\"\"",
        "\"a\"", "\"1\"", "\"żółw 🐢\"",         R"("a\"b\\c")"};
    for (const std::string& id : ids) {
        CAPTURE(id);
        harness h;
        serial answered = h.request(id);
        REQUIRE(answered != 0);
        h.finish(answered);
        CHECK(h.take_tap() == lines{result_line(id)});
        serial failed = h.request(id);
        h.fail(failed, -32000, "no");
        CHECK(h.take_tap() == lines{error_line(id, -32000, "no")});
        serial cancelled = h.request(id);
        h.cancel(id);
        CHECK(!h.core.is_open(cancelled));
        h.finish(cancelled);
        CHECK(h.tap.empty());
    }
}

TEST_CASE("A4: 1 and \"1\" are two requests") {
    harness h;
    serial number = h.request("1");
    serial text = h.request("\"1\"");
    REQUIRE(number != 0);
    REQUIRE(text != 0);
    h.cancel("\"1\"");
    CHECK(h.core.is_open(number));
    CHECK(!h.core.is_open(text));
    h.finish(text);
    h.finish(number);
    CHECK(h.tap == lines{result_line("1")});
}

TEST_CASE("A4: 2^63 and -2^63 are two requests though they share their bits") {
    harness h;
    serial high = h.request("9223372036854775808");
    serial low = h.request("-9223372036854775808");
    REQUIRE(high != 0);
    REQUIRE(low != 0);
    h.cancel("-9223372036854775808");
    h.finish(low);
    h.finish(high);
    CHECK(h.tap == lines{result_line("9223372036854775808")});
}

TEST_CASE("A5: a response whose id is our number as a canonical string is accepted, no other string is") {
    harness h(role::client);
    for (int i = 1; i < 7; ++i) h.feed(result_line(std::to_string(h.call())));  // so that the next one is 7
    h.take_log();
    serial seven = h.call();
    REQUIRE(seven == 7);
    for (std::string id :
         {R"("")", R"("0")", R"(" 7")", R"("7 ")", R"("07")", R"("+7")", R"("7.0")", R"("0x7")", R"("-7")", R"("7e0")",
          R"("７")", R"("18446744073709551623")", "0", "-7", "7.0", "true", "null"}) {
        CAPTURE(id);
        h.feed(result_line(id));
        CHECK(h.core.waiting() == 1);
    }
    h.take_log();
    h.feed(result_line(R"("7")", R"({"v":1})"));
    CHECK(h.log == lines{R"(deliver 7 {"v":1})"});
    h.feed(result_line("7"));
    CHECK(h.log.size() == 1);
}

TEST_CASE("A6: a request whose id is neither a string nor an integer is not executed and gets an error without an id") {
    for (std::string id : {"null", "true", "false", "1.5", "1.0", "1e3", "[]", "[1]", "{}", "18446744073709551616",
                           "-9223372036854775809", "1e400"}) {
        CAPTURE(id);
        harness h;
        h.feed(request_line(id));
        CHECK(h.invocations() == 0);
        REQUIRE(h.tap.size() == 1);
        // 1e400 is not a valid JSON number for us, so the line is invalid.
        int code = id == "1e400" ? -32700 : -32600;
        CHECK(h.tap[0].starts_with(R"({"jsonrpc":"2.0","error":{"code":)" + std::to_string(code)));
        CHECK(json::parse(h.tap[0]).find("id") == nullptr);
        h.take_tap();
        h.finish(h.request("1"));
        CHECK(h.tap == lines{result_line("1")});
    }
}

TEST_CASE("A7: a second request with an id in flight is refused without an id and does not affect the first") {
    harness h;
    serial first = h.request("5", "work", R"({"n":1})");
    CHECK(h.request("5", "work", R"({"n":2})") == 0);
    CHECK(h.tap == lines{error_line("", -32600, "id is already in flight")});
    CHECK(h.core.is_open(first));
    h.take_tap();
    h.finish(first, R"({"n":1})");
    CHECK(h.tap == lines{result_line("5", R"({"n":1})")});

    SUBCASE("the first can still be cancelled") {
        serial again = h.request("5");
        h.request("5");
        h.cancel("5");
        CHECK(!h.core.is_open(again));
        h.end_quietly(again);
        CHECK(h.answers_to("5") == 1);
    }
}

TEST_CASE("A7: an error about a malformed line never has the id of a request in flight") {
    harness h;
    serial first = h.request("5");
    h.feed(R"({"jsonrpc":"1.0","id":5,"method":"work"})");
    h.feed(R"({"jsonrpc":"2.0","id":5,"method":"work","params":[]})");
    h.too_large(R"({"jsonrpc":"2.0","id":5,"method":"work","params":{"x":")");
    for (const std::string& frame : h.tap) CHECK(json::parse(frame).find("id") == nullptr);
    CHECK(h.tap.size() == 3);
    h.take_tap();
    h.finish(first);
    CHECK(h.tap == lines{result_line("5")});
}

TEST_CASE("A7: the client role leaves a second request with an id in flight unanswered") {
    harness h(role::client);
    serial first = h.request("5");
    CHECK(h.request("5") == 0);
    h.finish(first);
    CHECK(h.tap == lines{result_line("5")});
}

TEST_CASE("A8: an id may be reused after its request was answered, any number of times") {
    harness h;
    h.quiet = true;
    for (int i = 0; i < 100'000; ++i) h.finish(h.request("5"));
    CHECK(h.written_frames == 100'000);
    CHECK(h.core.running() == 0);
}

TEST_CASE("A9: an id reused after a cancel is a new request; the old handler cannot affect it") {
    harness h;
    serial old_one = h.request("5");
    h.cancel("5");
    serial new_one = h.request("5");
    REQUIRE(new_one != 0);
    h.finish(old_one, R"({"old":true})");
    CHECK(h.tap.empty());
    CHECK(h.core.is_open(new_one));
    CHECK(h.fired == 1);
    h.finish(new_one, R"({"new":true})");
    CHECK(h.tap == lines{result_line("5", R"({"new":true})")});
}

TEST_CASE("A9: progress of the old handler does not reach the new request of the same id and token") {
    harness h;
    serial old_one = h.request("5", "work", with_token("5"));
    h.cancel("5");
    serial new_one = h.request("5", "work", with_token("5"));
    h.progress(old_one, 50);
    CHECK(h.tap.empty());
    h.progress(new_one, 1);
    h.end_quietly(old_one);
    h.finish(new_one);
    CHECK(h.tap == lines{progress_line("5", "1"), result_line("5")});
}

TEST_CASE("A10: the ids of the two directions are independent") {
    harness h;
    serial ours = h.call();
    std::string id = std::to_string(ours);
    serial theirs = h.request(id);
    h.take_tap();

    SUBCASE("the peer's cancel stops its own request, not ours") {
        h.cancel(id);
        CHECK(!h.core.is_open(theirs));
        CHECK(h.core.waiting() == 1);
        h.end_quietly(theirs);
        h.feed(result_line(id));
        CHECK(h.tap.empty());
    }
    SUBCASE("abandoning our request notifies the peer and does not affect its request") {
        h.abandon(ours);
        CHECK(h.tap == lines{cancel_line(id)});
        CHECK(h.core.is_open(theirs));
        h.finish(theirs);
    }
    SUBCASE("the peer's response resolves only our request") {
        h.feed(result_line(id));
        CHECK(h.core.is_open(theirs));
        CHECK(h.core.waiting() == 0);
        h.finish(theirs);
    }
    SUBCASE("a malformed request of the peer with that id does not end our call") {
        h.finish(theirs);
        for (std::string rest :
             {R"(,"method":"work"})", R"(,"jsonrpc":"2.0","method":7})", R"(,"jsonrpc":"2.0","method":""})",
              R"(,"jsonrpc":"2.0","method":"work","result":{}})"}) {
            CAPTURE(rest);
            h.feed(R"({"id":)" + id + rest);
            CHECK(h.core.waiting() == 1);
        }
        h.too_large(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"work","params":{"x":")");
        CHECK(h.core.waiting() == 1);
        h.feed(result_line(id));
    }
}

TEST_CASE("A11: nothing is ever written in reply to a notification") {
    for (role r : {role::server, role::client}) {
        harness h(r);
        for (std::string line :
             {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
              R"({"jsonrpc":"2.0","method":"no/such/thing"})",
              R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":[]})",
              R"({"jsonrpc":"2.0","method":"notifications/progress","params":5})",
              R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":"x"}})",
              R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
              R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"})",
              R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}})"}) {
            CAPTURE(line);
            h.feed(line);
            CHECK(h.tap.empty());
        }
        CHECK(h.invocations() == 0);
    }
}

TEST_CASE("A12: a ping is answered although the limit of handlers is reached") {
    harness h(role::server, limits_with([](limits& l) { l.max_in_flight = 2; }));
    serial one = h.request("1");
    serial two = h.request("2");
    CHECK(h.request("3") == 0);
    serial ping = h.request("4", "ping");
    REQUIRE(ping != 0);
    h.take_tap();
    h.finish(ping);
    CHECK(h.tap == lines{result_line("4")});
    h.finish(one);
    h.finish(two);
}
