#include "support/manual_loop.hpp"

#include <keel/async.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;
using test::manual_loop;

namespace {

/// A task that was started and how it ended.
template <class T>
struct running {
    detail::activity line;
    std::optional<detail::outcome<T>> ended;

    explicit running(loop& l) : line(l) {}
    void start(task<T> work) {
        detail::start(line, std::move(work), [this](detail::outcome<T> result) { ended = std::move(result); });
    }
    bool failed() const { return ended && ended->index() == 0; }
    std::string failure() const {
        if (!failed()) return "none";
        try {
            std::rethrow_exception(std::get<0>(*ended));
        } catch (const std::exception& e) {
            return e.what();
        }
    }
};

using trace = std::vector<std::string>;

task<int> answer() { co_return 42; }

task<std::unique_ptr<int>> moved() {
    auto made = std::make_unique<int>(7);
    co_return made;
}

task<int> thrower() {
    throw std::runtime_error("broken");
    co_return 0;
}

}  // namespace

TEST_CASE("a task runs inline when it is awaited, and returns its value") {
    manual_loop loop;
    running<int> r(loop);
    auto outer = []() -> task<int> {
        auto held = co_await moved();
        int a = co_await answer();
        co_return a + *held;
    };
    task<int> lazy = outer();
    CHECK(!r.ended);
    r.start(std::move(lazy));
    REQUIRE(r.ended);
    CHECK(std::get<1>(*r.ended) == 49);
    CHECK(loop.steps() == 0);
}

TEST_CASE("a task that is never awaited frees its resources") {
    auto held = std::make_shared<int>(1);
    auto keep = [](std::shared_ptr<int> p) -> task<int> { co_return *p; };
    {
        task<int> t = keep(held);
        CHECK(held.use_count() == 2);
    }
    CHECK(held.use_count() == 1);
}

TEST_CASE("an exception passes through awaits to the starter of the task") {
    manual_loop loop;
    running<int> r(loop);
    auto outer = []() -> task<int> { co_return co_await thrower() + 1; };
    r.start(outer());
    CHECK(r.failure() == "broken");
}

TEST_CASE("sleeping tasks wake in the order of their time") {
    manual_loop loop;
    trace seen;
    auto sleeper = [&](std::string name, duration d) -> task<void> {
        co_await sleep_for(d);
        seen.push_back(name);
    };
    running<void> a(loop);
    running<void> b(loop);
    a.start(sleeper("late", 20ms));
    b.start(sleeper("early", 10ms));
    CHECK(loop.timers() == 2);
    loop.advance(9ms);
    CHECK(seen.empty());
    loop.advance(1ms);
    CHECK(seen == trace{"early"});
    loop.advance(1h);
    CHECK(seen == trace{"early", "late"});
    CHECK(loop.timers() == 0);
}

TEST_CASE("yield lets everything that is ready run first") {
    manual_loop loop;
    trace seen;
    running<void> r(loop);
    auto work = [&]() -> task<void> {
        seen.push_back("before");
        co_await yield();
        seen.push_back("after");
    };
    loop.post([&] { seen.push_back("other"); });
    r.start(work());
    loop.run();
    CHECK(seen == trace{"before", "other", "after"});
}

TEST_CASE("an event wakes all waiters in order, and does not wait once set") {
    manual_loop loop;
    event happened;
    trace seen;
    auto waiter = [&](std::string name) -> task<void> {
        co_await happened;
        seen.push_back(name);
    };
    running<void> a(loop);
    running<void> b(loop);
    running<void> c(loop);
    a.start(waiter("a"));
    b.start(waiter("b"));
    happened.set();
    CHECK(seen == trace{"a", "b"});
    c.start(waiter("c"));
    CHECK(seen == trace{"a", "b", "c"});
    happened.set();
    CHECK(seen.size() == 3);
}

TEST_CASE("a waiter woken by an event may destroy it") {
    manual_loop loop;
    event* inside = nullptr;
    running<void> r(loop);
    auto work = [&]() -> task<void> {
        event mine;
        inside = &mine;
        co_await mine;
    };
    r.start(work());
    inside->set();
    CHECK(r.ended);
}

TEST_CASE("a waiter woken by an event may cancel another one that waits for it") {
    manual_loop loop;
    event happened;
    trace seen;
    running<void> first(loop);
    running<void> second(loop);
    auto killer = [&]() -> task<void> {
        co_await happened;
        second.line.stop();
        seen.push_back("first");
    };
    auto victim = [&]() -> task<void> {
        try {
            co_await happened;
        } catch (const cancelled&) {
            seen.push_back("victim");
            throw;
        }
    };
    first.start(killer());
    second.start(victim());
    happened.set();
    CHECK(seen == trace{"victim", "first"});
    CHECK(second.failure() == "cancelled");
}

TEST_CASE("B15: cancelling makes the pending wait throw once, and cleanup may wait again") {
    manual_loop loop;
    trace seen;
    running<void> r(loop);
    auto work = [&]() -> task<void> {
        bool stopped = false;
        try {
            co_await sleep_for(1h);
        } catch (const cancelled&) {
            stopped = true;
        }
        seen.push_back(stopped ? "interrupted" : "slept");
        co_await sleep_for(1s);
        seen.push_back("cleaned");
    };
    r.start(work());
    r.line.stop();
    CHECK(seen == trace{"interrupted"});
    r.line.stop();  // stop is idempotent
    CHECK(!r.ended);
    loop.advance(1s);
    CHECK(seen == trace{"interrupted", "cleaned"});
    CHECK(r.ended);
    CHECK(loop.timers() == 0);
}

TEST_CASE("a task cancelled before it starts runs to its first wait, which throws") {
    manual_loop loop;
    trace seen;
    running<void> r(loop);
    r.line.stop();
    auto work = [&]() -> task<void> {
        seen.push_back("began");
        co_await sleep_for(1h);
        seen.push_back("slept");
    };
    r.start(work());
    CHECK(seen == trace{"began"});
    CHECK(r.failure() == "cancelled");
    CHECK(loop.timers() == 0);
}

TEST_CASE("a cancellation without a wait is delivered to the next one") {
    manual_loop loop;
    trace seen;
    running<void> r(loop);
    auto work = [&]() -> task<void> {
        r.line.stop();
        seen.push_back("still running");
        co_await yield();
        seen.push_back("not reached");
    };
    r.start(work());
    CHECK(seen == trace{"still running"});
    CHECK(r.failure() == "cancelled");
}

TEST_CASE("a cancelled yield throws in the turn that was posted for it, and in no other") {
    manual_loop loop;
    running<void> r(loop);
    auto work = []() -> task<void> { co_await yield(); };
    r.start(work());
    r.line.stop();
    CHECK(!r.ended);
    CHECK(loop.run() == 1);
    CHECK(r.failure() == "cancelled");
}

TEST_CASE("a cancelled waiter leaves its event intact") {
    manual_loop loop;
    event happened;
    running<void> a(loop);
    running<void> b(loop);
    auto work = [&]() -> task<void> { co_await happened; };
    a.start(work());
    b.start(work());
    a.line.stop();
    CHECK(a.failure() == "cancelled");
    happened.set();
    CHECK(b.ended);
    CHECK(!b.failed());
}

TEST_CASE("a nudge interrupts one wait without cancelling the activity") {
    manual_loop loop;
    trace seen;
    running<void> r(loop);
    auto work = [&]() -> task<void> {
        for (int i = 0; i < 2; ++i) {
            bool nudged = false;
            try {
                co_await sleep_for(1s);
            } catch (const cancelled&) {
                nudged = true;
            }
            seen.push_back(nudged ? "nudged" : "slept");
        }
    };
    r.start(work());
    r.line.nudge();
    CHECK(!r.line.stopped());
    loop.advance(1s);
    CHECK(seen == trace{"nudged", "slept"});
}

TEST_CASE("a nudge that interrupted no wait can be withdrawn, a cancellation cannot") {
    manual_loop loop;
    running<void> nudged(loop);
    running<void> stopped(loop);
    auto work = []() -> task<void> { co_await yield(); };
    nudged.line.nudge();
    nudged.line.forget_nudge();
    nudged.start(work());
    stopped.line.stop();
    stopped.line.forget_nudge();
    stopped.start(work());
    loop.run();
    CHECK(!nudged.failed());
    CHECK(stopped.failure() == "cancelled");
}

TEST_CASE("cancelling an activity cancels its children, and one created later is cancelled from the start") {
    manual_loop loop;
    running<void> parent(loop);
    detail::activity child(loop, &parent.line);
    parent.line.stop();
    CHECK(child.stopped());
    detail::activity late(loop, &parent.line);
    CHECK(late.stopped());
}

TEST_CASE("a child that outlives its parent is independent") {
    manual_loop loop;
    auto parent = std::make_unique<detail::activity>(loop);
    detail::activity child(loop, parent.get());
    parent.reset();
    CHECK(!child.stopped());
    child.stop();
    CHECK(child.stopped());
}

TEST_CASE("frames of many sizes come from the pool and return to it") {
    manual_loop loop;
    auto nest = [](auto& self, int depth) -> task<int> {
        char big[300] = {};
        big[static_cast<std::size_t>(depth) % sizeof big] = 1;
        if (depth == 0) co_return 0;
        int below = co_await self(self, depth - 1);
        co_return below + big[static_cast<std::size_t>(depth) % sizeof big];
    };
    for (int round = 0; round < 3; ++round) {
        running<int> r(loop);
        r.start(nest(nest, 200));
        REQUIRE(r.ended);
        CHECK(std::get<1>(*r.ended) == 200);
    }
}
