#include "async/worker_pool.hpp"

#include <doctest/doctest.h>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace keel;
using namespace std::chrono_literals;

TEST_CASE("threads are created on demand, up to the limit") {
    async::worker_pool pool(3);
    CHECK(pool.threads() == 0);
    std::promise<void> gate;
    std::shared_future<void> open = gate.get_future().share();
    std::promise<void> begun[3];
    for (auto& b : begun) {
        pool.submit([&b, open] {
            b.set_value();
            open.wait();
        });
    }
    for (auto& b : begun) b.get_future().wait();
    CHECK(pool.busy() == 3);
    std::promise<void> later;
    pool.submit([&] { later.set_value(); });
    CHECK(pool.threads() == 3);
    gate.set_value();
    later.get_future().wait();
    CHECK(pool.shut_down(1h) == 0);
    CHECK(pool.threads() == 0);
}

TEST_CASE("F4: a thread that stays blocked is abandoned after the time limit, and does no harm when it wakes") {
    std::promise<void> gate;
    std::promise<void> finished;
    auto held = std::make_shared<int>(0);
    {
        async::worker_pool pool(2);
        std::promise<void> begun;
        pool.submit([&begun, open = gate.get_future().share(), done = &finished, held] {
            begun.set_value();
            open.wait();
            ++*held;
            done->set_value();
        });
        begun.get_future().wait();
        pool.submit([] {});
        CHECK(pool.shut_down(10ms) == 1);
        CHECK(pool.shut_down(10ms) == 0);
    }
    CHECK(*held == 0);
    gate.set_value();
    finished.get_future().wait();
}

TEST_CASE("shutting down waits for work that ends in time and drops work that has not begun") {
    async::worker_pool pool(1);
    std::promise<void> begun;
    std::promise<void> gate;
    std::atomic<bool> ended = false;
    pool.submit([&] {
        begun.set_value();
        gate.get_future().wait();
        ended = true;
    });
    begun.get_future().wait();
    auto dropped = std::make_shared<int>(0);
    pool.submit([dropped] { ++*dropped; });
    auto opener = std::async(std::launch::async, [&] {
        // Only after the shutdown has begun.
        while (pool.submit([] {})) std::this_thread::yield();
        gate.set_value();
    });
    CHECK(pool.shut_down(1h) == 0);
    opener.wait();
    CHECK(ended);
    CHECK(*dropped == 0);
    CHECK(dropped.use_count() == 1);
    CHECK(!pool.submit([] {}));
}

TEST_CASE("F1: an exception of work does not end the process or the thread, and is reported") {
    std::promise<std::string> told;
    async::worker_pool pool(1, [&](std::exception_ptr e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::exception& x) {
            told.set_value(x.what());
        } catch (int) {
            told.set_value("an int");
        }
    });
    SUBCASE("an exception") {
        pool.submit([] { throw std::runtime_error("thrown"); });
        CHECK(told.get_future().get() == "thrown");
    }
    SUBCASE("a thrown object that is not a std::exception") {
        pool.submit([] { throw 7; });
        CHECK(told.get_future().get() == "an int");
    }
    std::promise<void> next;
    pool.submit([&] { next.set_value(); });
    next.get_future().wait();
    CHECK(pool.threads() == 1);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KEEL_TEST_NO_PTHREAD_EXIT  // the sanitizer's interceptors do not support pthread_exit
#endif
#endif
#ifndef KEEL_TEST_NO_PTHREAD_EXIT
TEST_CASE("forced unwinding ends a thread, and another takes its place") {
    async::worker_pool pool(1);
    pool.submit([] { ::pthread_exit(nullptr); });
    while (pool.threads() != 0) std::this_thread::yield();
    CHECK(pool.busy() == 0);
    std::promise<void> next;
    pool.submit([&] { next.set_value(); });
    next.get_future().wait();
    CHECK(pool.shut_down(1h) == 0);
}

namespace {

/// Its destructor keeps an ending thread alive until `open`.
struct slow_exit {
    std::shared_future<void> open;
    ~slow_exit() {
        if (open.valid()) open.wait();
    }
};

/// True if this thread sleeps in the kernel.
bool sleeps(pid_t thread) {
    std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    return text.find(") S ") != std::string::npos;
}

}  // namespace

// submit() joins an ended thread without the lock of the pool, so the pool may shut down meanwhile.
TEST_CASE("work submitted while the pool shuts down is refused, not lost") {
    async::worker_pool pool(1);
    std::promise<void> gate;
    pool.submit([open = gate.get_future().share()] {
        thread_local slow_exit kept;
        kept.open = open;
        ::pthread_exit(nullptr);
    });
    while (pool.threads() != 0) std::this_thread::yield();
    std::promise<pid_t> thread;
    std::atomic<bool> ran = false;
    auto accepted = std::async(std::launch::async, [&] {
        thread.set_value(::gettid());
        return pool.submit([&] { ran = true; });
    });
    pid_t submitter = thread.get_future().get();
    while (!sleeps(submitter)) std::this_thread::yield();  // it waits for the end of the thread
    CHECK(pool.shut_down(1h) == 0);
    gate.set_value();
    CHECK_FALSE(accepted.get());
    CHECK_FALSE(ran);
    CHECK(pool.queued() == 0);
    CHECK(pool.threads() == 0);
}
#endif
