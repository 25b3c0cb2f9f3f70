// keel::event_loop: a loop that the program polls, or that another event loop watches.

#include <keel/event_loop.hpp>
#include <keel/transport.hpp>

#include <doctest/doctest.h>

#include <poll.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

/// Waits at most `timeout` milliseconds (-1: without limit) until the descriptor is readable.
bool readable(int fd, int timeout = 0) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, timeout) == 1;
}

}  // namespace

TEST_CASE("poll runs what is ready, does not wait, and says whether there was something to do") {
    keel::event_loop on;
    CHECK_FALSE(on.poll());
    std::string seen;
    on.get()->post([&] {
        seen += 'a';
        on.get()->post([&] { seen += 'b'; });
    });
    CHECK(seen.empty());
    CHECK(on.poll());
    CHECK(seen == "a");  // what is posted meanwhile runs in the next call
    CHECK(on.poll());
    CHECK(seen == "ab");
    CHECK_FALSE(on.poll());
}

TEST_CASE("poll with a time waits for work of another thread and for timers") {
    keel::event_loop on;
    bool ran = false;
    std::thread other([&] { on.get()->post([&] { ran = true; }); });
    while (!ran) on.poll(keel::duration::max());
    other.join();
    CHECK(on.next_timer() == keel::time_point::max());
    ran = false;
    keel::time_point when = on.get()->now() + 2ms;
    on.get()->start_timer(when, [&] { ran = true; });
    CHECK(on.next_timer() == when);
    while (!ran) on.poll(1h);
    CHECK(on.get()->now() >= when);
    CHECK_FALSE(on.poll(1ms));
}

TEST_CASE("the loop belongs to its thread, and poll cannot be nested") {
    keel::event_loop on;
    CHECK(on.get()->here());
    std::string nested;
    on.get()->post([&] {
        try {
            on.poll();
        } catch (const std::logic_error& e) {
            nested = e.what();
        }
    });
    on.poll();
    CHECK(nested.find("by work that the loop is running") != std::string::npos);
    std::thread([&] {
        CHECK_FALSE(on.get()->here());
        CHECK_THROWS_AS(on.poll(), std::logic_error);
    }).join();
}

TEST_CASE("an exception of posted work is thrown by poll, and the rest of the work is not lost") {
    keel::event_loop on;
    int fd = on.descriptor();
    bool behind = false;
    on.get()->post([] { throw std::runtime_error("thrown by work"); });
    on.get()->post([&] { behind = true; });
    CHECK_THROWS_WITH(on.poll(), "thrown by work");
    CHECK(readable(fd));
    on.poll();
    CHECK(behind);
}

TEST_CASE("run polls until stop is called, from any thread, and can run again") {
    keel::event_loop on;
    for (int round = 0; round < 20; ++round) {
        bool ran = false;
        std::thread other([&] {
            on.get()->post([&] { ran = true; });
            on.stop();
        });
        on.run();
        other.join();
        CHECK(ran);
    }
}

TEST_CASE("the descriptor is readable while there is posted work, and only then") {
    keel::event_loop on;
    int fd = on.descriptor();
    CHECK(on.descriptor() == fd);
    CHECK_FALSE(readable(fd));
    SUBCASE("posted by this thread") {
        on.get()->post([&] { on.get()->post([] {}); });
        CHECK(readable(fd));
        on.poll();
        CHECK(readable(fd));  // the second function
        on.poll();
    }
    SUBCASE("posted by another thread while the foreign loop waits") {
        std::thread other([&] { on.get()->post([] {}); });
        CHECK(readable(fd, -1));
        other.join();
        on.poll();
    }
    SUBCASE("posted before descriptor() was called") {
        keel::event_loop second;
        second.get()->post([] {});
        CHECK(readable(second.descriptor()));
    }
    CHECK_FALSE(readable(fd));
}

TEST_CASE("the descriptor becomes readable when a timer is due") {
    keel::event_loop on;
    std::string seen;
    on.get()->start_timer(on.get()->now() + 1ms, [&] { seen += 'a'; });
    int fd = on.descriptor();  // after the timer was started
    on.get()->start_timer(on.get()->now() + 1h, [&] { seen += 'x'; });
    CHECK(readable(fd, -1));
    on.poll();
    CHECK(seen == "a");
    CHECK_FALSE(readable(fd));
    on.get()->start_timer(on.get()->now() + 1ms, [&] { seen += 'b'; });  // earlier than the one that is left
    CHECK(readable(fd, -1));
    on.poll();
    CHECK(seen == "ab");
    CHECK_FALSE(readable(fd));
}

TEST_CASE("connections on the loop make its descriptor readable") {
    keel::event_loop on;
    int fd = on.descriptor();
    std::string path = "/tmp/keel-event-loop-" + std::to_string(::getpid()) + ".sock";
    std::unique_ptr<keel::connection> accepted;
    auto listener =
        keel::listen_unix(*on.get(), path, [&](std::unique_ptr<keel::connection> c) { accepted = std::move(c); });
    CHECK_FALSE(readable(fd));
    auto client = keel::connect_unix(*on.get(), path);
    CHECK(readable(fd));
    while (!accepted) on.poll();
    listener->close();
}
