#include "async/worker_pool.hpp"
#include "support/gate.hpp"
#include "support/manual_loop.hpp"
#include "support/real_loops.hpp"

#include <keel/async.hpp>
#include <keel/run.hpp>

#include <doctest/doctest.h>

#include <pthread.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace keel;
using test::manual_loop;
using test::thread_gate;

namespace {

/// Keeps the functions until the test runs or drops them.
struct manual_executor final : detail::work_executor {
    std::deque<std::function<void()>> queue;
    bool full = false;
    void run_on_worker(std::function<void()> work) override {
        if (full) throw std::runtime_error("full");
        queue.push_back(std::move(work));
    }
    void run_one() {
        auto work = std::move(queue.front());
        queue.pop_front();
        work();
    }
};

template <class T>
struct running_task {
    detail::activity line;
    std::optional<detail::outcome<T>> ended;

    running_task(loop& l, detail::work_executor* e) : line(l) { line.set_executor(e); }
    void start(task<T> work) {
        detail::start(line, std::move(work), [this](detail::outcome<T> o) { ended.emplace(std::move(o)); });
    }
    /// "running", "done" or the text of the exception.
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

struct on_manual_loop {
    std::shared_ptr<manual_loop> home = std::make_shared<manual_loop>();
    manual_executor workers;
    running_task<int> it{*home, &workers};
    int runs = 0;

    task<int> count() {
        auto f = [this] { return ++runs; };
        co_return co_await on_worker(f);
    }
};

}  // namespace

TEST_CASE("on_worker returns the result of a function that ran on another thread") {
    auto work = []() -> task<std::thread::id> {
        auto f = [] { return std::this_thread::get_id(); };
        co_return co_await on_worker(f);
    };
    CHECK(run(work()) != std::this_thread::get_id());
}

TEST_CASE("the task continues on its loop after on_worker") {
    auto work = []() -> task<bool> {
        auto before = std::this_thread::get_id();
        auto f = [] {};
        co_await on_worker(f);
        co_return std::this_thread::get_id() == before;
    };
    CHECK(run(work()));
}

TEST_CASE("on_worker passes on move-only functions and results") {
    auto work = []() -> task<std::unique_ptr<int>> {
        auto f = [held = std::make_unique<int>(20)]() mutable {
            *held += 1;
            return std::move(held);
        };
        std::reference_wrapper by_reference(f);  // g++ 12 cannot pass a temporary here
        co_return co_await on_worker(by_reference);
    };
    CHECK(*run(work()) == 21);
}

TEST_CASE("on_worker rethrows the exception of its function") {
    auto work = []() -> task<int> {
        auto f = []() -> int { throw std::runtime_error("no such file"); };
        co_return co_await on_worker(f);
    };
    CHECK_THROWS_WITH(run(work()), "no such file");
}

TEST_CASE("a function of on_worker that ends its thread fails") {
    auto work = []() -> task<void> {
        auto f = [] { pthread_exit(nullptr); };
        co_await on_worker(f);
    };
    CHECK_THROWS_WITH(run(work()), "the function ended its thread");
}

TEST_CASE("a task that is cancelled before on_worker never runs the function") {
    on_manual_loop t;
    t.it.line.stop();
    t.it.start(t.count());
    CHECK(t.it.state() == "cancelled");
    CHECK(t.workers.queue.empty());
    CHECK(t.runs == 0);
}

TEST_CASE("a task that is cancelled while the function waits for a thread ends at once, and the function never runs") {
    on_manual_loop t;
    t.it.start(t.count());
    REQUIRE(t.workers.queue.size() == 1);
    CHECK(t.it.state() == "running");
    t.it.line.stop();
    CHECK(t.it.state() == "cancelled");
    SUBCASE("the thread takes it later") { t.workers.run_one(); }
    SUBCASE("it is dropped later") { t.workers.queue.clear(); }
    CHECK(t.home->run() == 0);
    CHECK(t.runs == 0);
}

TEST_CASE("a task that is cancelled while the function runs ends when the function returns") {
    auto home = std::make_shared<manual_loop>();
    async::worker_pool threads(1);
    struct pool_executor final : detail::work_executor {
        async::worker_pool& pool;
        explicit pool_executor(async::worker_pool& p) : pool(p) {}
        void run_on_worker(std::function<void()> work) override { pool.submit(std::move(work)); }
    } executor(threads);
    thread_gate running;
    std::atomic<bool> told = false;
    std::atomic<bool> destroyed = false;
    std::shared_ptr<void> result(nullptr, [&](void*) { destroyed = true; });
    running_task<std::shared_ptr<void>> it(*home, &executor);
    auto work = [&]() -> task<std::shared_ptr<void>> {
        auto f = [&](std::stop_token stop) {
            std::stop_callback notice(stop, [&] { told = true; });
            running.pass();
            return std::exchange(result, nullptr);
        };
        co_return co_await on_worker(f);
    };
    it.start(work());
    running.wait_arrived(1);
    it.line.stop();
    CHECK(told);
    home->run();
    CHECK(it.state() == "running");
    running.open();
    home->wait_for_work();
    home->run();
    CHECK(it.state() == "cancelled");
    CHECK(destroyed);
}

TEST_CASE("a cancellation after the function has returned discards its result") {
    on_manual_loop t;
    t.it.start(t.count());
    t.workers.run_one();
    CHECK(t.runs == 1);
    t.it.line.stop();
    t.home->run();
    CHECK(t.it.state() == "cancelled");
}

TEST_CASE("a cancellation after on_worker has returned affects the next wait") {
    on_manual_loop t;
    auto work = [&]() -> task<int> {
        int n = co_await t.count();
        t.it.line.stop();
        auto never = [&] { return ++t.runs; };
        co_await on_worker(never);
        co_return n;
    };
    t.it.start(work());
    t.workers.run_one();
    t.home->run();
    CHECK(t.it.state() == "cancelled");
    CHECK(t.runs == 1);
}

TEST_CASE("a function that the worker threads drop ends the task as cancelled, on its loop") {
    on_manual_loop t;
    t.it.start(t.count());
    t.workers.queue.clear();
    CHECK(t.it.state() == "running");
    t.home->run();
    CHECK(t.it.state() == "cancelled");
}

TEST_CASE("worker threads that accept no function make on_worker throw") {
    on_manual_loop t;
    t.workers.full = true;
    t.it.start(t.count());
    CHECK(t.it.state() == "full");
    CHECK(t.home->run() == 0);
}

TEST_CASE("on_worker on a foreign loop without worker threads is an error") {
    manual_loop home;
    running_task<int> it(home, nullptr);
    auto work = []() -> task<int> {
        auto f = [] { return 1; };
        co_return co_await on_worker(f);
    };
    it.start(work());
    CHECK(it.state().find("this loop has no worker threads") != std::string::npos);
}

TEST_CASE("a task whose loop ends during on_worker ends as cancelled") {
    on_manual_loop t;
    t.it.start(t.count());
    SUBCASE("before the function runs") {
        t.home->end();
        t.workers.run_one();
    }
    SUBCASE("before the task is resumed") {
        t.workers.run_one();
        t.home->end();
    }
    SUBCASE("before the function is dropped") {
        t.home->end();
        t.workers.queue.clear();
    }
    CHECK(t.it.state() == "cancelled");
}

TEST_CASE_TEMPLATE("a loop that ends drops the functions that wait for its threads", On, KEEL_TEST_LOOPS) {
    thread_gate blocked;
    std::atomic<int> ended = 0;
    {
        On on;
        std::deque<running_task<void>> tasks;
        auto work = [&]() -> task<void> {
            auto f = [&] { blocked.pass(); };
            co_await on_worker(f);
        };
        // More tasks than the loop has threads.
        constexpr int count = 100;
        for (int i = 0; i < count; ++i) {
            tasks.emplace_back(on.loop(), nullptr);
            detail::start(tasks.back().line, work(), [&](detail::outcome<void>) { ++ended; });
        }
        blocked.wait_arrived(1);
        on.loop().end();
        CHECK(ended > 0);
        blocked.open();
        while (ended < count) std::this_thread::yield();  // the running functions end their tasks on their own threads
    }
    CHECK(ended == 100);
}
