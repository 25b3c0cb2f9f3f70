// Lifecycle rules C and G over a server session: the connection ends, or the server closes it.

#include "support/harness.hpp"

#include <cerrno>
#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

limits with_drain(duration d) {
    limits l;
    l.drain_on_eof = d;
    return l;
}

/// A tool that waits at a gate and ignores its cancellation.
void add_park(server_under_test& s, gate& g, std::string name = "park") {
    s.tool(std::move(name), [&s, &g](context&) -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await g.pass();
        co_return "done";
    });
}

constexpr const char* shutting_down = "error -32603 server shutting down";

}  // namespace

TEST_CASE("C1: end of input without drain cancels in that turn, and answers each request with the reason") {
    gate never;
    server_under_test s;
    add_park(s, never);
    s.start("2025-11-25");
    s.call("1", "park");
    s.call("2", "park");
    s.wire->eof();
    REQUIRE(s.loop->step());
    CHECK(s.handlers.here() == 0);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause.empty());
    CHECK(s.ends[0].abandoned == 0);
    CHECK(s.answer("1") == shutting_down);
    CHECK(s.answer("2") == shutting_down);
    CHECK(s.seen.take().size() == 2);
    CHECK(s.wire->closed());
}

TEST_CASE("C1: with a drain of 1.5 s calls that finish by then are answered, the others get the reason") {
    gate first;
    gate never;
    server_under_test s({.bounds = with_drain(1500ms)});
    add_park(s, first, "first");
    add_park(s, never, "second");
    s.start("2025-11-25");
    s.call("1", "first");
    s.call("2", "second");
    s.eof();
    CHECK(s.handlers.here() == 2);
    s.advance(1s);
    s.open(first);
    CHECK(s.answer("1") == "done");
    CHECK(s.ends.empty());
    s.advance(499ms);
    CHECK(s.answers_to("2") == 0);
    s.advance(1ms);
    CHECK(s.answer("2") == shutting_down);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause.empty());
}

TEST_CASE("C1: a drain ends as soon as nothing is left to answer") {
    gate g;
    server_under_test s({.bounds = with_drain(duration::max())});
    add_park(s, g);
    s.start("2025-11-25");
    s.call("1", "park");
    s.eof();
    s.advance(24h);
    CHECK(s.ends.empty());
    s.open(g);
    CHECK(s.answer("1") == "done");
    CHECK(s.ends.size() == 1);
}

TEST_CASE("C1: everything that was read before the end is dispatched, and ready answers are flushed") {
    server_under_test s;
    s.tool("quick", [] { return "done"; }, {.quick = true});
    s.start("2025-11-25");
    s.wire->accept(10);  // the writer is slow
    std::string all;
    for (int i = 0; i < 100; ++i) all += call_line(std::to_string(i), "quick") + "\n";
    s.later_bytes(all);
    s.eof();
    CHECK(s.ends.empty());
    s.wire->resume();
    s.loop->run();
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause.empty());
    for (int i = 0; i < 100; ++i) CHECK(s.answer(std::to_string(i)) == "done");
}

TEST_CASE("C1: if the peer has disconnected a drain ends at once and nothing is written") {
    gate never;
    server_under_test s({.bounds = with_drain(1h)});
    add_park(s, never);
    s.start("2025-11-25");
    s.call("1", "park");
    s.eof();
    CHECK(s.handlers.here() == 1);
    s.wire->hangup();
    s.loop->run();
    CHECK(s.handlers.here() == 0);
    CHECK(s.ends.size() == 1);
    CHECK(s.seen.take().empty());
}

TEST_CASE("C2: handlers that wait for the peer are resumed at the end of input, not later") {
    duration drain{};
    SUBCASE("without drain") {}
    SUBCASE("with a drain they may still answer") { drain = 10s; }
    server_under_test s({.bounds = with_drain(drain)});
    std::vector<std::string> woken;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await ctx.request("roots/list", json::value());
        } catch (const error& e) {
            woken.emplace_back(name_of(e.kind()));
        }
        co_return "answered all the same";
    });
    s.start("2025-11-25");
    s.call("1", "ask");
    s.call("2", "ask");
    s.wire->eof();
    REQUIRE(s.loop->step());
    CHECK(woken == std::vector<std::string>{"connection closed", "connection closed"});
    s.loop->run();
    CHECK(s.ends.size() == 1);
    std::string expected = drain > duration::zero() ? "answered all the same" : shutting_down;
    CHECK(s.answer("1") == expected);
    CHECK(s.answer("2") == expected);
}

TEST_CASE("C4: end of input before the first message, and in the middle of the handshake") {
    server_under_test s;
    s.start();
    SUBCASE("before the first message") {}
    SUBCASE("between initialize and notifications/initialized") {
        s.send(s.initialize_line("0", "2025-11-25"));
        s.seen.take();
    }
    s.eof();
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause.empty());
    CHECK(s.seen.take().empty());
}

TEST_CASE("C5: a read error ends both directions in every state, and its cause is reported") {
    gate g;
    server_under_test s({.bounds = with_drain(1h)});
    add_park(s, g);
    std::string nested;
    s.tool("ask", [&](context& ctx) -> task<std::string> {
        head_count::presence here(s.handlers);
        try {
            co_await ctx.request("roots/list", json::value());
        } catch (const error& e) {
            nested = name_of(e.kind());
        }
        co_return "";
    });
    SUBCASE("before the first message") { s.start(); }
    SUBCASE("idle") { s.start("2025-11-25"); }
    SUBCASE("handlers running and asking") {
        s.start("2025-11-25");
        s.call("1", "park");
        s.call("2", "ask");
        s.seen.take();
    }
    SUBCASE("answers waiting to be written") {
        s.start("2025-11-25");
        s.wire->stall();
        s.send(request_line("1", "ping"));
    }
    SUBCASE("draining on request") {
        s.start("2025-11-25");
        s.call("1", "park");
        s.close(10s);
        s.seen.take();
    }
    s.wire->fail_read(ECONNRESET);
    s.loop->run();
    CHECK(s.handlers.here() == 0);
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause == std::strerror(ECONNRESET));
    s.wire->resume();
    s.loop->run();
    CHECK(s.seen.take().empty());
    if (!nested.empty()) CHECK(nested == "connection closed");
}

TEST_CASE("C6: a write error before, inside or between frames ends the connection at that moment") {
    std::string two = result_line("1") + "\n" + result_line("2") + "\n";
    for (std::size_t n :
         {std::size_t(0), std::size_t(1), two.size() / 4, two.size() / 2, two.size() / 2 + 1, two.size() - 1}) {
        CAPTURE(n);
        gate never;
        server_under_test s({.bounds = with_drain(1h)});
        add_park(s, never);
        s.start("2025-11-25");
        s.call("3", "park");
        s.wire->fail_write_after(n, EPIPE);
        s.later_bytes(request_line("1", "ping") + "\n" + request_line("2", "ping") + "\n");
        s.loop->run();
        REQUIRE(s.ends.size() == 1);
        CHECK(s.ends[0].cause == std::strerror(EPIPE));
        CHECK(s.handlers.here() == 0);
        std::size_t whole = n >= two.size() / 2 ? 1 : 0;
        CHECK(s.seen.take().size() == whole);
        CHECK(s.seen.partial().size() == n - whole * (two.size() / 2));
        s.finish();
    }
}

TEST_CASE("C7: a disconnected peer is detected without writing to it") {
    gate never;
    server_under_test s;
    add_park(s, never);
    s.start("2025-11-25");
    s.call("1", "park");
    s.wire->hangup();
    REQUIRE(s.loop->step());
    REQUIRE(s.ends.size() == 1);
    CHECK(s.handlers.here() == 0);
    CHECK_FALSE(s.ends[0].cause.empty());
    CHECK(s.seen.take().empty());
}

TEST_CASE("C7: a disconnected peer is detected while reading is paused by backpressure") {
    limits l;
    l.out_queue_soft = 1000;
    l.out_queue = 2000;
    server_under_test s({.bounds = l});
    s.tool("big", [] { return std::string(3000, 'x'); }, {.quick = true});
    s.start("2025-11-25");
    s.wire->stall();
    s.call("1", "big");
    CHECK(s.wire->paused());
    s.call("2", "big");
    CHECK(s.wire->unread() == 1);
    s.wire->hangup();
    s.loop->run();
    CHECK(s.ends.size() == 1);
}

TEST_CASE("C9: after the end every way to send something does nothing, from any thread") {
    peer_under_test p(rpc::role::server);
    std::shared_ptr<rpc::request> request;
    p.on["save"] = [&](std::shared_ptr<rpc::request> r) -> task<std::string> {
        request = r;
        co_return "{}";
    };
    p.send(request_line("1", "save", R"({"_meta":{"progressToken":1}})"));
    p.eof();
    REQUIRE(p.peer->closed());
    p.seen.take();
    std::uint64_t before = p.peer->core().count().dropped_late;
    constexpr int each = 15;
    auto speak = [&] {
        for (int i = 0; i < each; ++i) {
            request->progress(i, {}, "late");
            request->notify("notifications/message", "{}", true);
        }
        request->close_connection();
        request->finish(rpc::handler_outcome::of(std::string("{}")));
    };
    std::thread one(speak);
    std::thread two(speak);
    one.join();
    two.join();
    p.loop->run();
    CHECK(p.peer->core().count().dropped_late - before == 4 * each);
    before = p.peer->core().count().dropped_late;
    p.on_loop([&] {
        p.peer->notify("notifications/tools/list_changed", {});
        p.peer->send_progress(1, 1, {}, {});
        p.peer->send_scoped(1, "notifications/message", "{}", false);
        p.peer->finish(1, "{}");
        p.peer->finish(1, rpc::failure{1, "late", {}});
        p.peer->close();
    });
    CHECK(p.peer->core().count().dropped_late - before == 5);
    auto& a = p.ask("roots/list");
    CHECK(a.outcome == "connection closed: connection closed");
    CHECK(p.seen.take().empty());
    request.reset();
}

TEST_CASE("C9: a closed session sends no change notifications") {
    server_under_test s;
    s.start("2025-11-25");
    s.eof();
    s.tool("new", [] { return ""; }, {.quick = true});
    s.on_loop([&] { s.session->list_changed(list_kind::tools); });
    CHECK(s.seen.take().empty());
}

TEST_CASE("C10: a last line without a newline is served if it is complete, and ignored otherwise") {
    server_under_test s;
    s.tool("quick", [] { return "done"; }, {.quick = true});
    s.start("2025-11-25");
    SUBCASE("a whole line") {
        s.later_bytes(call_line("1", "quick"));
        s.loop->run();
        CHECK(s.answers_to("1") == 0);
        s.eof();
        CHECK(s.answer("1") == "done");
    }
    SUBCASE("a whole line, in pieces") {
        std::string line = call_line("1", "quick");
        s.seen.note_input(line);
        for (char c : line) s.wire->feed(std::string(1, c));
        s.eof();
        CHECK(s.answer("1") == "done");
    }
    SUBCASE("a truncated line") {
        std::string line = call_line("1", "quick");
        s.later_bytes(line.substr(0, line.size() - 1));
        s.eof();
        CHECK(s.seen.take().empty());
    }
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause.empty());
}

TEST_CASE("C11: a peer that reads nothing for write_stall is disconnected") {
    gate never;
    server_under_test s;
    add_park(s, never);
    s.start("2025-11-25");
    s.call("1", "park");
    s.wire->stall();
    s.advance(1h);  // nothing is queued, so no timeout applies
    CHECK(s.ends.empty());
    s.send(request_line("2", "ping"));
    s.advance(29s);
    s.wire->accept(1);  // any byte restarts the timeout
    s.loop->run();
    s.advance(29s);
    CHECK(s.ends.empty());
    s.advance(1s);
    REQUIRE(s.ends.size() == 1);
    CHECK_FALSE(s.ends[0].cause.empty());
    CHECK(s.handlers.here() == 0);
}

TEST_CASE("C13: end of input with nothing in flight closes in one turn") {
    server_under_test s;
    s.start("2025-11-25");
    s.wire->eof();
    REQUIRE(s.loop->step());
    REQUIRE(s.ends.size() == 1);
    CHECK(s.ends[0].cause.empty());
    CHECK(s.loop->ready() == 0);
    CHECK(s.loop->timers() == 0);
}

TEST_CASE("G1: a session that is closed before its start ends at its start") {
    server_under_test s;
    s.on_loop([&] { s.session->close({}); });
    CHECK(s.ends.empty());
    s.on_loop([&] { s.start(); });
    CHECK(s.ends.size() == 1);
}

TEST_CASE("G2: a local close cancels handlers, fails calls and writes the last answer before it closes") {
    gate never;
    gate cleanup;
    limits l;
    peer_under_test p(rpc::role::server, l);
    auto note = [&](const char* what) { p.events.emplace_back(what); };
    p.on["work"] = [&](std::shared_ptr<rpc::request> r) -> task<std::string> {
        struct at_end {
            lines& events;
            ~at_end() { events.emplace_back("handler ended"); }
        } end{p.events};
        try {
            co_await never.pass();
        } catch (const cancelled&) {
            note("handler told");
        }
        co_await cleanup.pass();
        r->progress(1, {}, {});
        co_return "{}";
    };
    auto& waiter = p.ask("roots/list");
    p.send(request_line("1", "work", R"({"_meta":{"progressToken":1}})"));
    p.seen.take();
    p.events.clear();
    p.wire->stall();
    p.close();
    CHECK(waiter.outcome == "connection closed: connection closed");
    p.send(request_line("2", "late"));  // nothing more is read
    p.open(cleanup);
    CHECK(p.events == lines{"handler told", "settled roots/list", "handler ended"});
    CHECK_FALSE(p.wire->closed());  // the last answer waits for the writer
    p.advance(999ms);
    CHECK_FALSE(p.wire->closed());
    SUBCASE("the last bytes are accepted in time") {
        p.wire->resume();
        p.loop->run();
        CHECK(p.seen.answer("1") == shutting_down);
        CHECK(p.seen.take().size() == 1);
        CHECK(p.cause.empty());
    }
    SUBCASE("the last bytes are not accepted in time") {
        p.advance(1ms);
        CHECK(p.seen.take().empty());
        CHECK_FALSE(p.cause.empty());
    }
    CHECK(p.wire->closed());
    CHECK(p.events == lines{"handler told", "settled roots/list", "handler ended", "closed"});
}

TEST_CASE("G3: close from inside any callback neither waits for itself nor ends twice") {
    gate never;
    peer_under_test p(rpc::role::server);
    auto close = [&] { p.peer->close(); };
    p.on_end = close;
    p.on["park"] = [&](std::shared_ptr<rpc::request>) -> task<std::string> {
        co_await never.pass();
        co_return "{}";
    };
    p.send(request_line("1", "park"));
    SUBCASE("in on_closed") { p.eof(); }
    SUBCASE("in a handler") {
        p.on["close"] = [&](std::shared_ptr<rpc::request>) -> task<std::string> {
            close();
            co_return "{}";
        };
        p.send(request_line("2", "close"));
    }
    SUBCASE("in a notification handler") {
        p.hear = [&](std::string_view, const json::value*) { close(); };
        p.send(notification_line("notifications/x"));
    }
    SUBCASE("in a progress callback") {
        rpc::peer::call_options_with_progress options;
        options.on_progress = [&](const json::value&) { close(); };
        p.ask("work", {}, options);
        std::string token = json::to_string(json::parse(p.seen.all().back())["params"]["_meta"]["progressToken"]);
        p.send(progress_line(token, "1"));
    }
    SUBCASE("in the stop callback of a handler") {
        p.on["stop"] = [&](std::shared_ptr<rpc::request>) -> task<std::string> {
            try {
                co_await never.pass();
            } catch (const cancelled&) {
                close();
            }
            co_return "{}";
        };
        p.send(request_line("2", "stop"));
        p.cancel("2");
    }
    CHECK(p.closings == 1);
    CHECK(p.peer->closed());
}

TEST_CASE("G4: a session can be destroyed in its own last callback") {
    gate never;
    server_under_test s;
    add_park(s, never);
    s.start("2025-11-25");
    s.call("1", "park");
    s.on_ended = [&] { s.session.reset(); };
    SUBCASE("at the end of input") { s.eof(); }
    SUBCASE("after a failure") {
        s.wire->hangup();
        s.loop->run();
    }
    SUBCASE("after our own close") { s.close(); }
    SUBCASE("after cleanup_grace") {
        gate deaf;
        s.tool("deaf", [&](context&) -> task<std::string> {
            head_count::presence here(s.handlers);
            for (int i = 0; i < 2; ++i) {
                try {
                    co_await deaf.pass();
                } catch (const cancelled&) {
                }
            }
            co_return "";
        });
        s.call("2", "deaf");
        s.eof();
        s.advance(2s);
        CHECK(s.ends.size() == 1);
        s.open(deaf);
    }
    SUBCASE("when a quick handler closes") {
        s.tool("close",
               [](context& ctx) {
                   ctx.close_connection();
                   return "";
               },
               {.quick = true});
        s.call("2", "close");
    }
    CHECK(s.ends.size() == 1);
    CHECK(s.wire->destroyed());
}
