#include "support/manual_loop.hpp"

#include <keel/async.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;
using test::manual_loop;

namespace {

using trace = std::vector<std::string>;

struct started_task {
    manual_loop& loop;
    detail::activity line;
    std::optional<detail::outcome<void>> ended;

    started_task(manual_loop& l, task<void> work) : loop(l), line(l) {
        detail::start(line, std::move(work), [this](detail::outcome<void> result) { ended = std::move(result); });
    }
    std::string state() const {
        if (!ended) return "running";
        if (ended->index() == 1) return "done";
        try {
            std::rethrow_exception(std::get<0>(*ended));
        } catch (const std::exception& e) {
            return e.what();
        }
    }
};

task<void> sleeper(trace& seen, std::string name, duration d) {
    bool stopped = false;
    try {
        co_await sleep_for(d);
    } catch (const cancelled&) {
        stopped = true;
    }
    seen.push_back(name + (stopped ? " cancelled" : " slept"));
    if (stopped) throw cancelled();
}

task<void> fail_after(duration d, std::string what) {
    co_await sleep_for(d);
    throw std::runtime_error(what);
}

}  // namespace

TEST_CASE("a scope ends when its body and all its tasks have ended") {
    manual_loop loop;
    trace seen;
    auto body = [&](scope& s) -> task<void> {
        s.spawn(sleeper(seen, "a", 2s));
        s.spawn(sleeper(seen, "b", 1s));
        seen.push_back("body");
        co_return;
    };
    started_task r(loop, with_scope(body));
    CHECK(r.state() == "running");
    loop.advance(1s);
    CHECK(r.state() == "running");
    loop.advance(1s);
    CHECK(r.state() == "done");
    CHECK(seen == trace{"body", "b slept", "a slept"});
}

TEST_CASE("the first failure cancels the siblings and the body, and is thrown when all have cleaned up") {
    manual_loop loop;
    trace seen;
    auto slow_cleanup = [&]() -> task<void> {
        bool stopped = false;
        try {
            co_await sleep_for(1h);
        } catch (const cancelled&) {
            stopped = true;
        }
        CHECK(stopped);
        co_await sleep_for(5s);
        seen.push_back("sibling cleaned");
    };
    auto body = [&](scope& s) -> task<void> {
        s.spawn(slow_cleanup());
        s.spawn(fail_after(1s, "first"));
        s.spawn(fail_after(2s, "second"));
        co_await sleep_for(1h);
    };
    started_task r(loop, with_scope(body));
    loop.advance(1s);
    CHECK(r.state() == "running");
    loop.advance(4s);
    CHECK(seen.empty());
    loop.advance(1s);
    CHECK(seen == trace{"sibling cleaned"});
    CHECK(r.state() == "first");
    CHECK(loop.timers() == 0);
}

TEST_CASE("a single child that fails while the body waits ends the scope cleanly") {
    manual_loop loop;
    auto body = [&](scope& s) -> task<void> {
        s.spawn(fail_after(1s, "only"));
        co_await sleep_for(1h);
    };
    started_task r(loop, with_scope(body));
    loop.advance(1s);
    CHECK(r.state() == "only");
}

TEST_CASE("a failure of the body cancels the tasks and is thrown when they have ended") {
    manual_loop loop;
    trace seen;
    auto body = [&](scope& s) -> task<void> {
        s.spawn(sleeper(seen, "a", 1h));
        co_await sleep_for(1s);
        throw std::runtime_error("body");
    };
    started_task r(loop, with_scope(body));
    loop.advance(1s);
    CHECK(r.state() == "body");
    CHECK(seen == trace{"a cancelled"});
}

TEST_CASE("a task that fails immediately is noticed at the body's next wait, and later tasks start cancelled") {
    manual_loop loop;
    trace seen;
    auto at_once = []() -> task<void> {
        throw std::runtime_error("at once");
        co_return;
    };
    auto body = [&](scope& s) -> task<void> {
        s.spawn(at_once());
        s.spawn(sleeper(seen, "late", 1h));
        co_await sleep_for(1h);
        seen.push_back("not reached");
    };
    started_task r(loop, with_scope(body));
    loop.run();
    CHECK(r.state() == "at once");
    CHECK(seen == trace{"late cancelled"});
}

TEST_CASE("a failure that the body never notices does not reach code after the scope") {
    manual_loop loop;
    trace seen;
    auto at_once = []() -> task<void> {
        throw std::runtime_error("at once");
        co_return;
    };
    auto body = [&](scope& s) -> task<void> {
        s.spawn(at_once());
        co_return;
    };
    auto work = [&]() -> task<void> {
        try {
            co_await with_scope(body);
        } catch (const std::runtime_error& e) {
            seen.push_back(e.what());
        }
        co_await sleep_for(1s);
        seen.push_back("waited");
    };
    started_task r(loop, work());
    loop.advance(1s);
    CHECK(seen == trace{"at once", "waited"});
    CHECK(r.state() == "done");
}

TEST_CASE("cancelling an activity reaches the body and every task of its scope") {
    manual_loop loop;
    trace seen;
    auto body = [&](scope& s) -> task<void> {
        s.spawn(sleeper(seen, "a", 1h));
        s.spawn(sleeper(seen, "b", 1h));
        co_await sleeper(seen, "body", 1h);
    };
    started_task r(loop, with_scope(body));
    r.line.stop();
    loop.run();
    CHECK(r.state() == "cancelled");
    CHECK(seen.size() == 3);
    CHECK(loop.timers() == 0);
}

TEST_CASE("cancelling while a scope is joining ends its tasks; the scope throws once and cleanup may wait") {
    manual_loop loop;
    trace seen;
    auto body = [&](scope& s) -> task<void> {
        s.spawn(sleeper(seen, "a", 1h));
        co_return;
    };
    auto work = [&]() -> task<void> {
        bool stopped = false;
        try {
            co_await with_scope(body);
        } catch (const cancelled&) {
            stopped = true;
        }
        seen.push_back(stopped ? "scope cancelled" : "scope done");
        co_await sleep_for(1s);
        seen.push_back("cleaned");
    };
    started_task r(loop, work());
    r.line.stop();
    loop.run();
    CHECK(seen == trace{"a cancelled", "scope cancelled"});
    loop.advance(1s);
    CHECK(seen.back() == "cleaned");
    CHECK(r.state() == "done");
}

TEST_CASE("a failing task of an outer scope ends an inner scope that is joining") {
    manual_loop loop;
    trace seen;
    auto inner = [&](scope& s) -> task<void> {
        s.spawn(sleeper(seen, "inner", 1h));
        co_return;
    };
    auto outer = [&](scope& s) -> task<void> {
        s.spawn(fail_after(1s, "outer"));
        co_await with_scope(inner);
        seen.push_back("not reached");
    };
    started_task r(loop, with_scope(outer));
    loop.advance(1s);
    CHECK(r.state() == "outer");
    CHECK(seen == trace{"inner cancelled"});
    CHECK(loop.timers() == 0);
}

TEST_CASE("a failure in nested scopes is thrown at the top, after each level has cleaned up") {
    manual_loop loop;
    trace seen;
    auto innermost = [&](scope& s) -> task<void> {
        s.spawn(fail_after(1s, "deep"));
        s.spawn(sleeper(seen, "1", 1h));
        co_await sleep_for(1h);
    };
    auto middle = [&](scope& s) -> task<void> {
        s.spawn(with_scope(innermost));
        s.spawn(sleeper(seen, "2", 1h));
        co_await sleep_for(1h);
    };
    auto outer = [&](scope& s) -> task<void> {
        s.spawn(with_scope(middle));
        s.spawn(sleeper(seen, "3", 1h));
        co_await sleep_for(1h);
    };
    started_task r(loop, with_scope(outer));
    loop.advance(1s);
    CHECK(r.state() == "deep");
    CHECK(seen == trace{"1 cancelled", "2 cancelled", "3 cancelled"});
}

TEST_CASE("stopping a scope cancels its tasks and not its body") {
    manual_loop loop;
    trace seen;
    auto body = [&](scope& s) -> task<void> {
        s.spawn(sleeper(seen, "a", 1h));
        s.stop();
        co_await sleep_for(1s);
        seen.push_back("body");
    };
    started_task r(loop, with_scope(body));
    loop.advance(1s);
    CHECK(r.state() == "done");
    CHECK(seen == trace{"a cancelled", "body"});
}

TEST_CASE("a task spawned by a task that is being stopped is waited for too") {
    manual_loop loop;
    trace seen;
    auto spawner = [&](scope& s) -> task<void> {
        bool stopped = false;
        try {
            co_await sleep_for(1h);
        } catch (const cancelled&) {
            stopped = true;
        }
        if (stopped) s.spawn(sleeper(seen, "born late", 1s));
    };
    auto body = [&](scope& s) -> task<void> {
        s.spawn(spawner(s));
        co_await sleep_for(1s);
        s.stop();
    };
    started_task r(loop, with_scope(body));
    loop.advance(1h);
    CHECK(r.state() == "done");
    CHECK(seen.size() == 1);
}

TEST_CASE("a scope that spawns a hundred thousand tasks keeps only those that run") {
    manual_loop loop;
    std::size_t ran = 0;
    auto quick = [&]() -> task<void> {
        co_await yield();
        ++ran;
    };
    auto body = [&](scope& s) -> task<void> {
        for (int i = 0; i < 100'000; ++i) {
            s.spawn(quick());
            if (i % 10 == 0) co_await yield();
        }
    };
    started_task r(loop, with_scope(body));
    loop.run();
    CHECK(r.state() == "done");
    CHECK(ran == 100'000);
}

TEST_CASE("under every shuffle a scope ends once, with its own failure, and leaves no timer") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        manual_loop loop(seed);
        trace seen;
        auto hop_and_fail = []() -> task<void> {
            co_await yield();
            co_await yield();
            throw std::runtime_error("failed");
        };
        auto hop = []() -> task<void> {
            for (int i = 0; i < 3; ++i) co_await yield();
        };
        auto inner = [&](scope& s) -> task<void> {
            s.spawn(hop());
            s.spawn(hop_and_fail());
            s.spawn(sleeper(seen, "x", 1h));
            co_await yield();
            s.spawn(hop());
        };
        auto outer = [&](scope& s) -> task<void> {
            s.spawn(with_scope(inner));
            s.spawn(hop_and_fail());
            co_await sleep_for(1h);
        };
        started_task r(loop, with_scope(outer));
        loop.run();
        CHECK(r.state() == "failed");
        CHECK(loop.timers() == 0);
    }
}
