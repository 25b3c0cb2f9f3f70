// Rules for concurrent events: every ordered pair of events, then orders from a seeded shuffle of the loop's steps,
// then real threads.

#include "support/harness.hpp"

#include <cerrno>
#include <latch>
#include <random>
#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

constexpr std::uint64_t seeds[] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597};

// The events that can end a request.
enum class event_kind { returns, throws, cancel, deadline, eof, write_error };
constexpr event_kind all_events[] = {event_kind::returns,  event_kind::throws, event_kind::cancel,
                                     event_kind::deadline, event_kind::eof,    event_kind::write_error};

/// One request whose handler has done its work and waits, and the events that happen to it.
class parked_request {
public:
    parked_request(bool worker, std::uint64_t seed) : s({.seed = seed}), worker_(worker) {
        s.tool("coroutine", [this](context& ctx) -> task<std::string> {
            head_count::presence here(s.handlers);
            ctx.progress(1);
            try {
                co_await gate_.pass();
            } catch (const cancelled&) {  // ignored: it ends when the test releases it
                ++told;
            }
            co_await gate_.pass();
            ctx.progress(2);
            if (throws_) throw std::runtime_error("on purpose");
            co_return "done";
        });
        s.tool("worker", [this](context& ctx) {
            head_count::presence here(s.handlers);
            ctx.progress(1);
            thread_gate_.pass();
            ctx.progress(2);
            if (throws_) throw std::runtime_error("on purpose");
            return std::string("done");
        });
        s.tool("bystander", [this](context&) -> task<std::string> {
            head_count::presence here(s.handlers);
            co_await other_.pass();
            co_return "untouched";
        });
        s.start("2025-11-25");
        s.later(call_line("1", worker_ ? "worker" : "coroutine", "{}", "1"));
        s.loop->run();
        s.later(call_line("2", "bystander"));
        s.loop->run();
        if (worker_) thread_gate_.wait_arrived(1);
        s.loop->run();
    }

    /// Makes the event happen when the loop runs next.
    void prepare(event_kind e) {
        switch (e) {
            case event_kind::throws: throws_ = true; [[fallthrough]];
            case event_kind::returns:
                released_ = true;
                if (worker_) thread_gate_.open();
                else s.loop->post([this] { gate_.open(); });
                break;
            case event_kind::cancel:
                cancelled_ = true;
                s.later(cancel_line("1"));
                break;
            case event_kind::deadline:
                ended_ = true;
                s.loop->post([this] { s.session->close(1s); });
                break;
            case event_kind::eof:
                ended_ = true;
                s.wire->eof();
                break;
            case event_kind::write_error:
                gone_ = true;
                s.wire->fail_write_after(0, EPIPE);
                s.later(request_line("99", "ping"));  // something to write
                break;
        }
    }
    void settle(event_kind e) {
        bool ends = e == event_kind::returns || e == event_kind::throws;
        if (ends && worker_) s.settle_workers();
        s.loop->run();
        if (e == event_kind::deadline) s.advance(1s);
    }
    /// Lets everything end and checks the outcome of the request.
    void check() {
        if (!released_) {
            if (worker_) thread_gate_.open();
            s.on_loop([this] { gate_.open(); });
        }
        s.settle_workers();
        s.on_loop([this] { other_.open(); });
        s.finish();
        std::size_t answers = s.answers_to("1");
        CHECK(answers <= 1);
        if (!cancelled_ && !gone_) CHECK(answers == 1);
        if (!ended_ && !gone_) CHECK(s.answer("2") == "untouched");
        CHECK_FALSE(s.seen.mentions("on purpose"));
    }

    server_under_test s;
    int told = 0;

private:
    gate gate_;
    gate other_;
    thread_gate thread_gate_;
    bool worker_;
    std::atomic<bool> throws_{false};
    bool released_ = false;
    bool cancelled_ = false;
    bool ended_ = false;
    bool gone_ = false;
};

bool sensible(event_kind a, event_kind b) {
    auto ends = [](event_kind e) { return e == event_kind::returns || e == event_kind::throws; };
    return !(ends(a) && ends(b));  // a handler ends once
}

}  // namespace

TEST_CASE("A1: for every ordered pair of events there is at most one answer, and one if the peer stayed") {
    for (bool worker : {false, true}) {
        for (event_kind a : all_events) {
            for (event_kind b : all_events) {
                if (!sensible(a, b)) continue;
                CAPTURE(worker);
                CAPTURE(static_cast<int>(a));
                CAPTURE(static_cast<int>(b));
                parked_request r(worker, 0);
                r.prepare(a);
                r.settle(a);
                r.prepare(b);
                r.settle(b);
                r.check();
            }
        }
    }
}

TEST_CASE("A1: for any three events in random order there is at most one answer") {
    for (std::uint64_t seed : seeds) {
        for (bool worker : {false, true}) {
            CAPTURE(seed);
            CAPTURE(worker);
            std::mt19937_64 random(seed);
            std::vector<event_kind> some(std::begin(all_events), std::end(all_events));
            std::shuffle(some.begin(), some.end(), random);
            some.resize(3);
            if (!sensible(some[0], some[1]) || !sensible(some[0], some[2]) || !sensible(some[1], some[2]))
                some.pop_back();
            if (!sensible(some[0], some[1])) some.pop_back();
            parked_request r(worker, seed);
            for (event_kind e : some) r.prepare(e);
            for (event_kind e : some) r.settle(e);
            r.check();
        }
    }
}

TEST_CASE("A1, B1, B2, B3: at most one answer if workers end while their cancels arrive") {
    for (std::uint64_t seed : seeds) {
        CAPTURE(seed);
        constexpr int calls = 24;
        std::latch everyone(3);  // two workers and the reader continue together
        std::atomic<int> arrived{0};
        server_under_test s({.workers = 2, .seed = seed});
        s.tool("work", [&](context& ctx) {
            head_count::presence here(s.handlers);
            if (arrived++ < 2) everyone.arrive_and_wait();
            for (int i = 1; i <= 20; ++i) {
                ctx.progress(i);
                ctx.log(log_level::info, i);
                if (ctx.cancelled()) return std::string("stopped: ") + ctx.reason();
            }
            return std::string("done");
        });
        s.start("2025-11-25");
        for (int i = 0; i < calls; ++i) s.later(call_line(std::to_string(i), "work", "{}", std::to_string(i)));
        s.loop->run();
        everyone.arrive_and_wait();
        for (int i = 0; i < calls; i += 2) {
            s.later(cancel_line(std::to_string(i), "enough"));
            s.loop->step();
        }
        s.until([&] { return s.in_flight() == 0; });
        for (int i = 0; i < calls; ++i) {
            if (i % 2 == 0) CHECK(s.answers_to(std::to_string(i)) <= 1);
            else CHECK(s.answer(std::to_string(i)) == "done");
        }
    }
}

TEST_CASE("A1, C12: at most one answer if workers end while the connection ends") {
    enum class way { eof, read_error, write_error, close, hangup };
    for (way w : {way::eof, way::read_error, way::write_error, way::close, way::hangup}) {
        for (std::uint64_t seed : seeds) {
            CAPTURE(static_cast<int>(w));
            CAPTURE(seed);
            std::latch everyone(3);
            server_under_test s({.workers = 2, .seed = seed});
            s.tool("work", [&](context& ctx) {
                head_count::presence here(s.handlers);
                everyone.arrive_and_wait();
                for (int i = 1; i <= 50 && !ctx.cancelled(); ++i) ctx.progress(i);
                return std::string("done");
            });
            s.start("2025-11-25");
            for (const char* id : {"1", "2"}) s.later(call_line(id, "work", "{}", id));
            s.loop->run();
            everyone.arrive_and_wait();
            switch (w) {
                case way::eof: s.wire->eof(); break;
                case way::read_error: s.wire->fail_read(ECONNRESET); break;
                case way::write_error: s.wire->fail_write_after(100, EPIPE); break;
                case way::close: s.loop->post([&] { s.session->close({}); }); break;
                case way::hangup: s.wire->hangup(); break;
            }
            s.until([&] { return s.in_flight() == 0; });
            s.loop->run();
            if (w == way::eof || w == way::close) {
                CHECK(s.answers_to("1") == 1);
                CHECK(s.answers_to("2") == 1);
            }
        }
    }
}

TEST_CASE("B2, B4, B5, B6: cancels between any steps of handler, reader and writer are handled") {
    for (std::uint64_t seed : seeds) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        server_under_test s({.seed = seed});
        s.tool("steps", [&](context& ctx) -> task<std::string> {
            head_count::presence here(s.handlers);
            for (int i = 1; i <= 5; ++i) {
                ctx.progress(i);
                co_await ctx.yield();
            }
            co_return "done";
        });
        s.start("2025-11-25");
        constexpr int calls = 40;
        for (int i = 0; i < calls; ++i) s.later(call_line(std::to_string(i), "steps", "{}", std::to_string(i)));
        for (int i = 0; i < calls; i += 2) s.later(cancel_line(std::to_string(i)));
        for (bool more = true; more;) {
            s.wire->accept(random() % 200);
            more = s.loop->step();
        }
        s.wire->resume();
        s.loop->run();
        CHECK(s.in_flight() == 0);
        for (int i = 0; i < calls; ++i) {
            CHECK(s.answers_to(std::to_string(i)) <= 1);
            if (i % 2 == 1) CHECK(s.answer(std::to_string(i)) == "done");
        }
    }
}

TEST_CASE("C12: two simultaneous ends of a connection are reported once") {
    enum class way { eof, read_error, write_error, close, drain, hangup };
    constexpr way all[] = {way::eof, way::read_error, way::write_error, way::close, way::drain, way::hangup};
    for (way a : all) {
        for (way b : all) {
            for (std::uint64_t seed = 0; seed < 8; ++seed) {
                CAPTURE(static_cast<int>(a));
                CAPTURE(static_cast<int>(b));
                CAPTURE(seed);
                gate never;
                server_under_test s({.seed = seed});
                int ended = 0;
                s.on_ended = [&] { ++ended; };
                s.tool("park", [&](context&) -> task<std::string> {
                    head_count::presence here(s.handlers);
                    co_await never.pass();
                    co_return "";
                });
                s.start("2025-11-25");
                s.call("1", "park");
                auto happen = [&](way w) {
                    switch (w) {
                        case way::eof: return s.wire->eof();
                        case way::read_error: return s.wire->fail_read(EIO);
                        case way::write_error:
                            s.wire->fail_write_after(0, EPIPE);
                            return s.later(request_line("\"p\"", "ping"));
                        case way::close: s.loop->post([&] { s.session->close({}); }); return;
                        case way::drain: s.loop->post([&] { s.session->close(1s); }); return;
                        case way::hangup: return s.wire->hangup();
                    }
                };
                happen(a);
                happen(b);
                s.loop->run();
                s.advance(3s);
                CHECK(ended == 1);
                CHECK(s.ends.size() == 1);
                CHECK(s.ends.at(0).abandoned == 0);
            }
        }
    }
}

TEST_CASE("G1: close may be called any number of times, at any time") {
    for (std::uint64_t seed : seeds) {
        CAPTURE(seed);
        gate cleanup;
        server_under_test s({.seed = seed});
        s.tool("park", [&](context&) -> task<std::string> {
            head_count::presence here(s.handlers);
            try {
                co_await cleanup.pass();
            } catch (const cancelled&) {
            }
            co_await cleanup.pass();
            co_return "";
        });
        s.start("2025-11-25");
        s.call("1", "park");
        std::mt19937_64 random(seed);
        for (int i = 0; i < 10; ++i) {
            duration drain = i % 3 == 0 ? duration(0) : duration(100ms * (random() % 20));
            s.loop->post([&s, drain] { s.session->close(drain); });
        }
        s.loop->run();
        s.advance(1s);
        s.close();
        CHECK(s.ends.empty());  // the server waits for the cleanup
        s.open(cleanup);
        CHECK(s.ends.size() == 1);
        s.close();
        s.close(1h);
        CHECK(s.ends.size() == 1);
    }
}

TEST_CASE("G1, C9: many threads close a connection through their contexts, and keep sending") {
    for (int round = 0; round < 10; ++round) {
        std::latch everyone(4);
        server_under_test s({.workers = 4});
        s.tool("close", [&](context& ctx) {
            head_count::presence here(s.handlers);
            everyone.arrive_and_wait();
            ctx.close_connection();
            ctx.progress(1);
            ctx.log(log_level::error, "after the close");
            ctx.close_connection();
            return std::string("nobody hears this");
        });
        s.start("2025-11-25");
        for (const char* id : {"1", "2", "3", "4"}) s.later(call_line(id, "close", "{}", id));
        s.loop->run();
        s.until([&] { return !s.ends.empty(); });
        CHECK_FALSE(s.seen.mentions("nobody"));
        CHECK(s.ends.at(0).abandoned == 0);
    }
}
