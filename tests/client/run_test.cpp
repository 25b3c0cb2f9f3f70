// keel::run: running a coroutine without an existing loop.

#include "support/process_facts.hpp"

#include <keel/async.hpp>
#include <keel/client.hpp>
#include <keel/run.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;

namespace {

task<int> seven() { co_return 7; }

task<std::unique_ptr<int>> boxed() {
    co_await keel::yield();
    co_return std::make_unique<int>(8);
}

task<void> fail() {
    co_await sleep_for(1ms);
    throw std::out_of_range("x");
}

struct counter {
    server s{{.name = "counter", .version = "1"}};
    counter() {
        s.add_tool("count", "", [n = 0]() mutable { return ++n; }, {.quick = true});
    }
};

task<int> count_twice(server& s) {
    client c(s);
    co_await c.connect();
    int first = co_await c.call_tool<int>("count");
    int second = co_await c.call_tool<int>("count");
    co_return first * 100 + second;
}

}  // namespace

TEST_CASE("run returns the value of a task, and throws its exception") {
    CHECK(run(seven()) == 7);
    CHECK(*run(boxed()) == 8);
    CHECK_THROWS_AS(run(fail()), std::out_of_range);
    int ran = 0;
    auto work = [&]() -> task<void> {
        ++ran;
        co_return;
    };
    run(work());
    CHECK(ran == 1);
}

TEST_CASE("a client works in a task that is run, and neither leaks") {
    const auto descriptors = test::open_descriptors();
    const auto threads = test::running_threads();
    {
        counter c;
        CHECK(run(count_twice(c.s)) == 102);
        CHECK(run(count_twice(c.s)) == 304);
    }
    CHECK(test::open_descriptors() == descriptors);
    CHECK(test::running_threads() == threads);
}

TEST_CASE("concurrent tasks run on the loop of run, on the caller's thread") {
    const auto me = std::this_thread::get_id();
    std::string order;
    auto late = [&]() -> task<void> {
        co_await sleep_for(2ms);
        CHECK(std::this_thread::get_id() == me);
        order += 'b';
    };
    auto both = [&](scope& s) -> task<void> {
        s.spawn(late());
        co_await keel::yield();
        order += 'a';
    };
    auto work = [&]() -> task<void> { co_await with_scope(both); };
    run(work());
    CHECK(order == "ab");
}

TEST_CASE("the loop of run ends with the task: posted work is dropped") {
    auto witness = std::make_shared<int>(0);
    auto work = [&]() -> task<void> {
        detail::activity& here = co_await detail::this_activity{};
        here.loop().start_timer(time_point::max(), [witness] { ++*witness; });
        co_return;
    };
    run(work());
    CHECK(witness.use_count() == 1);
    CHECK(*witness == 0);
}

TEST_CASE("run inside a task throws instead of blocking it") {
    auto work = []() -> task<int> {
        co_await keel::yield();
        CHECK_THROWS_AS(run(seven()), std::logic_error);
        co_return 1;
    };
    CHECK(run(work()) == 1);
    CHECK(run(seven()) == 7);
}

TEST_CASE("each thread runs its own tasks with a shared client") {
    counter c;
    client shared(c.s);
    run(shared.connect());
    std::vector<std::thread> threads;
    std::vector<int> got(4);
    for (int& each : got) {
        threads.emplace_back([&] {
            auto work = [&]() -> task<int> {
                int sum = 0;
                for (int i = 0; i < 25; ++i) sum += co_await shared.call_tool<int>("count");
                co_return sum;
            };
            each = run(work());
        });
    }
    for (std::thread& t : threads) t.join();
    int sum = 0;
    for (int each : got) sum += each;
    CHECK(sum == 100 * 101 / 2);
    run(shared.close());
}
