#include "support/real_loops.hpp"

#include "async/timer_heap.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

TEST_CASE_TEMPLATE("posted work runs in order, on the loop, and not inside post", On, KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    std::string seen;
    CHECK(!on.loop().here());
    on.loop().post([&] {
        CHECK(on.loop().here());
        on.loop().post([&] { seen += 'c'; });
        seen += 'a';
    });
    on.loop().post([&] { seen += 'b'; });
    CHECK(seen.empty());
    on.until([&] { return seen.size() == 3; });
    CHECK(seen == "abc");
    CHECK(!on.loop().here());
}

TEST_CASE_TEMPLATE("timers run in the order of their time and can be stopped", On, KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    std::string seen;
    time_point start = on.loop().now();
    on.loop().start_timer(start + 3ms, [&] { seen += 'c'; });
    loop::timer never = on.loop().start_timer(start + 2ms, [&] { seen += 'x'; });
    on.loop().start_timer(start + 1ms, [&] {
        seen += 'a';
        on.loop().stop_timer(never);
        on.loop().start_timer(start + 1ms, [&] { seen += 'b'; });
    });
    on.until([&] { return seen.size() == 3; });
    CHECK(seen == "abc");
    CHECK(on.loop().now() >= start + 3ms);
    on.loop().stop_timer(never);
    on.loop().stop_timer(0);
    on.loop().stop_timer(12345);
}

TEST_CASE_TEMPLATE("work posted from many threads runs on the loop, all of it", On, KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    int ran = 0;  // accessed only on the loop
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) CHECK(on.loop().post([&] { ++ran; }));
        });
    }
    on.until([&] { return ran == 4000; });
    for (std::thread& t : threads) t.join();
}

TEST_CASE_TEMPLATE("after end nothing runs and post returns false", On, KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    auto held = std::make_shared<int>(0);
    on.loop().post([held] { ++*held; });
    on.loop().start_timer(on.loop().now(), [held] { ++*held; });
    on.loop().end();
    CHECK(held.use_count() == 1);
    CHECK(!on.loop().post([held] { ++*held; }));
    CHECK(on.loop().start_timer(on.loop().now(), [held] { ++*held; }) == 0);
    on.poll();
    CHECK(*held == 0);
    CHECK(held.use_count() == 1);
    on.loop().end();
}

TEST_CASE_TEMPLATE("work may end the loop it runs on; later posted work is dropped", On, KEEL_TEST_LOOPS) {
    On on;
    bool behind = false;
    on.loop().post([&] { on.loop().end(); });
    on.loop().post([&] { behind = true; });
    on.poll();
    CHECK(!behind);
}

TEST_CASE_TEMPLATE("an exception is thrown by run, and the rest of the work is not lost", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    bool behind = false;
    on.loop().post([] { throw std::runtime_error("thrown by work"); });
    on.loop().post([&] { behind = true; });
    CHECK_THROWS_WITH(on.until([&] { return behind; }), "thrown by work");
    on.until([&] { return behind; });
    CHECK(!on.loop().here());
}

TEST_CASE("an epoll loop runs until it is stopped, from any thread, and can run again") {
    auto l = async::epoll_loop::create();
    for (int round = 0; round < 100; ++round) {
        bool ran = false;
        std::thread stopper([&] {
            l->post([&] { ran = true; });
            l->stop();
        });
        l->run();
        stopper.join();
        CHECK(ran);
    }
    l->stop();
    l->run();
}

namespace {

struct counting final : async::reactor::watcher {
    unsigned seen = 0;
    int calls = 0;
    void on_ready(unsigned events) override {
        seen |= events;
        ++calls;
    }
};

struct socket_pair {
    int fds[2];
    socket_pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0); }
    ~socket_pair() {
        ::close(fds[0]);
        ::close(fds[1]);
    }
};

}  // namespace

TEST_CASE_TEMPLATE("a watch reports only the requested events, and none after its end", On,
                   KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    socket_pair s;
    counting who;
    auto w = on.loop().watch_descriptor(s.fds[0], who);
    REQUIRE(w);
    REQUIRE(::write(s.fds[1], "x", 1) == 1);
    on.poll();
    CHECK(who.calls == 0);
    w->want(async::reactor::readable);
    on.until([&] { return who.calls >= 2; });  // reported again while the condition lasts
    CHECK(who.seen == async::reactor::readable);
    w->want(async::reactor::writable);
    who.seen = 0;
    on.until([&] { return who.seen != 0; });
    CHECK(who.seen == async::reactor::writable);
    w.reset();
    who.calls = 0;
    on.poll();
    CHECK(who.calls == 0);
}

TEST_CASE_TEMPLATE("a hang-up is always reported, and does not spin", On, KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    counting who;
    auto w = on.loop().watch_descriptor(ends[1], who);
    ::close(ends[0]);
    on.until([&] { return who.calls > 0; });
    CHECK(who.seen == async::reactor::broken);
    on.poll();
    CHECK(who.calls == 1);
    w.reset();
    ::close(ends[1]);
}

TEST_CASE_TEMPLATE("a watch may end itself and others during a callback", On, KEEL_TEST_LOOPS_AND_STRAND) {
    On on;
    struct killer final : async::reactor::watcher {
        std::vector<std::unique_ptr<async::reactor::watch>>* all = nullptr;
        int calls = 0;
        void on_ready(unsigned) override {
            ++calls;
            all->clear();
        }
    } who;
    std::vector<std::unique_ptr<async::reactor::watch>> watches;
    who.all = &watches;
    std::vector<std::unique_ptr<socket_pair>> sockets;
    for (int i = 0; i < 10; ++i) {
        sockets.push_back(std::make_unique<socket_pair>());
        watches.push_back(on.loop().watch_descriptor(sockets.back()->fds[0], who));
        watches.back()->want(async::reactor::readable);
        REQUIRE(::write(sockets.back()->fds[1], "x", 1) == 1);
    }
    on.until([&] { return who.calls > 0; });
    on.poll();
    CHECK(who.calls == 1);
}

TEST_CASE_TEMPLATE("a watch may outlive the end of its loop", On, KEEL_TEST_LOOPS_AND_STRAND) {
    socket_pair s;
    counting who;
    std::unique_ptr<async::reactor::watch> w;
    {
        On on;
        w = on.loop().watch_descriptor(s.fds[0], who);
        w->want(async::reactor::readable);
        on.loop().end();
    }
    w->want(async::reactor::readable);
    w.reset();
    CHECK(who.calls == 0);
}

TEST_CASE_TEMPLATE("files and devices that are always ready cannot be watched", On, KEEL_TEST_LOOPS) {
    On on;
    counting who;
    int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    REQUIRE(null >= 0);
    CHECK(!on.loop().watch_descriptor(null, who));
    ::close(null);
}

TEST_CASE("the timer heap behaves like a sorted list under random starts and stops") {
    std::mt19937 random(7);
    async::timer_heap heap;
    std::map<std::pair<time_point, std::uint64_t>, loop::timer> model;  // by time, then by start order
    std::uint64_t order = 0;
    std::uint64_t fired = 0;
    std::vector<loop::timer> stale;
    for (int i = 0; i < 20'000; ++i) {
        auto dice = random() % 10;
        if (dice < 5) {
            time_point when{std::chrono::milliseconds(random() % 500)};
            std::uint64_t mine = ++order;
            model.emplace(std::pair(when, mine), heap.add(when, [&fired, mine] { fired = mine; }));
        } else if (dice < 8 && !model.empty()) {
            auto victim = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
            CHECK(heap.remove(victim->second));
            stale.push_back(victim->second);
            model.erase(victim);
        } else if (!model.empty()) {
            CHECK(heap.next() == model.begin()->first.first);
            auto due = heap.take_due(heap.next());
            REQUIRE(due);
            due();
            CHECK(fired == model.begin()->first.second);
            stale.push_back(model.begin()->second);
            model.erase(model.begin());
        }
        if (!stale.empty()) CHECK(!heap.remove(stale[random() % stale.size()]));
        REQUIRE(heap.size() == model.size());
    }
}
