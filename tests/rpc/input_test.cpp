// Rules E: invalid input. One row per cell of the table, for both roles. framer_test.cpp tests E2 and the skipping of
// E3; E8, E11 and E12 are implemented above the state machine.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

struct row {
    const char* what;
    std::string line;
    const char* server;  // beginning of the one frame that a server writes; "" for none
    const char* client;  // the same for a client
    bool too_large = false;
};

constexpr const char* none = "";
constexpr const char* anonymous_parse = R"({"jsonrpc":"2.0","error":{"code":-32700,)";
constexpr const char* anonymous_invalid = R"({"jsonrpc":"2.0","error":{"code":-32600,)";
constexpr const char* invalid_7 = R"({"jsonrpc":"2.0","id":7,"error":{"code":-32600,)";
constexpr const char* invalid_params_7 = R"({"jsonrpc":"2.0","id":7,"error":{"code":-32602,)";

std::vector<row> rows() {
    return {
        {"E1: not JSON", "hello", anonymous_parse, none},
        {"E1: truncated", R"({"jsonrpc":"2.0","id":7,"method":"wo)", anonymous_parse, none},
        {"E1: two messages on one line", request_line("7") + request_line("8"), anonymous_parse, none},
        {"E1: invalid UTF-8 in a string", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\xff\"}", anonymous_parse, none},
        {"E1: invalid UTF-8 in a parameter",
         "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":{\"x\":\"\xc3\x28\"}}", anonymous_parse, none},
        {"E1: a surrogate that stands alone", R"({"jsonrpc":"2.0","id":7,"method":"a\ud800"})", anonymous_parse, none},
        {"E1: overlong UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xc0\xaf\"}", anonymous_parse, none},
        {"E1: nested too deeply", std::string(100'000, '['), anonymous_parse, none},
        {"E1: nested too deeply inside a request",
         R"({"jsonrpc":"2.0","id":7,"method":"a","params":{"x":)" + std::string(600, '[') + std::string(600, ']') +
             "}}",
         anonymous_parse, none},
        {"E1: a NUL byte", std::string("{\"jsonrpc\":\"2.0\",\0\"id\":7}", 24), anonymous_parse, none},
        {"E3: too large, with an id", R"({"jsonrpc":"2.0","id":7,"method":"work","params":{"x":")", invalid_7, none,
         true},
        {"E3: too large, the id not to be seen", R"({"jsonrpc":"2.0","method":"work","params":{"id":7,"x":")",
         anonymous_invalid, none, true},
        {"E3: too large, an array", R"([{"jsonrpc":"2.0","id":7,"method":"work"},{"x":")", anonymous_invalid, none,
         true},
        {"E3: too large, a response", R"({"jsonrpc":"2.0","id":7,"result":{"x":")", none, none, true},
        {"E4: a number", "7", anonymous_invalid, none},
        {"E4: a string", R"("work")", anonymous_invalid, none},
        {"E4: null", "null", anonymous_invalid, none},
        {"E4: a boolean", "true", anonymous_invalid, none},
        {"E5: an array", "[" + request_line("7") + "]", anonymous_invalid, none},
        {"E5: an empty array", "[]", anonymous_invalid, none},
        {"E6: an empty object", "{}", anonymous_invalid, none},
        {"E6: no version", R"({"id":7,"method":"work"})", invalid_7, none},
        {"E6: another version", R"({"jsonrpc":"1.0","id":7,"method":"work"})", invalid_7, none},
        {"E6: the version as a number", R"({"jsonrpc":2.0,"id":7,"method":"work"})", invalid_7, none},
        {"E6: no method", R"({"jsonrpc":"2.0","id":7})", invalid_7, none},
        {"E6: an empty method", R"({"jsonrpc":"2.0","id":7,"method":""})", invalid_7, none},
        {"E6: a method that is no string", R"({"jsonrpc":"2.0","id":7,"method":["work"]})", invalid_7, none},
        {"E6: method and result", R"({"jsonrpc":"2.0","id":7,"method":"work","result":{}})", invalid_7, none},
        {"E6: method and error", R"({"jsonrpc":"2.0","id":7,"method":"work","error":{}})", invalid_7, none},
        {"E6: no version, no id", R"({"method":"work"})", anonymous_invalid, none},
        {"E7: a null id", request_line("null"), anonymous_invalid, none},
        {"E7: a fraction for an id", request_line("1.5"), anonymous_invalid, none},
        {"E7: an object for an id", request_line("{}"), anonymous_invalid, none},
        {"E9: an unknown notification", R"({"jsonrpc":"2.0","method":"no/such"})", none, none},
        {"E10: params is an array", request_line("7", "work", "[1]"), invalid_params_7, invalid_params_7},
        {"E10: params is a string", request_line("7", "work", "\"x\""), invalid_params_7, invalid_params_7},
        {"E13: a result nobody asked for", result_line("7"), none, none},
        {"E13: an error nobody asked for", error_line("7", -32600, "x"), none, none},
        {"E0: an error without id", error_line("", -32600, "x"), none, none},
        {"E0: an error with a null id", error_line("null", -32600, "x"), none, none},
        {"E0: a malformed error", R"({"jsonrpc":"2.0","id":7,"error":"x"})", none, none},
        {"E0: a result without version", R"({"id":7,"result":{}})", none, none},
        {"E0: a result with a malformed id", result_line("1.5"), none, none},
    };
}

void give(harness& h, const row& r) {
    if (r.too_large) {
        h.too_large(r.line);
    } else {
        h.feed(r.line);
    }
}

}  // namespace

TEST_CASE("E0 to E13: invalid input gets the specified answer, reaches no handler, and the next message is served") {
    for (role side : {role::server, role::client}) {
        for (const row& r : rows()) {
            CAPTURE(static_cast<int>(side));
            std::string what = r.what;
            CAPTURE(what);
            harness h(side);
            serial waiter = h.call();  // its id is not 7: no row may affect it
            h.take_tap();
            give(h, r);
            CHECK(h.invocations() == 0);
            std::string expected = side == role::server ? r.server : r.client;
            if (expected.empty()) {
                CHECK(h.tap == lines{});
            } else {
                REQUIRE(h.tap.size() == 1);
                CHECK(h.tap[0].substr(0, expected.size()) == expected);
                if (expected == anonymous_parse || expected == anonymous_invalid) {
                    CHECK(json::parse(h.tap[0]).find("id") == nullptr);
                }
            }
            CHECK(!h.core.closing());
            CHECK(h.core.waiting() == 1);
            h.take_tap();
            h.finish(h.request("1000"));
            CHECK(h.tap == lines{result_line("1000")});
            h.feed(result_line(std::to_string(waiter)));
        }
    }
}

TEST_CASE(
    "E0 to E13, J6: ten thousand invalid inputs leak nothing; errors without an id and reports are rate limited") {
    for (role side : {role::server, role::client}) {
        for (const row& r : rows()) {
            CAPTURE(static_cast<int>(side));
            std::string what = r.what;
            CAPTURE(what);
            harness h(side);
            h.quiet = true;
            const std::size_t times = r.line.size() > 10'000 ? 1000 : 10'000;
            std::string expected = side == role::server ? r.server : r.client;
            bool anonymous = expected == anonymous_parse || expected == anonymous_invalid;
            for (std::size_t i = 0; i < 100; ++i) give(h, r);
            std::size_t heap = heap_in_use();
            for (std::size_t i = 100; i < times; ++i) give(h, r);
            CHECK(heap_in_use() <= heap + 256);
            CHECK(h.written_frames == (expected.empty() ? 0 : anonymous ? 10 : times));
            CHECK(h.reports <= 10);
            CHECK(h.core.queued_bytes() == 0);
            CHECK(h.core.running() == 0);
            CHECK(!h.core.closing());
            if (anonymous) {
                CHECK(h.core.count().suppressed_errors == times - 10);
                h.advance(1s);  // ten errors per second
                for (int i = 0; i < 20; ++i) give(h, r);
                CHECK(h.written_frames == 20);
            }
            h.finish(h.request("1000"));
        }
    }
}

TEST_CASE("E0: two peers do not answer each other's errors forever") {
    harness server;
    harness client(role::client);
    server.feed("not json");
    for (int i = 0; i < 10; ++i) {
        for (const std::string& frame : server.take_tap()) client.feed(frame);
        for (const std::string& frame : client.take_tap()) server.feed(frame);
    }
    CHECK(server.tap.empty());
    CHECK(client.tap.empty());
    CHECK(client.core.count().unmatched_responses == 1);
    CHECK(server.core.count().received == 0);
}

TEST_CASE("E3: an answer that is too large fails its waiter, in both roles, and is not replied to") {
    for (role side : {role::server, role::client}) {
        for (const char* kind : {R"("result":{"x":")", R"("error":{"code":1,"message":")"}) {
            harness h(side);
            serial call = h.call();
            serial other = h.call();
            h.take_tap();
            h.too_large(R"({"jsonrpc":"2.0","id":)" + std::to_string(call) + "," + kind);
            CHECK(h.logged("deliver " + std::to_string(call) + " bad message: response too large"));
            CHECK(h.tap.empty());
            CHECK(h.core.waiting() == 1);
            h.feed(result_line(std::to_string(other)));
        }
    }
}

TEST_CASE("E5: the client role skips an array that was not negotiated") {
    harness h(role::client);
    serial call = h.call();
    h.take_tap();
    h.feed("[" + result_line(std::to_string(call)) + "]");
    CHECK(h.core.waiting() == 1);
    CHECK(h.tap.empty());
    h.feed(result_line(std::to_string(call)));
}

TEST_CASE("E13: a client of the modern era ignores requests, with a diagnostic") {
    harness h(role::client);
    h.core.accept_requests(false);
    CHECK(h.request("1", "sampling/createMessage") == 0);
    h.feed(request_line("2", "work", "[]"));
    CHECK(h.tap.empty());
    CHECK(h.log.front() == "report request ignored, servers must not send requests: sampling/createMessage");
}

TEST_CASE("J6: suppressed reports are counted in the next one") {
    harness h;
    for (int i = 0; i < 15; ++i) h.feed("x");
    CHECK(h.reports == 10);
    h.advance(1s);
    h.take_log();
    h.feed("[]");
    CHECK(h.log == lines{"report batch rejected (5 more before it)"});
}

TEST_CASE("J6: text of the peer in a report is truncated and escaped") {
    harness h(role::client);
    h.core.accept_requests(false);
    h.request("1", R"(\u001b[2J)" + std::string(100'000, 'x'));
    REQUIRE(h.log.size() == 1);
    CHECK(h.log[0].size() < 300);
    CHECK(h.log[0].find('\x1b') == std::string::npos);
}

TEST_CASE("E1, J6: each invalid message is counted once") {
    harness h;
    h.feed("no JSON");
    CHECK(h.core.count().rejected_input == 1);
    h.feed(R"({"jsonrpc":"2.0"})");
    CHECK(h.core.count().rejected_input == 2);
    h.feed(R"({"jsonrpc":"2.0","id":true,"method":"work"})");
    CHECK(h.core.count().rejected_input == 3);
}

TEST_CASE("A11: a notification whose parameters are not an object is ignored") {
    harness h;
    h.feed(R"({"jsonrpc":"2.0","method":"notifications/message","params":[1]})");
    CHECK(h.log.empty());
    h.feed(R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})");
    CHECK(h.log == lines{"notification notifications/message"});
}
