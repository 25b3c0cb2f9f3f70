#include "asio/asio_loop.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;

TEST_CASE("F4: post returns false after the io_context was destroyed") {
    std::shared_ptr<loop> kept;
    std::atomic<bool> destroyed = false;
    std::thread late;
    {
        boost::asio::io_context context;
        kept = loop_on(context);
        CHECK(kept == loop_on(context));
        late = std::thread([&] {
            while (kept->post([] {})) std::this_thread::yield();
            CHECK(destroyed);
        });
        for (int i = 0; i < 100; ++i) {
            context.run_one();
            context.restart();
        }
        destroyed = true;
    }
    late.join();
    CHECK(!kept->post([] {}));
    kept->stop_timer(1);
}

TEST_CASE("an io_context run by several threads runs one piece of a loop's work at a time") {
    boost::asio::io_context context;
    auto l = async::asio_loop::create(context);
    int unlocked = 0;  // TSan and the count below detect concurrent access
    std::atomic<int> inside = 0;
    std::atomic<bool> overlapped = false;
    for (int i = 0; i < 2000; ++i) {
        l->post([&] {
            if (++inside != 1) overlapped = true;
            ++unlocked;
            if (unlocked % 7 == 0) l->start_timer(l->now(), [&] { ++unlocked; });
            --inside;
        });
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { context.run(); });
    for (std::thread& t : threads) t.join();
    CHECK(unlocked >= 2000);
    CHECK(!overlapped);
}

TEST_CASE("a stopped timer does not keep an io_context from ending") {
    boost::asio::io_context context;
    auto l = async::asio_loop::create(context);
    loop::timer t = l->start_timer(l->now() + 1h, [] {});
    l->stop_timer(t);
    context.run();  // returns
    CHECK(context.stopped());
}
