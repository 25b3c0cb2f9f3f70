// Tasks that are cancelled by a timeout or by a stop token.

#include "async/timeout.hpp"
#include "support/manual_loop.hpp"
#include "support/real_loops.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;
using async::timed_run;
using test::manual_loop;

namespace {

struct waiting_task {
    event go;
    bool stopped = false;
    bool stubborn = false;  // returns a value although it was cancelled
    event cleanup;
    bool slow_cleanup = false;

    task<int> run() {
        try {
            co_await go;
        } catch (const cancelled&) {
            stopped = true;
            if (!stubborn && !slow_cleanup) throw;
        }
        if (stopped && slow_cleanup) {
            co_await cleanup;
            throw cancelled();
        }
        co_return 7;
    }
};

/// Awaits the task and returns its outcome: "7", "cancelled", "late cancelled", …
task<std::string> outcome_of(async::timed_run<int>& run) {
    std::string text;
    try {
        text = std::to_string(co_await run);
    } catch (const cancelled&) {
        text = "cancelled";
    } catch (const std::exception& e) {
        text = e.what();
    }
    if (run.reason() == async::abandon_reason::timeout) text = "late " + text;
    if (run.reason() == async::abandon_reason::stop_token) text = "stopped " + text;
    co_return text;
}

task<std::string> bounded(task<int> work, duration bound, std::stop_token stop = {}) {
    async::timed_run<int> run(std::move(work), bound, std::move(stop));
    co_return co_await outcome_of(run);
}

struct timed_task {
    detail::activity line;
    std::string text = "running";

    timed_task(loop& l, task<std::string> work) : line(l) {
        detail::start(line, std::move(work),
                      [this](detail::outcome<std::string> o) { text = o.index() == 1 ? std::get<1>(o) : "thrown"; });
    }
};

task<int> at_once() { co_return 1; }
task<int> fails() {
    throw std::runtime_error("failed");
    co_return 0;
}

}  // namespace

TEST_CASE("a task that ends in time is not affected, and leaves no timer") {
    manual_loop loop;
    CHECK(timed_task(loop, bounded(at_once(), 1s)).text == "1");
    CHECK(timed_task(loop, bounded(fails(), 1s)).text == "failed");
    CHECK(loop.timers() == 0);
    waiting_task w;
    timed_task s(loop, bounded(w.run(), 1s));
    CHECK(loop.timers() == 1);
    w.go.set();
    loop.run();
    CHECK(s.text == "7");
    CHECK(loop.timers() == 0);
    loop.advance(1h);
    CHECK(!w.stopped);
}

TEST_CASE("a task that exceeds its timeout is cancelled, and waited for while it cleans up") {
    manual_loop loop;
    waiting_task w;
    w.slow_cleanup = true;
    timed_task s(loop, bounded(w.run(), 1s));
    loop.advance(999ms);
    CHECK(!w.stopped);
    loop.advance(1ms);
    CHECK(w.stopped);
    CHECK(s.text == "running");
    loop.advance(1h);
    CHECK(s.text == "running");
    w.cleanup.set();
    loop.run();
    CHECK(s.text == "late cancelled");
    CHECK(loop.timers() == 0);
}

TEST_CASE("a task that returns a value after its cancellation has that value") {
    manual_loop loop;
    waiting_task w;
    w.stubborn = true;
    timed_task s(loop, bounded(w.run(), 1s));
    loop.advance(1s);
    CHECK(s.text == "late 7");
}

TEST_CASE("without a timeout there is no timer") {
    manual_loop loop;
    waiting_task w;
    timed_task s(loop, bounded(w.run(), duration::max()));
    CHECK(loop.timers() == 0);
    w.go.set();
    loop.run();
    CHECK(s.text == "7");
}

TEST_CASE("a stop token cancels the task: before it begins, while it runs, after it has ended") {
    manual_loop loop;
    {
        std::stop_source stop;
        stop.request_stop();
        waiting_task w;
        timed_task s(loop, bounded(w.run(), 1s, stop.get_token()));
        loop.run();
        CHECK(s.text == "stopped cancelled");
        CHECK(loop.timers() == 0);
    }
    {
        std::stop_source stop;
        waiting_task w;
        timed_task s(loop, bounded(w.run(), 1s, stop.get_token()));
        stop.request_stop();
        CHECK(!w.stopped);  // the request is handled on the loop
        stop.request_stop();
        loop.run();
        CHECK(w.stopped);
        CHECK(s.text == "stopped cancelled");
        CHECK(loop.timers() == 0);
    }
    {
        std::stop_source stop;
        waiting_task w;
        timed_task s(loop, bounded(w.run(), 1s, stop.get_token()));
        w.go.set();
        loop.run();
        stop.request_stop();
        loop.run();
        CHECK(s.text == "7");
    }
}

TEST_CASE("the first of token, timeout and end decides") {
    for (int order = 0; order < 3; ++order) {
        manual_loop loop;
        std::stop_source stop;
        waiting_task w;
        w.slow_cleanup = true;
        timed_task s(loop, bounded(w.run(), 1s, stop.get_token()));
        if (order == 0) {
            stop.request_stop();
            loop.run();
            loop.advance(1s);
        }
        if (order == 1) {
            loop.advance(1s);
            stop.request_stop();
            loop.run();
        }
        if (order == 2) {
            stop.request_stop();
            w.go.set();  // before the loop has processed the token
            loop.run();
            CHECK(s.text == "7");
            continue;
        }
        w.cleanup.set();
        loop.run();
        CHECK(s.text == (order == 0 ? "stopped cancelled" : "late cancelled"));
    }
}

TEST_CASE("if the waiting task is cancelled, the inner task is cancelled and ends first, and no reason is reported") {
    for (bool slow : {false, true}) {
        manual_loop loop;
        waiting_task w;
        w.slow_cleanup = slow;
        timed_task s(loop, bounded(w.run(), 1s));
        s.line.stop();
        loop.run();
        CHECK(w.stopped);
        if (slow) {
            CHECK(s.text == "running");
            loop.advance(10s);  // the timeout after the cancellation has no effect
            w.cleanup.set();
            loop.run();
        }
        CHECK(s.text.ends_with("cancelled"));
        CHECK(loop.timers() == 0);
    }
}

TEST_CASE(
    "if the waiting task is cancelled and the inner task returns a value, the value is there, and the next "
    "wait throws") {
    manual_loop loop;
    std::vector<std::unique_ptr<waiting_task>> tasks;
    int values = 0;
    auto again_and_again = [&]() -> task<std::string> {
        while (tasks.size() < 5) {
            tasks.push_back(std::make_unique<waiting_task>());
            tasks.back()->stubborn = true;
            async::timed_run<int> run(tasks.back()->run(), 1s, {});
            try {
                values += co_await run;
            } catch (const cancelled&) {
                co_return run.reason() == async::abandon_reason::none ? "cancelled" : "given up";
            }
        }
        co_return "not cancelled";
    };
    timed_task s(loop, again_and_again());
    s.line.stop();
    loop.run();
    CHECK(values == 7);
    CHECK(s.text == "cancelled");
    CHECK(loop.timers() == 0);
}

TEST_CASE("if the waiting task was cancelled before, the inner task never begins") {
    manual_loop loop;
    waiting_task w;
    detail::activity line(loop);
    line.stop();
    std::string text = "running";
    detail::start(line, bounded(w.run(), 1s),
                  [&](detail::outcome<std::string> o) { text = o.index() == 1 ? std::get<1>(o) : "thrown"; });
    loop.run();
    CHECK(text == "cancelled");
    CHECK(!w.stopped);
    CHECK(loop.timers() == 0);
}

TEST_CASE("nested timeouts: the inner one is distinguished from the outer one") {
    manual_loop loop;
    waiting_task w;
    auto inner = [](task<int> work) -> task<int> {
        std::string text = co_await bounded(std::move(work), 10s);
        co_return text == "late cancelled" ? 1 : 2;
    };
    timed_task outer_first(loop, bounded(inner(w.run()), 5s));
    loop.advance(5s);
    CHECK(outer_first.text == "late 2");
    waiting_task again;
    timed_task inner_first(loop, bounded(inner(again.run()), 50s));
    loop.advance(10s);
    CHECK(inner_first.text == "1");
    CHECK(loop.timers() == 0);
}

TEST_CASE("tokens fired on another thread while tasks end: each task ends once") {
    test::on_epoll l;
    for (int round = 0; round < 300; ++round) {
        std::stop_source stop;
        std::atomic<bool> go{false};
        waiting_task w;
        timed_task s(l.loop(), bounded(w.run(), 1h, stop.get_token()));
        std::thread other([&] {
            while (!go.load()) std::this_thread::yield();
            stop.request_stop();
        });
        go = true;
        if (round % 3 == 0) l.shared->run_turn(false);
        if (round % 2 == 0) w.go.set();
        l.until([&] { return s.text != "running"; });
        other.join();
        CHECK((s.text == "7" || s.text == "stopped cancelled"));
    }
}
