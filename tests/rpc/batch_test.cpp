// Batches, which only revision 2025-03-26 supports: an array of messages, answered by one array.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

struct batching : harness {
    explicit batching(const limits& bounds = {}, role r = role::server) : harness(r, bounds) {
        core.allow_batches(true);
    }

    /// Feeds the array; returns the requests that were started, in order.
    std::vector<serial> batch(const lines& members) {
        std::vector<serial> before = running_serials();
        std::string text = "[";
        for (const std::string& each : members) text += (text.size() > 1 ? "," : "") + each;
        feed(text + "]");
        std::vector<serial> added;
        for (serial each : running_serials()) {
            if (std::find(before.begin(), before.end(), each) == before.end()) added.push_back(each);
        }
        return added;
    }
};

std::string array_of(const lines& members) {
    std::string text = "[";
    for (const std::string& each : members) text += (text.size() > 1 ? "," : "") + each;
    return text + "]";
}

}  // namespace

TEST_CASE("E5: a batch is answered by one array, once the last member is done, in the order of completion") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("\"2\""), request_line("3")});
    REQUIRE(started.size() == 3);
    h.finish(started[2], R"({"n":3})");
    h.fail(started[0], -32000, "one");
    CHECK(h.tap.empty());
    h.finish(started[1], R"({"n":2})");
    CHECK(h.tap == lines{array_of({result_line("3", R"({"n":3})"), error_line("1", -32000, "one"),
                                   result_line("\"2\"", R"({"n":2})")})});
}

TEST_CASE("E5: handlers that end at once still make one array") {
    // Actions run after the whole line was read, but a refusal is an answer inside the batch.
    batching h(limits_with([](limits& l) { l.max_in_flight = 1; }));
    auto started = h.batch({request_line("1"), request_line("2"), request_line("3", "work", "[]")});
    REQUIRE(started.size() == 1);
    CHECK(h.tap.empty());
    h.finish(started[0]);
    REQUIRE(h.tap.size() == 1);
    CHECK(json::parse(h.tap[0]).size() == 3);
}

TEST_CASE("E5: a batch of notifications and responses gets no answer") {
    batching h;
    serial call = h.call();
    h.take_tap();
    h.batch(
        {R"({"jsonrpc":"2.0","method":"a"})", result_line(std::to_string(call)), R"({"jsonrpc":"2.0","method":"b"})"});
    CHECK(h.log == lines{"notification a", "deliver " + std::to_string(call) + " {}", "notification b"});
    CHECK(h.tap.empty());
}

TEST_CASE("E5: errors of invalid members are part of the array") {
    batching h;
    auto started = h.batch({"1", request_line("7"), R"({"jsonrpc":"2.0","id":8})", request_line("null"), "[]"});
    REQUIRE(started.size() == 1);
    h.finish(started[0]);
    REQUIRE(h.tap.size() == 1);
    json::value all = json::parse(h.tap[0]);
    REQUIRE(all.size() == 5);
    CHECK(all.at(0).find("id") == nullptr);
    CHECK(all.at(0)["error"]["code"] == json::value(-32600));
    CHECK(all.at(1)["id"] == json::value(8));
    CHECK(all.at(2).find("id") == nullptr);
    CHECK(all.at(3).find("id") == nullptr);
    CHECK(json::to_string(all.at(4)) == result_line("7"));
}

TEST_CASE("E5: a batch with only invalid members is answered too") {
    batching h;
    h.batch({"1", "2", "3"});
    REQUIRE(h.tap.size() == 1);
    CHECK(json::parse(h.tap[0]).size() == 3);
}

TEST_CASE("E5: an empty, too large or not negotiated batch gets one error without an id, and no member is executed") {
    {
        batching h;
        h.feed("[]");
        CHECK(h.tap == lines{error_line("", -32600, "empty batch")});
    }
    {
        batching h;
        lines members;
        for (int i = 0; i < 1001; ++i) members.push_back(request_line(std::to_string(i)));
        h.batch(members);
        CHECK(h.tap == lines{error_line("", -32600, "batch too large")});
        CHECK(h.invocations() == 0);
    }
    {
        harness h;
        h.feed("[" + request_line("1") + "]");
        CHECK(h.tap == lines{error_line("", -32600, "batches are not part of this protocol revision")});
        CHECK(h.invocations() == 0);
    }
}

TEST_CASE("B2 in a batch: a cancelled member is omitted and does not delay the others") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("2")});
    h.finish(started[0]);
    CHECK(h.tap.empty());
    h.cancel("2");
    CHECK(h.tap == lines{array_of({result_line("1")})});
    h.finish(started[1]);
    CHECK(h.tap.size() == 1);
}

TEST_CASE("B2 in a batch: if every member is cancelled, nothing is written") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("2")});
    h.cancel("1");
    h.cancel("2");
    h.end_quietly(started[0]);
    h.finish(started[1]);
    CHECK(h.tap.empty());
}

TEST_CASE("B4 in a batch: a cancel withdraws the answer of a member that waits for the other members") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("2")});
    h.finish(started[0], R"({"n":1})");
    h.cancel("1");
    h.finish(started[1], R"({"n":2})");
    CHECK(h.tap == lines{array_of({result_line("2", R"({"n":2})")})});
}

TEST_CASE("B4 in a batch: a cancel removes a member from a queued array") {
    batching h;
    h.stall();
    for (serial each : h.batch({request_line("1"), request_line("2"), request_line("3")})) h.finish(each);
    h.cancel("2");
    CHECK(h.core.count().withdrawn == 1);
    h.resume();
    CHECK(h.tap == lines{array_of({result_line("1"), result_line("3")})});
}

TEST_CASE("B4 in a batch: if the last member is withdrawn, nothing is written, not even an empty array") {
    batching h;
    h.stall();
    for (serial each : h.batch({request_line("1"), request_line("2")})) h.finish(each);
    h.cancel("2");
    h.cancel("1");
    CHECK(h.core.queued_bytes() == 0);
    CHECK(!h.core.next_deadline());
    h.resume();
    CHECK(h.tap.empty());
}

TEST_CASE("B5 in a batch: an array whose write has begun is completed") {
    batching h;
    h.stall();
    for (serial each : h.batch({request_line("1"), request_line("2")})) h.finish(each);
    h.accept(1);
    h.cancel("2");
    h.resume();
    CHECK(h.tap == lines{array_of({result_line("1"), result_line("2")})});
}

TEST_CASE("B4 in a batch: a reused id is withdrawn from the array that is not written yet") {
    batching h;
    h.stall();
    for (serial each : h.batch({request_line("1")})) h.finish(each, R"({"n":1})");
    h.accept(5);  // the first array is partially written
    for (serial each : h.batch({request_line("1"), request_line("2")})) h.finish(each, R"({"n":2})");
    h.cancel("1");
    h.resume();
    CHECK(h.tap == lines{array_of({result_line("1", R"({"n":1})")}), array_of({result_line("2", R"({"n":2})")})});
}

TEST_CASE("C1 in a batch: members that run at the end of input are answered in the array") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("2")});
    h.finish(started[0]);
    h.eof();
    CHECK(h.tap == lines{array_of({result_line("1"), error_line("2", -32603, "server shutting down")})});
    h.end_quietly(started[1]);
    CHECK(h.core.closed());
}

TEST_CASE("C6 in a batch: a write error drops the whole array") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("2")});
    h.finish(started[0]);
    h.write_error();
    h.finish(started[1]);
    CHECK(h.tap.empty());
    CHECK(h.core.closed());
}

TEST_CASE("A7 in a batch: the same id twice in one batch is executed once") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("1")});
    REQUIRE(started.size() == 1);
    h.finish(started[0]);
    REQUIRE(h.tap.size() == 2);
    CHECK(h.tap[0] == error_line("", -32600, "id is already in flight"));
    CHECK(h.tap[1] == array_of({result_line("1")}));
}

TEST_CASE("F6 in a batch: a member that closes the connection is omitted from the answer") {
    batching h;
    auto started = h.batch({request_line("1"), request_line("2")});
    h.finish(started[0]);
    h.close({}, started[1]);
    CHECK(h.tap == lines{array_of({result_line("1")})});
    h.end_quietly(started[1]);
    CHECK(h.core.closed());
}

TEST_CASE("B20 in a batch: a client answers a batch of its server the same way") {
    batching h({}, role::client);
    auto started = h.batch({request_line("1", "ping"), "5", request_line("2", "ping")});
    REQUIRE(started.size() == 2);
    for (serial each : started) h.finish(each);
    CHECK(h.tap == lines{array_of({result_line("1"), result_line("2")})});
}
