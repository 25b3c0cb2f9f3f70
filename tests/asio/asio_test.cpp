#include "support/real_loops.hpp"

#include <keel/asio.hpp>
#include <keel/async.hpp>

#include <doctest/doctest.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace keel;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using unix_socket = asio::local::stream_protocol::socket;

namespace {

std::string text_of(std::exception_ptr e) {
    if (!e) return "none";
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        return x.what();
    }
}

task<int> slow_answer(std::string& log) {
    bool stopped = false;
    try {
        co_await sleep_for(1h);
    } catch (const cancelled&) {
        stopped = true;
    }
    if (stopped) {
        co_await yield();  // cleanup waits
        log += "cleaned";
        throw cancelled();
    }
    co_return 1;
}

}  // namespace

TEST_CASE("a task awaits Asio operations and gets their values") {
    asio::io_context context;
    unix_socket a(context);
    unix_socket b(context);
    asio::local::connect_pair(a, b);
    std::string got;
    auto work = [&]() -> task<std::size_t> {
        std::string message = "hello";
        co_await asio::async_write(a, asio::buffer(message), use_task);
        std::array<char, 16> room;
        std::size_t n = co_await b.async_read_some(asio::buffer(room), use_task);
        got.assign(room.data(), n);
        asio::steady_timer timer(context, 1ms);
        co_await timer.async_wait(use_task);
        co_return n;
    };
    std::optional<std::size_t> result;
    spawn(context, work(), [&](std::exception_ptr e, std::size_t n) {
        CHECK(!e);
        result = n;
    });
    context.run();
    CHECK(result == 5u);
    CHECK(got == "hello");
}

TEST_CASE("an operation's error is thrown as system_error, and several values are returned as a tuple") {
    asio::io_context context;
    unix_socket a(context);
    unix_socket b(context);
    asio::local::connect_pair(a, b);
    b.close();
    std::string seen;
    auto two_values = [](auto&& token) {
        return asio::async_initiate<decltype(token), void(boost::system::error_code, int, std::string)>(
            [](auto handler) { std::move(handler)(boost::system::error_code(), 7, std::string("seven")); }, token);
    };
    auto work = [&]() -> task<void> {
        std::array<char, 16> room;
        try {
            co_await asio::async_read(a, asio::buffer(room), use_task);
        } catch (const boost::system::system_error& e) {
            CHECK(e.code() == asio::error::eof);
            seen = "eof";
        }
        auto [number, name] = co_await two_values(use_task);
        seen += std::to_string(number) + name;
    };
    spawn(context, work(), [](std::exception_ptr e) { CHECK(text_of(e) == "none"); });
    context.run();
    CHECK(seen == "eof7seven");
}

TEST_CASE(
    "cancelling a task cancels its operation; the wait throws after the operation has ended, and cleanup may "
    "use Asio again") {
    asio::io_context context;
    unix_socket a(context);
    unix_socket b(context);
    asio::local::connect_pair(a, b);
    std::string seen;
    auto work = [&]() -> task<void> {
        std::array<char, 16> room;
        bool stopped = false;
        try {
            co_await a.async_read_some(asio::buffer(room), use_task);
        } catch (const cancelled&) {
            stopped = true;
        }
        seen += stopped ? "cancelled " : "read ";
        std::string goodbye = "bye";
        co_await asio::async_write(a, asio::buffer(goodbye), use_task);
        seen += "cleaned";
    };
    asio::cancellation_signal stop;
    bool ended = false;
    spawn(context, work(), asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e) {
              CHECK(!e);
              ended = true;
          }));
    context.poll();
    CHECK(!ended);
    stop.emit(asio::cancellation_type::terminal);
    context.restart();
    context.run();
    CHECK(ended);
    CHECK(seen == "cancelled cleaned");
    std::array<char, 3> got;
    CHECK(asio::read(b, asio::buffer(got)) == 3);
}

TEST_CASE("a cancelled wait for an operation without cancellation support ends when the operation does") {
    asio::io_context context;
    std::function<void()> complete;
    auto stubborn = [&](auto&& token) {
        return asio::async_initiate<decltype(token), void()>(
            [&](auto handler) {
                auto kept = std::make_shared<decltype(handler)>(std::move(handler));
                complete = [kept] { std::move (*kept)(); };
            },
            token);
    };
    auto work = [&]() -> task<void> { co_await stubborn(use_task); };
    asio::cancellation_signal stop;
    std::string ended;
    spawn(context, work(),
          asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e) { ended = text_of(e); }));
    context.poll();
    stop.emit(asio::cancellation_type::total);
    context.restart();
    context.poll();
    CHECK(ended.empty());
    complete();
    complete = nullptr;
    context.restart();
    context.poll();
    CHECK(ended == "cancelled");
}

TEST_CASE("an operation whose initiation throws, and one whose handler is dropped, end the wait with an error") {
    asio::io_context context;
    auto throwing = [](auto&& token) {
        return asio::async_initiate<decltype(token), void()>([](auto) { throw std::runtime_error("cannot start"); },
                                                             token);
    };
    auto dropping = [](auto&& token) { return asio::async_initiate<decltype(token), void()>([](auto) {}, token); };
    std::string first;
    std::string second;
    auto work = [&]() -> task<void> {
        try {
            co_await throwing(use_task);
        } catch (const std::runtime_error& e) {
            first = e.what();
        }
        try {
            co_await dropping(use_task);
        } catch (const boost::system::system_error& e) {
            if (e.code() == asio::error::operation_aborted) second = "aborted";
        }
    };
    spawn(context, work(), [](std::exception_ptr e) { CHECK(!e); });
    context.run();
    CHECK(first == "cannot start");
    CHECK(second == "aborted");
}

TEST_CASE("a task is spawned with any completion token") {
    asio::io_context context;
    auto work = []() -> task<std::string> {
        co_await yield();
        co_return "result";
    };
    SUBCASE("use_future") {
        std::future<std::string> result = spawn(context.get_executor(), work(), asio::use_future);
        context.run();
        CHECK(result.get() == "result");
    }
    SUBCASE("use_awaitable") {
        std::string got;
        auto from_asio = [&]() -> asio::awaitable<void> { got = co_await spawn(context, work(), asio::use_awaitable); };
        asio::co_spawn(context, from_asio(), asio::detached);
        context.run();
        CHECK(got == "result");
    }
    SUBCASE("as_tuple") {
        std::string got;
        auto failing = []() -> task<std::string> {
            co_await yield();
            throw std::runtime_error("failed");
        };
        auto from_asio = [&]() -> asio::awaitable<void> {
            auto [e, value] = co_await spawn(context, failing(), asio::as_tuple(asio::use_awaitable));
            got = text_of(e) + value;
        };
        asio::co_spawn(context, from_asio(), asio::detached);
        context.run();
        CHECK(got == "failed");
    }
    SUBCASE("a callback on an executor of its own") {
        asio::io_context other;
        bool called = false;
        spawn(context, work(), asio::bind_executor(other.get_executor(), [&](std::exception_ptr, const std::string& s) {
                  called = s == "result";
              }));
        context.run();
        CHECK(!called);
        other.run();
        CHECK(called);
    }
}

TEST_CASE("cancelling an Asio coroutine cancels the task it awaits and waits for its cleanup") {
    asio::io_context context;
    std::string log;
    std::string ended;
    asio::cancellation_signal stop;
    auto from_asio = [&]() -> asio::awaitable<void> { co_await spawn(context, slow_answer(log), asio::use_awaitable); };
    asio::co_spawn(context, from_asio(),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e) { ended = text_of(e); }));
    context.poll();
    CHECK(ended.empty());
    stop.emit(asio::cancellation_type::terminal);
    context.run();
    CHECK(log == "cleaned");
    CHECK(ended == "cancelled");
}

TEST_CASE("a task on a loop of its own thread awaits operations of an io_context on another") {
    asio::io_context context;
    auto guard = asio::make_work_guard(context);
    std::thread io([&] { context.run(); });
    auto l = async::epoll_loop::create();
    unix_socket a(context);
    unix_socket b(context);
    asio::local::connect_pair(a, b);

    int rounds = 0;
    auto echo = [&]() -> task<void> {
        for (int i = 0; i < 200; ++i) {
            std::string message = "ping";
            co_await asio::async_write(a, asio::buffer(message), use_task);
            CHECK(l->here());
            std::array<char, 4> room;
            co_await asio::async_read(b, asio::buffer(room), use_task);
            ++rounds;
        }
        std::array<char, 4> room;
        co_await asio::async_read(b, asio::buffer(room), use_task);  // until cancelled
    };
    asio::cancellation_signal stop;
    std::string ended;
    l->post([&] {
        spawn(*l, echo(), asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e) {
            ended = text_of(e);
            l->stop();
        }));
    });
    l->start_timer(l->now(), [&] {});
    while (rounds < 200) l->run_turn(true);
    stop.emit(asio::cancellation_type::terminal);
    l->run();
    CHECK(ended == "cancelled");
    guard.reset();
    io.join();
}

TEST_CASE("cancelling races with completion on several threads, and each task ends once") {
    asio::io_context context;
    std::atomic<int> ended = 0;
    constexpr int count = 500;
    auto guard = asio::make_work_guard(context);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { context.run(); });
    auto l = loop_on(context);
    asio::any_io_executor strand = executor_of(*l);
    std::vector<std::unique_ptr<asio::cancellation_signal>> stops;
    auto work = [&]() -> task<void> {
        asio::steady_timer timer(strand, 1us);
        co_await timer.async_wait(use_task);
    };
    for (int i = 0; i < count; ++i) {
        stops.push_back(std::make_unique<asio::cancellation_signal>());
        // The slot is filled and emitted on this thread; the handler clears it on a strand of its own, and so do we.
        auto mine = asio::make_strand(context);
        asio::post(mine, [&, mine, stop = stops.back().get()] {
            spawn(context, work(),
                  asio::bind_executor(
                      mine, asio::bind_cancellation_slot(stop->slot(), [&](std::exception_ptr) { ++ended; })));
            asio::post(mine, [stop] { stop->emit(asio::cancellation_type::terminal); });
        });
    }
    while (ended < count) std::this_thread::yield();
    guard.reset();
    for (std::thread& t : threads) t.join();
    CHECK(ended == count);
}
