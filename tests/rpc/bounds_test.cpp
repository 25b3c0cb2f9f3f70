// Rules J: memory use is bounded.

#include "harness.hpp"

#include <random>

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

TEST_CASE(
    "J1: a million progress calls against a stalled reader stay within the soft mark; the newest is sent before the "
    "answer") {
    harness h;
    serial one = h.request("1", "work", with_token("1"));
    h.stall();
    h.quiet = true;
    for (int i = 1; i <= 1'000'000; ++i) h.core.send_progress(one, i, 1'000'000.0, "working");
    CHECK(h.core.queued_bytes() < 1024 * 1024 + 200);
    CHECK(h.core.count().merged_progress > 900'000);
    std::size_t full = h.core.queued_bytes();
    for (int i = 0; i < 1000; ++i) h.core.send_scoped(one, "notifications/message", "{}", true);
    CHECK(h.core.queued_bytes() == full);
    CHECK(h.core.count().dropped_logs == 1000);
    CHECK(h.call("ask", one) == 0);
    CHECK(h.refused.kind == error_kind::unavailable);
    CHECK(!h.notify("notifications/tools/list_changed"));
    h.quiet = false;
    h.finish(one, R"({"v":1})");
    h.resume();
    REQUIRE(h.tap.size() > 2);
    CHECK(h.tap.back() == result_line("1", R"({"v":1})"));
    CHECK(h.tap[h.tap.size() - 2].find(R"("progress":1000000,)") != std::string::npos);
    CHECK(h.notify("notifications/tools/list_changed"));
}

TEST_CASE("J1: parked progress is sent when there is room, only the newest value") {
    harness h(role::server, limits_with([](limits& l) { l.out_queue_soft = 100; }));
    serial one = h.request("1", "work", with_token("1"));
    serial two = h.request("2", "work", with_token("2"));
    h.stall();
    h.progress(one, 1);
    h.progress(one, 2);  // above the limit from here on
    for (int i = 3; i <= 50; ++i) h.progress(one, i);
    for (int i = 1; i <= 50; ++i) h.progress(two, i);
    h.resume();
    CHECK(h.tap ==
          lines{progress_line("1", "1"), progress_line("1", "2"), progress_line("1", "50"), progress_line("2", "50")});
    h.finish(one);
    h.finish(two);
}

TEST_CASE("C11, J1: parked progress that is queued after all earlier output was written has the full write timeout") {
    harness h(role::server, limits_with([](limits& l) { l.out_queue_soft = 100; }));
    serial one = h.request("1", "work", with_token("1"));
    h.stall();
    for (int i = 1; i <= 9; ++i) h.progress(one, i);
    h.advance(std::chrono::seconds(29));
    h.accept(h.core.queued_bytes());  // exactly the queued bytes: the parked message is then queued and waits
    CHECK(h.core.queued_bytes() > 0);
    h.advance(std::chrono::seconds(29));
    CHECK(!h.core.closing());
    h.advance(std::chrono::seconds(1));
    CHECK(h.core.closing());
    h.finish(one);
}

TEST_CASE("J1: answers are never dropped; reading pauses at the hard mark and resumes below the soft mark") {
    limits l;
    l.out_queue = 1000;
    l.out_queue_soft = 300;
    harness h(role::server, l);
    h.stall();
    int n = 0;
    while (!h.sink.wants_pause()) {
        h.finish(h.request(std::to_string(n)));
        REQUIRE(++n < 100);
    }
    CHECK(h.core.queued_bytes() >= 1000);
    CHECK(h.core.queued_bytes() < 1100);
    h.accept(h.core.queued_bytes() - 300);
    CHECK(h.sink.wants_pause());
    h.accept(1);
    CHECK(!h.sink.wants_pause());
    h.resume();
    CHECK(h.tap.size() == static_cast<std::size_t>(n));
}

TEST_CASE("J1: messages that are not dropped at the soft mark are limited by the hard mark") {
    limits l;
    l.out_queue = 10'000;
    l.out_queue_soft = 1000;
    harness h(role::server, l);
    serial one = h.request("1");
    h.stall();
    for (int i = 0; i < 10'000; ++i) h.say(one, "must not be lost", false);
    CHECK(h.core.queued_bytes() < 10'200);
    CHECK(h.core.queued_bytes() > 9'900);
    h.finish(one);
    h.resume();
    CHECK(h.tap.back() == result_line("1"));
}

TEST_CASE("J1: a cancel drops the parked progress of its request") {
    harness h(role::server, limits_with([](limits& l) { l.out_queue_soft = 10; }));
    serial one = h.request("1", "work", with_token("1"));
    h.stall();
    CHECK(h.notify("x"));
    h.progress(one, 1);
    h.cancel("1");
    h.resume();
    CHECK(h.tap == lines{R"({"jsonrpc":"2.0","method":"x"})"});
    h.end_quietly(one);
}

TEST_CASE("J3: half a million mixed operations leak nothing") {
    harness h(role::server, limits_with([](limits& l) {
                  l.max_in_flight = 50;
                  l.write_stall = duration::max();
              }));
    h.core.allow_batches(true);
    h.quiet = true;
    std::mt19937 random(20251116);
    auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    std::vector<serial> calls;
    std::size_t heap = 0;

    auto tidy = [&] {
        h.resume();
        for (serial each : h.running_serials()) h.finish(each);
        for (serial each : calls) h.abandon(each);
        calls.clear();
        CHECK(h.core.running() == 0);
        CHECK(h.core.waiting() == 0);
        CHECK(h.core.queued_bytes() == 0);
        CHECK(h.budget->used == 0);
        CHECK(!h.core.next_deadline());
    };
    auto some_handler = [&]() -> serial {
        const auto& running = h.running();
        if (running.empty()) return 0;
        auto at = running.lower_bound(running.begin()->first + below(100));
        return at == running.end() ? running.begin()->first : at->first;
    };
    const std::string batch =
        "[" + request_line("900", "a") + "," + request_line("\"x\"", "b") + "," + request_line("null") + "]";

    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 50'000; ++i) {
            std::string id = std::to_string(below(100));
            switch (below(16)) {
                case 0:
                case 1:
                case 2: h.request(id, "work", with_token(id)); break;
                case 3:
                case 4: h.cancel(id); break;
                case 5:
                case 6: h.finish(some_handler()); break;
                case 7: h.fail(some_handler()); break;
                case 8: h.progress(some_handler(), i); break;
                case 9: h.say(some_handler(), "x"); break;
                case 10:
                    if (serial c = h.call("ask", below(2) ? some_handler() : 0)) calls.push_back(c);
                    break;
                case 11:
                    if (!calls.empty()) {
                        serial c = calls[below(static_cast<unsigned>(calls.size()))];
                        if (below(2)) {
                            h.abandon(c);
                        } else {
                            h.feed(result_line(std::to_string(c)));
                        }
                    }
                    while (calls.size() > 100) {
                        h.abandon(calls.front());
                        calls.erase(calls.begin());
                    }
                    break;
                case 12: h.feed(below(2) ? "garbage" : R"({"id":true,"method":5})"); break;
                case 13: h.feed(batch); break;
                case 14: h.accept(below(500)); break;
                case 15: h.advance(std::chrono::milliseconds(below(2000))); break;
            }
            if (i % 500 == 0) h.resume();
        }
        tidy();
        if (round == 1) heap = heap_in_use();
    }
    CHECK(heap_in_use() <= heap + 64 * 1024);
    CHECK(!h.core.closing());
}

TEST_CASE("J3: a writer that is never idle frees the written bytes") {
    harness h;
    h.core.allow_batches(true);
    h.quiet = true;
    const std::string batch = "[" + request_line("1", "a", R"({"x":1})") + "," + request_line("2", "b") + "]";
    const std::string result = R"({"text":")" + std::string(200, 'x') + "\"}";
    h.stall();
    std::size_t heap = 0;
    for (int i = 0; i < 20'000; ++i) {
        h.feed(batch);
        for (serial each : h.running_serials()) h.finish(each, result);
        h.finish(h.request("3"), result);
        if (h.core.queued_bytes() > 2000) h.accept(h.core.queued_bytes() - 1);
        if (i == 2000) heap = heap_in_use();
    }
    CHECK(heap_in_use() <= heap + 1024 * 1024);
    h.resume();
}

TEST_CASE("J4: requests beyond a limit are answered and do not hang") {
    limits l;
    l.max_in_flight = 1;
    l.max_depth = 4;
    l.max_batch = 2;
    harness h(role::server, l);
    h.core.allow_batches(true);
    serial one = h.request("1");
    CHECK(h.request("2") == 0);
    h.feed(request_line("3", "work", R"({"a":{"b":{"c":{"d":1}}}})"));
    h.feed("[" + request_line("4") + "," + request_line("5") + "," + request_line("6") + "]");
    REQUIRE(h.tap.size() == 3);
    CHECK(h.tap[0].find("overloaded") != std::string::npos);
    CHECK(h.tap[1].starts_with(R"({"jsonrpc":"2.0","error":{"code":-32700)"));
    CHECK(h.tap[2] == error_line("", -32600, "batch too large"));
    h.finish(one);
}

TEST_CASE("J1: a progress token longer than 1 KiB is refused") {
    harness h;
    h.feed(request_line("7", "work", R"({"_meta":{"progressToken":")" + std::string(1025, 't') + "\"}}"));
    CHECK(h.invocations() == 0);
    CHECK(h.take_tap() == lines{error_line("7", -32602, "_meta.progressToken is longer than 1024 bytes")});
    serial one = h.request("8", "work", R"({"_meta":{"progressToken":")" + std::string(1024, 't') + "\"}}");
    h.finish(one);
    CHECK(h.tap == lines{result_line("8")});
}
