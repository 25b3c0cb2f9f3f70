// Rules C and G: the connection ends or fails, or we close it.

#include "harness.hpp"

using namespace keel;
using namespace keel::rpc;
using namespace keel::rpc::test;

namespace {

std::string shutdown_of(std::string_view id) { return error_line(id, -32603, "server shutting down"); }

}  // namespace

TEST_CASE("C1: at the end of input handlers are cancelled at once, and each request is answered with the reason") {
    harness h;
    serial one = h.request("1");
    serial two = h.request("2");
    h.take_log();
    h.eof();
    CHECK(h.log == lines{"fire 1 shutdown: server shutting down", "fire 2 shutdown: server shutting down"});
    CHECK(h.tap == lines{shutdown_of("1"), shutdown_of("2")});
    CHECK(!h.core.wants_input());
    CHECK(!h.core.closed());  // their cleanup is running
    h.end_quietly(one);
    h.finish(two, R"({"late":true})");
    CHECK(h.core.closed());
    CHECK(h.log.back() == "closed");
    CHECK(h.tap.size() == 2);
}

TEST_CASE("C1: with a drain, answers produced within it are written, then the other requests get an error") {
    harness h(role::server, limits_with([](limits& l) { l.drain_on_eof = 1500ms; }));
    serial one = h.request("1", "work", with_token("1"));
    serial two = h.request("2");
    h.eof();
    CHECK(h.fired == 0);
    h.advance(1s);
    h.progress(one, 1);
    h.finish(one, R"({"v":1})");
    h.advance(499ms);
    CHECK(h.fired == 0);
    h.advance(1ms);
    CHECK(h.tap == lines{progress_line("1", "1"), result_line("1", R"({"v":1})"), shutdown_of("2")});
    h.end_quietly(two);
    CHECK(h.core.closed());
}

TEST_CASE("C1: a drain ends as soon as nothing is left to answer") {
    harness h(role::server, limits_with([](limits& l) { l.drain_on_eof = 1h; }));
    serial one = h.request("1");
    serial two = h.request("2");
    h.eof();
    h.finish(one);
    CHECK(!h.core.closed());
    h.finish(two);
    CHECK(h.core.closed());
    CHECK(h.tap == lines{result_line("1"), result_line("2")});
}

TEST_CASE("C1, F4: a drain without a time limit does not wait for a cancelled handler that ignores the cancel") {
    harness h(role::server, limits_with([](limits& l) { l.drain_on_eof = duration::max(); }));
    h.request("1");
    h.cancel("1");
    serial two = h.request("2");
    h.eof();
    h.advance(24h);
    CHECK(!h.core.closed());  // request 2 may take any time
    h.finish(two);
    h.advance(2s);  // the remaining handlers have cleanup_grace
    CHECK(h.core.closed());
    CHECK(h.log.back() == "closed, 1 abandoned");
    CHECK(h.tap == lines{result_line("2")});
}

TEST_CASE("C1, C6: a drain ends at once when the peer has disconnected") {
    harness h(role::server, limits_with([](limits& l) { l.drain_on_eof = 1h; }));
    serial one = h.request("1");
    h.eof();
    h.write_error("EPIPE");
    CHECK(h.log.back() == "fire 1 closed: EPIPE");
    h.end_quietly(one);
    CHECK(h.log.back() == "closed: EPIPE");
    CHECK(h.tap.empty());
}

TEST_CASE("C1: answers that are ready when input ends are flushed before the connection reports closed") {
    harness h;
    h.stall();
    h.finish(h.request("1"));
    h.eof();
    CHECK(!h.core.closed());
    h.resume();
    CHECK(h.tap == lines{result_line("1")});
    CHECK(h.core.closed());
}

TEST_CASE("C1, G2: final writes that the peer does not read are dropped after final_write") {
    harness h;
    h.stall();
    h.finish(h.request("1"));
    h.eof();
    h.advance(999ms);
    CHECK(!h.core.closed());
    h.advance(1ms);
    CHECK(h.log.back() == "closed: write timeout while closing: the peer did not read the last messages");
    h.resume();
    CHECK(h.tap.empty());
}

TEST_CASE("C1: a request that is read during the drain of our own close gets an error") {
    harness h;
    serial one = h.request("1");
    h.close(10s);
    CHECK(h.core.wants_input());  // a cancel or a nested answer may still arrive
    CHECK(h.request("2") == 0);
    CHECK(h.tap == lines{error_line("2", -32603, "shutting down")});
    h.cancel("1");
    h.end_quietly(one);
    CHECK(h.core.closed());
}

TEST_CASE("C2: nested requests fail when input ends, before any time passes, drain or not") {
    for (duration drain : {duration(0s), duration(10s)}) {
        CAPTURE(drain.count());
        limits l;
        l.drain_on_eof = drain;
        harness h(role::server, l);
        serial one = h.request("1");
        serial two = h.request("2");
        serial a = h.call("sampling/createMessage", one);
        serial b = h.call("elicitation/create", two);
        h.take_log();
        h.take_tap();
        h.eof();
        std::string why = drain > 0s ? " closed: connection closed: input ended" : " closed: connection closed";
        CHECK(h.logged("deliver " + std::to_string(a) + why));
        CHECK(h.logged("deliver " + std::to_string(b) + why));
        CHECK(h.core.waiting() == 0);
        CHECK(h.call("sampling/createMessage", one) == 0);
        CHECK(h.refused.kind == error_kind::closed);
        h.finish(one, R"({"without":"sampling"})");
        h.finish(two, R"({"without":"sampling"})");
        lines answered{result_line("1", R"({"without":"sampling"})"), result_line("2", R"({"without":"sampling"})")};
        lines cut{shutdown_of("1"), shutdown_of("2")};
        CHECK(h.tap == (drain > 0s ? answered : cut));
        CHECK(h.core.closed());
    }
}

TEST_CASE("C3: ten thousand requests in each direction end in linear time") {
    // Steps are counted as actions and frames: each request costs one token and one answer, each waiter one delivery.
    for (bool abrupt : {false, true}) {
        for (std::size_t n : {std::size_t(100), std::size_t(10'000)}) {
            CAPTURE(n);
            CAPTURE(abrupt);
            limits l;
            l.max_in_flight = n;
            l.out_queue = l.out_queue_soft = std::size_t(1) << 40;
            harness h(role::server, l);
            std::vector<serial> requests;
            for (std::size_t i = 0; i < n; ++i) requests.push_back(h.request(std::to_string(i)));
            // Half of the waiters belong to requests, the others to none.
            for (std::size_t i = 0; i < n; ++i) h.call("ask", i % 2 ? requests[i] : 0);
            std::size_t frames = h.written_frames;
            if (abrupt) {
                h.read_error();
            } else {
                h.eof();
            }
            CHECK(h.fired == n);
            CHECK(h.delivered == n);
            CHECK(h.written_frames - frames == (abrupt ? 0 : n));
            CHECK(h.core.waiting() == 0);
            for (serial each : requests) h.end_quietly(each);
            CHECK(h.core.closed());
            CHECK(h.core.running() == 0);
        }
    }
}

TEST_CASE("C4: input that ends before the first message, or between requests, closes and writes nothing") {
    {
        harness h;
        h.eof();
        CHECK(h.log == lines{"closed"});
        CHECK(h.tap.empty());
    }
    {
        harness h;
        h.finish(h.request("0", "initialize"), "{}");
        h.take_tap();
        h.eof();
        CHECK(h.log.back() == "closed");
        CHECK(h.tap.empty());
    }
}

TEST_CASE("C5: a read error ends both directions at once, in each state") {
    enum class state { idle, running, queued, draining, closing };
    for (state s : {state::idle, state::running, state::queued, state::draining, state::closing}) {
        CAPTURE(static_cast<int>(s));
        limits l;
        if (s == state::draining) l.drain_on_eof = 1h;
        harness h(role::server, l);
        serial one = 0;
        serial call = 0;
        if (s != state::idle) {
            one = h.request("1");
            call = h.call("ask", one);
        }
        h.take_tap();
        if (s == state::queued) {
            h.stall();
            h.say(one, "queued");
        }
        if (s == state::draining) h.close(1h);
        if (s == state::closing) {
            h.stall();
            h.close();
        }
        h.read_error("ECONNRESET");
        h.resume();
        CHECK(h.tap.empty());
        CHECK(h.core.waiting() == 0);
        if (s == state::running || s == state::queued || s == state::draining) {
            CHECK(h.logged("fire 1 closed: ECONNRESET"));
            CHECK(h.logged("deliver " + std::to_string(call) + " closed: connection closed: ECONNRESET"));
        }
        if (one) h.finish(one);
        CHECK(h.tap.empty());
        CHECK(h.core.closed());
        CHECK(h.log.back() == "closed: ECONNRESET");
        CHECK(h.fired == (s == state::idle ? 0 : 1));
    }
}

TEST_CASE("C6: a write error at any byte ends both directions, and nothing is written after it") {
    const std::string first = result_line("1", R"({"n":1})");
    const std::size_t frame = first.size() + 1;
    for (std::size_t n : {std::size_t(0), std::size_t(1), frame / 2, frame - 1, frame, frame + 1, frame + frame / 2}) {
        CAPTURE(n);
        harness h;
        serial running = h.request("9");
        serial call = h.call();
        h.take_tap();
        serial one = h.request("1");
        serial two = h.request("2");
        h.fail_write_after(n);
        h.finish(one, R"({"n":1})");
        h.finish(two, R"({"n":2})");
        lines whole;
        if (n >= frame) whole.push_back(first);
        CHECK(h.tap == whole);
        CHECK(h.logged("fire 9 closed: EPIPE"));
        CHECK(h.logged("deliver " + std::to_string(call) + " closed: connection closed: EPIPE"));
        h.fail(running);
        CHECK(h.log.back() == "closed: EPIPE");
        CHECK(h.tap == whole);
    }
}

TEST_CASE("C6: a write that is reported after the end of the connection is ignored") {
    harness h;
    h.stall();
    h.finish(h.request("1"));
    std::size_t handed_over = h.sink.pending().size();
    h.read_error();
    h.on_written(handed_over);
    CHECK(h.sink.pending().empty());
    CHECK(h.core.queued_bytes() == 0);
}

TEST_CASE("C9: every kind of send after the end is discarded and counted, a new call fails at once") {
    for (bool abrupt : {true, false}) {
        CAPTURE(abrupt);
        harness h;
        serial one = h.request("1", "work", with_token("1"));
        if (abrupt) {
            h.write_error();
        } else {
            h.close();
        }
        h.take_tap();
        auto before = h.core.count().dropped_late;
        auto every_send = [&] {
            h.progress(one, 1);
            h.say(one, "x");
            h.say(one, "x", false);
            CHECK(h.notify("notifications/tools/list_changed"));
            h.finish(one);
        };
        every_send();  // while the handler is known
        CHECK(h.core.closed());
        every_send();  // and after everything has ended
        CHECK(h.core.count().dropped_late - before == 10);
        CHECK(h.call() == 0);
        CHECK(h.refused.kind == error_kind::closed);
        h.abandon(12345);
        h.end_quietly(one);
        CHECK(!h.core.begin(one));
        CHECK(h.tap.empty());
    }
}

TEST_CASE("C10: text after the last newline is processed if it is a whole message, otherwise dropped silently") {
    {
        harness h;
        h.remainder(request_line("1"));
        CHECK(h.invocations() == 1);
        for (serial each : h.running_serials()) h.finish(each);
        CHECK(h.tap == lines{result_line("1")});
        h.eof();
    }
    for (std::string text : {R"({"jsonrpc":"2.0","id":1,"met)", R"({"jsonrpc":"2.0","id":1})",
                             R"({"jsonrpc":"2.0","id":null,"method":"x"})", "12", "\"text\"", "null", "[]",
                             R"([{"jsonrpc":"2.0","id":1,"method":"x"}])", "\xff"}) {
        CAPTURE(text);
        harness h;
        h.remainder(text);
        CHECK(h.invocations() == 0);
        CHECK(h.tap.empty());
        h.eof();
        CHECK(h.tap.empty());
    }
}

TEST_CASE("C11: a peer that reads no byte for write_stall while output is queued is disconnected") {
    harness h;
    serial running = h.request("2");
    h.stall();
    h.finish(h.request("1"));
    h.advance(29s);
    h.accept(1);  // one byte restarts the timeout
    h.advance(29s);
    CHECK(!h.core.closing());
    h.advance(1s);
    CHECK(h.logged("fire 2 closed: write timeout: the peer reads nothing"));
    h.end_quietly(running);
    CHECK(h.log.back() == "closed: write timeout: the peer reads nothing");
}

TEST_CASE("C11: the write timeout does not run while nothing is queued") {
    harness h;
    h.stall();
    h.advance(1h);
    CHECK(!h.core.closing());
    h.finish(h.request("1"));
    h.advance(29s);
    h.resume();
    CHECK(h.tap == lines{result_line("1")});
    h.advance(1h);
    CHECK(!h.core.closing());
}

TEST_CASE("C12, G1: two causes end the connection once") {
    using ending = void (*)(harness&);
    const std::pair<const char*, ending> endings[] = {
        {"eof", [](harness& h) { h.eof(); }},
        {"read error", [](harness& h) { h.read_error(); }},
        {"write error", [](harness& h) { h.write_error(); }},
        {"close", [](harness& h) { h.close(); }},
        {"close with drain", [](harness& h) { h.close(500ms); }},
        {"stall", [](harness& h) { h.advance(30s); }},
    };
    for (duration drain : {duration(0s), duration(1s)}) {
        for (const auto& [first_name, first] : endings) {
            for (const auto& [second_name, second] : endings) {
                std::string a = first_name;
                std::string b = second_name;
                CAPTURE(a);
                CAPTURE(b);
                CAPTURE(drain.count());
                limits l;
                l.drain_on_eof = drain;
                harness h(role::server, l);
                serial one = h.request("1");
                serial call = h.call("ask", one);
                h.call();
                h.stall();
                h.say(one, "queued");
                first(h);
                second(h);
                h.resume();
                h.advance(1s);
                CHECK(h.fired == 1);
                CHECK(h.delivered == 2);
                CHECK(h.core.closing());
                h.end_quietly(one);
                h.advance(1s);
                CHECK(h.core.closed());
                CHECK(h.closed_reports == 1);
                CHECK(h.answers_to("1") <= 1);
                first(h);
                second(h);
                CHECK(h.closed_reports == 1);
                static_cast<void>(call);
            }
        }
    }
}

TEST_CASE("C13: input that ends with nothing in flight closes in the same turn") {
    harness h;
    h.finish(h.request("1"));
    h.eof();
    CHECK(h.core.closed());
}

TEST_CASE("G1: close is idempotent, and may be called before the first message") {
    harness h;
    for (int i = 0; i < 100; ++i) h.close(i % 2 ? duration(1s) : duration(0s));
    CHECK(h.log == lines{"closed"});
}

TEST_CASE("G1: a second close can shorten a drain but not lengthen it") {
    harness h;
    serial one = h.request("1");
    duration deadline{};
    SUBCASE("a longer one") {
        h.close(10s);
        h.close(20s);
        deadline = 10s;
    }
    SUBCASE("a longer one, later") {
        h.close(10s);
        h.advance(3s);
        h.close(10s);
        deadline = 7s;
    }
    SUBCASE("a shorter one") {
        h.close(10s);
        h.close(5s);
        deadline = 5s;
    }
    h.advance(deadline - 1ms);
    CHECK(h.fired == 0);
    h.advance(1ms);
    CHECK(h.fired == 1);
    h.end_quietly(one);
    CHECK(h.core.closed());
}

TEST_CASE("G1: a drain that was cut short leaves no timer behind") {
    harness h;
    serial one = h.request("1");
    h.close(1s);
    h.close(0s);
    CHECK(h.core.next_deadline() == h.now() + limits().cleanup_grace);
    h.end_quietly(one);
    CHECK(h.core.closed());
}

// This order is our choice: tokens are triggered before waiters are notified, in the same turn. A handler that waits
// for a nested answer is therefore interrupted once, by its token, and its cleanup is not interrupted again (B15).
TEST_CASE("G2: the order of a local close") {
    harness h;
    serial one = h.request("1");
    serial nested = h.call("ask", one);
    serial call = h.call();
    h.take_log();
    h.take_tap();
    h.stall();
    h.close();
    CHECK(!h.core.wants_input());
    h.feed(request_line("2"));  // not read any more
    CHECK(h.log == lines{"fire 1 shutdown: server shutting down",
                         "deliver " + std::to_string(nested) + " closed: connection closed",
                         "deliver " + std::to_string(call) + " closed: connection closed"});
    h.take_log();
    h.end_quietly(one);
    CHECK(h.log.empty());  // the last frame waits
    h.resume();
    CHECK(h.tap == lines{shutdown_of("1")});
    CHECK(h.log == lines{"closed"});
}

TEST_CASE("G2: cleanup and final writes are limited; the limits add up") {
    harness h;
    h.request("1");
    h.request("2");
    h.stall();
    h.close();
    h.advance(2s);  // cleanup_grace: the handlers are abandoned
    CHECK(!h.core.closed());
    h.advance(1s);  // final_write
    CHECK(h.log.back() == "closed: write timeout while closing: the peer did not read the last messages, 2 abandoned");
}

TEST_CASE("F6: a handler that closes its own connection is not answered, and closing waits for it") {
    for (duration drain : {duration(0s), duration(10s)}) {
        CAPTURE(drain.count());
        harness h;
        serial one = h.request("1");
        serial two = h.request("2");
        h.take_log();
        h.close(drain, one);
        CHECK(h.log[0] == "fire 1 closed: connection closed by its own handler");
        CHECK(!h.core.closed());
        h.finish(one, R"({"v":1})");
        h.finish(two, R"({"v":2})");
        CHECK(h.tap == lines{drain > 0s ? result_line("2", R"({"v":2})") : shutdown_of("2")});
        CHECK(h.log.back() == "closed");
    }
}

TEST_CASE("the client role ends by the same rules, with its own error text") {
    harness h(role::client);
    serial one = h.request("1", "sampling/createMessage");
    serial call = h.call("tools/call");
    h.take_tap();
    h.eof();
    CHECK(h.tap == lines{error_line("1", -32603, "client shutting down")});
    CHECK(h.log.back() == "deliver " + std::to_string(call) + " closed: connection closed");
    h.end_quietly(one);
    CHECK(h.core.closed());
}
