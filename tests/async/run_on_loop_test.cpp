// A task that runs on another loop than the one it is awaited on.

#include "async/run_on_loop.hpp"
#include "support/gate.hpp"
#include "support/manual_loop.hpp"
#include "support/real_loops.hpp"

#include <keel/error.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;
using test::manual_loop;

namespace {

struct started {
    detail::activity line;
    std::string text = "running";

    started(loop& l, task<std::string> work) : line(l) {
        detail::start(line, std::move(work), [this](detail::outcome<std::string> o) {
            if (o.index() == 1) {
                text = std::get<1>(o);
                return;
            }
            try {
                std::rethrow_exception(std::get<0>(o));
            } catch (const error& e) {
                text = name_of(e.kind());
            } catch (const std::exception& e) {
                text = e.what();
            }
        });
    }
};

task<std::string> say(std::string what) { co_return what; }
task<std::string> fail() {
    throw std::runtime_error("failed");
    co_return "";
}

/// Two loops that the test runs by hand, as if each had its own thread.
struct two_loops {
    std::shared_ptr<manual_loop> home = std::make_shared<manual_loop>();
    std::shared_ptr<manual_loop> there = std::make_shared<manual_loop>();
    void run() {
        while (home->run() + there->run() > 0) {
        }
    }
};

/// A loop on its own thread.
struct loop_thread {
    std::shared_ptr<async::epoll_loop> loop = async::epoll_loop::create();
    std::thread thread{[l = loop] { l->run(); }};
    void stop() {
        if (!thread.joinable()) return;
        loop->stop();
        thread.join();
        loop->end();
    }
    ~loop_thread() { stop(); }
};

}  // namespace

TEST_CASE("the result or exception of a task on another loop is passed on") {
    two_loops l;
    started value(*l.home, async::run_on_loop(l.there, say("hello")));
    started failure(*l.home, async::run_on_loop(l.there, fail()));
    CHECK(value.text == "running");
    l.run();
    CHECK(value.text == "hello");
    CHECK(failure.text == "failed");
}

TEST_CASE("on the same loop it is a plain await: no turn passes") {
    two_loops l;
    started s(*l.home, async::run_on_loop<std::string>(l.home, say("here")));
    CHECK(s.text == "here");
    CHECK(l.home->ready() == 0);
}

TEST_CASE("each side runs on its own loop") {
    two_loops l;
    bool inside = false;
    auto work = [&]() -> task<std::string> {
        inside = true;
        co_await yield();
        co_return "done";
    };
    started s(*l.home, async::run_on_loop(l.there, work()));
    l.home->run();
    CHECK(!inside);
    l.there->run();
    CHECK(inside);
    CHECK(s.text == "running");
    l.home->run();
    CHECK(s.text == "done");
}

TEST_CASE("cancelled: the task is cancelled, cleans up, and then the wait ends") {
    two_loops l;
    event never;
    event cleanup;
    bool stopped = false;
    auto work = [&]() -> task<std::string> {
        try {
            co_await never;
        } catch (const cancelled&) {
            stopped = true;
        }
        co_await cleanup;
        throw cancelled();
    };
    started s(*l.home, async::run_on_loop(l.there, work()));
    l.run();
    s.line.stop();
    CHECK(!stopped);  // the other loop has not run yet
    l.run();
    CHECK(stopped);
    CHECK(s.text == "running");
    l.there->post([&] { cleanup.set(); });
    l.run();
    CHECK(s.text == "cancelled");
}

TEST_CASE("cancelled before the other loop has started the task: the task is cancelled at its first wait") {
    two_loops l;
    event never;
    auto work = [&]() -> task<std::string> {
        co_await never;
        co_return "went on";
    };
    started s(*l.home, async::run_on_loop(l.there, work()));
    s.line.stop();
    l.run();
    CHECK(s.text == "cancelled");
}

TEST_CASE("cancelled when the result is in transit: it is not lost") {
    two_loops l;
    started s(*l.home, async::run_on_loop(l.there, say("in time")));
    l.there->run();
    s.line.stop();
    l.run();
    CHECK(s.text == "in time");
}

TEST_CASE("cancelled when the result is in transit: the next wait throws, so that a loop of calls ends") {
    two_loops l;
    int calls = 0;
    auto again_and_again = [&]() -> task<std::string> {
        for (;;) {
            std::string said = co_await async::run_on_loop(l.there, say("x"));
            ++calls;
        }
    };
    started s(*l.home, again_and_again());
    l.there->run();
    s.line.stop();
    l.run();
    CHECK(s.text == "cancelled");
    CHECK(calls == 1);
}

TEST_CASE("cancelled before it begins: nothing is posted") {
    two_loops l;
    detail::activity line(*l.home);
    line.stop();
    bool ended = false;
    detail::start(line, async::run_on_loop(l.there, say("x")),
                  [&](detail::outcome<std::string> o) { ended = o.index() == 0; });
    CHECK(ended);
    CHECK(l.there->ready() == 0);
}

TEST_CASE("D3: if the other loop has ended, the wait ends immediately") {
    two_loops l;
    l.there->end();
    started s(*l.home, async::run_on_loop(l.there, say("x")));
    CHECK(s.text == "connection closed");
    l.run();
    CHECK(s.text == "connection closed");
    CHECK(l.home->timers() == 0);
}

TEST_CASE("D1: if the other loop ends before it has started the task, the wait ends") {
    two_loops l;
    started s(*l.home, async::run_on_loop(l.there, say("x")));
    l.there->end();
    l.run();
    CHECK(s.text == "connection closed");
}

TEST_CASE("D1: if the other loop ends while the task waits there, the wait ends, and the task is abandoned") {
    for (bool cancelled_before : {false, true}) {
        two_loops l;
        event later;
        bool went_on = false;
        auto work = [&]() -> task<std::string> {
            try {
                co_await later;
            } catch (const cancelled&) {
                went_on = false;
            }
            co_await later;
            went_on = true;
            co_return "late";
        };
        started s(*l.home, async::run_on_loop(l.there, work()));
        l.run();
        if (cancelled_before) s.line.stop();
        l.run();
        CHECK(s.text == "running");
        l.there->end();
        l.run();
        CHECK(s.text == (cancelled_before ? "cancelled" : "connection closed"));
        CHECK(l.home->timers() == 0);
        later.set();
        CHECK(went_on);
        l.run();
        CHECK(s.text == (cancelled_before ? "cancelled" : "connection closed"));
    }
}

TEST_CASE("a wait for another loop leaves no timer behind on either") {
    two_loops l;
    started value(*l.home, async::run_on_loop(l.there, say("x")));
    started failure(*l.home, async::run_on_loop(l.there, fail()));
    l.run();
    CHECK(value.text == "x");
    CHECK(l.home->timers() == 0);
    CHECK(l.there->timers() == 0);
}

TEST_CASE("G4: if the caller's loop ends, the wait ends with it, and the task is cancelled") {
    two_loops l;
    auto alive = std::make_shared<int>(1);
    std::weak_ptr<int> watch = alive;
    event never;
    bool stopped = false;
    auto work = [&]() -> task<std::string> {
        try {
            co_await never;
        } catch (const cancelled&) {
            stopped = true;
            throw;
        }
        co_return "";
    };
    auto waits = [&](std::shared_ptr<int> held) -> task<std::string> {
        std::string text = co_await async::run_on_loop(l.there, work());
        co_return text + std::to_string(*held);
    };
    started s(*l.home, waits(std::move(alive)));
    l.run();
    l.home->end();
    CHECK(s.text == "cancelled");
    CHECK(watch.expired());
    l.there->run();
    CHECK(stopped);
    CHECK(s.text == "cancelled");
    CHECK(l.there->timers() == 0);
}

TEST_CASE("G4: if the caller's loop ends with the result in transit, the wait ends nevertheless") {
    two_loops l;
    started s(*l.home, async::run_on_loop(l.there, say("x")));
    l.there->run();
    l.home->end();
    CHECK(s.text == "cancelled");
}

TEST_CASE("G4: a task that continues after its loop has ended starts nothing on another loop") {
    two_loops l;
    l.home->end();
    started s(*l.home, async::run_on_loop(l.there, say("x")));
    CHECK(s.text == "cancelled");
    CHECK(l.there->ready() == 0);
}

TEST_CASE("G4: the caller's loop is gone when the task ends") {
    loop_thread there;
    auto home = async::epoll_loop::create();
    test::thread_gate begun;
    event* later = nullptr;
    auto work = [&]() -> task<std::string> {
        event mine;
        later = &mine;
        begun.open();
        co_await mine;
        co_return "x";
    };
    started s(*home, async::run_on_loop(std::shared_ptr<loop>(there.loop), work()));
    begun.pass();
    home->end();
    home.reset();
    CHECK(s.text == "cancelled");
    there.stop();
}

TEST_CASE("many waits between two threads, half of them cancelled: each ends once, on its own thread") {
    loop_thread home;
    loop_thread there;
    constexpr int many = 2000;
    std::atomic<int> ended{0};
    std::atomic<int> strange{0};
    test::thread_gate all;
    struct one {
        explicit one(loop& l) : line(l) {}
        detail::activity line;
    };
    for (int i = 0; i < many; ++i) {
        auto o = std::make_shared<one>(*home.loop);
        auto work = [](loop* expected) -> task<std::string> {
            if (!expected->here()) throw std::runtime_error("the wrong thread");
            co_await yield();
            co_await yield();
            co_return "fine";
        };
        home.loop->post([&, o, work] {
            detail::start(o->line, async::run_on_loop(std::shared_ptr<loop>(there.loop), work(there.loop.get())),
                          [&, o](detail::outcome<std::string> r) {
                              if (!home.loop->here()) ++strange;
                              if (r.index() == 0) {
                                  try {
                                      std::rethrow_exception(std::get<0>(r));
                                  } catch (const cancelled&) {
                                  } catch (const std::exception&) {
                                      ++strange;
                                  }
                              }
                              if (++ended == many) all.open();
                          });
        });
        if (i % 2 == 0) home.loop->post([o] { o->line.stop(); });
    }
    all.pass();
    CHECK(ended == many);
    CHECK(strange == 0);
}

TEST_CASE("a loop that ends before it has started the tasks of other loops ends their waits") {
    for (int round = 0; round < 50; ++round) {
        loop_thread home;
        loop_thread there;
        constexpr int many = 50;
        std::atomic<int> ended{0};
        test::thread_gate all;
        struct one {
            explicit one(loop& l) : line(l) {}
            detail::activity line;
        };
        std::thread other([&] { there.stop(); });
        for (int i = 0; i < many; ++i) {
            auto o = std::make_shared<one>(*home.loop);
            home.loop->post([&, o] {
                detail::start(o->line, async::run_on_loop(std::shared_ptr<loop>(there.loop), say("x")),
                              [&, o](detail::outcome<std::string>) {
                                  if (++ended == many) all.open();
                              });
            });
        }
        other.join();
        all.pass();
        CHECK(ended == many);
    }
}
