#include "support/descriptors.hpp"
#include "support/manual_loop.hpp"
#include "support/real_loops.hpp"

#include <keel/transport.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

struct pair_on_one_loop {
    manual_loop loop;
    std::pair<std::unique_ptr<connection>, std::unique_ptr<connection>> ends;
    recorder a, b;
    explicit pair_on_one_loop(std::size_t capacity = 64 * 1024) : ends(memory_pair(loop, loop, capacity)) {
        ends.first->start(a);
        ends.second->start(b);
        loop.run();
    }
};

}  // namespace

TEST_CASE("bytes written at one end are read at the other, in a separate turn") {
    pair_on_one_loop t;
    CHECK(t.ends.first->write("hello").bytes == 5);
    CHECK(t.ends.second->write("back").bytes == 4);
    CHECK(t.b.input.empty());
    t.loop.run();
    CHECK(t.b.input == "hello");
    CHECK(t.a.input == "back");
}

TEST_CASE("bytes written before the other end started are not lost") {
    manual_loop loop;
    auto [a, b] = memory_pair(loop, loop);
    recorder heard;
    a->write("early");
    loop.run();
    b->start(heard);
    loop.run();
    CHECK(heard.input == "early");
}

TEST_CASE("J1: a full buffer makes a write partial, and the writer is notified when there is room") {
    pair_on_one_loop t(4);
    CHECK(t.ends.first->write("abcdef").bytes == 4);
    CHECK(t.ends.first->write("ef").bytes == 0);
    t.ends.second->pause();
    t.loop.run();
    CHECK(t.a.writables == 0);
    t.ends.second->resume();
    t.loop.run();
    CHECK(t.b.input == "abcd");
    CHECK(t.a.writables == 1);
    CHECK(t.ends.first->write("ef").bytes == 2);
    t.loop.run();
    CHECK(t.b.input == "abcdef");
    CHECK(t.a.writables == 1);
}

TEST_CASE("closing one end is the end of input for the other, after all bytes; its writes then fail") {
    pair_on_one_loop t;
    t.ends.first->write("last");
    t.ends.first->close();
    t.ends.first->close();
    CHECK(t.ends.second->write("x").failure == "the connection is closed");
    CHECK(t.ends.first->write("x").failure == "the connection is closed");
    t.loop.run();
    CHECK(t.b.input == "last");
    CHECK(t.b.ended);
    CHECK(t.b.failures == 0);
    CHECK(!t.a.ended);
}

TEST_CASE("C7: an end with a pending write is notified that the other end closed, even while paused") {
    pair_on_one_loop t(4);
    CHECK(t.ends.second->write("too much").bytes == 4);
    t.ends.second->pause();
    t.ends.first.reset();
    t.loop.run();
    CHECK(t.b.failures == 1);
    CHECK(!t.b.ended);
    t.ends.second->resume();
    t.loop.run();
    CHECK(t.b.ended);
}

TEST_CASE("an end may be destroyed inside a callback, and with a turn still posted") {
    pair_on_one_loop t;
    t.b.when_input = [&] { t.ends.second.reset(); };
    t.ends.first->write("x");
    t.ends.first->close();
    t.loop.run();
    CHECK(!t.b.ended);
    pair_on_one_loop u;
    u.ends.first->write("x");
    u.ends.second.reset();
    u.loop.run();
    CHECK(u.b.reads == 0);
}

TEST_CASE("a pair with capacity 0 throws") {
    manual_loop loop;
    CHECK_THROWS_AS(memory_pair(loop, loop, 0), std::invalid_argument);
}

TEST_CASE("two ends on two threads exchange megabytes through a small buffer without losing a byte") {
    constexpr std::size_t total = 2'000'000;
    auto la = async::epoll_loop::create();
    auto lb = async::epoll_loop::create();
    auto [a, b] = memory_pair(*la, *lb, 1000);

    struct side {
        connection* wire = nullptr;
        async::epoll_loop* loop = nullptr;
        std::string all;
        std::size_t sent = 0;
        recorder heard;
        void send() {
            sent += wire->write(std::string_view(all).substr(sent)).bytes;
            check();
        }
        void check() {
            if (sent == total && heard.input.size() == total) loop->stop();
        }
        void run() {
            heard.when_writable = [this] { send(); };
            heard.when_input = [this] { check(); };
            wire->start(heard);
            send();
            loop->run();
        }
    };
    side x;
    side y;
    x.wire = a.get();
    x.loop = la.get();
    y.wire = b.get();
    y.loop = lb.get();
    for (std::size_t i = 0; i < total; ++i) {
        x.all += static_cast<char>(i * 7);
        y.all += static_cast<char>(i * 13);
    }
    std::thread other([&] { y.run(); });
    x.run();
    other.join();
    CHECK(x.heard.input == y.all);
    CHECK(y.heard.input == x.all);
}

TEST_CASE("one end may be destroyed on its thread while the other writes on its own") {
    for (int round = 0; round < 200; ++round) {
        auto la = async::epoll_loop::create();
        auto lb = async::epoll_loop::create();
        auto [a, b] = memory_pair(*la, *lb, 16);
        recorder heard_a;
        recorder heard_b;
        std::thread other([&, mine = std::move(b)]() mutable {
            mine->start(heard_b);
            lb->run_turn(false);
            mine.reset();
            lb.reset();
        });
        a->start(heard_a);
        while (a->write("some bytes").failure.empty()) la->run_turn(false);
        other.join();
        la->run_turn(false);
        CHECK(heard_a.ended);
    }
}
