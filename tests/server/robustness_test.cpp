// What the embedding program may do in edge cases.

#include "line_client.hpp"
#include "support/real_loops.hpp"

#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace json = keel::json;
using namespace std::chrono_literals;

TEST_CASE("F6, G4: a resumed coroutine can destroy its own server") {
    std::string path = fresh_socket_path();
    auto s = std::make_unique<keel::server>(keel::implementation{.name = "test", .version = "1"});
    std::promise<void> gone;
    s->add_tool("end", "", [&](keel::context& ctx) -> keel::task<std::string> {
        co_await ctx.yield();
        s.reset();
        gone.set_value();
        co_return "unheard";
    });
    s->start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    c.start_call(1, "end");
    gone.get_future().wait();
    while (!c.receive().is_null()) {
    }
}

TEST_CASE("a handler can open another endpoint of its own server") {
    std::string one = fresh_socket_path();
    std::string two = fresh_socket_path();
    keel::server s({.name = "test", .version = "1"});
    s.add_tool("open", "",
               [&] {
                   s.start(keel::endpoint::unix_socket(two));
                   return "open";
               },
               {.quick = true});
    s.start(keel::endpoint::unix_socket(one));
    line_client c(one);
    c.open_session();
    CHECK(text_of(c.call(1, "open")) == "open");
    CHECK(line_client(two).connected());
}

TEST_CASE("G5: a server stops although the caller's loop ended before its session") {
    keel::server s({.name = "test", .version = "1"});
    auto loop = keel::async::epoll_loop::create();
    auto [ours, theirs] = keel::memory_pair(*loop, *loop);
    s.serve(loop, std::move(ours));
    loop->run_turn(false);
    CHECK(s.health().connections == 1);
    theirs.reset();
    loop->end();
    s.stop();
    CHECK(s.health().connections == 0);
}

TEST_CASE("a log function can call server::health") {
    std::string path = fresh_socket_path();
    keel::server* serving = nullptr;
    std::promise<std::size_t> asked;
    bool once = false;
    keel::server_options options;
    options.max_connections = 1;
    options.log = [&](keel::log_level, std::string_view) {
        if (!std::exchange(once, true)) asked.set_value(serving->health().connections);
    };
    keel::test::on_epoll on;
    auto loop = on.shared;
    keel::server s({.name = "test", .version = "1"}, options);
    serving = &s;
    auto [first, first_end] = keel::memory_pair(*loop, *loop);
    auto [second, second_end] = keel::memory_pair(*loop, *loop);
    s.serve(loop, std::move(first));
    std::string refused;
    s.serve(loop, std::move(second), [&](const keel::connection_end& e) { refused = e.cause; });
    CHECK(asked.get_future().get() == 1);
    CHECK(refused == "refused: too many connections (server_options::max_connections)");
    s.request_stop();
    on.until([&] { return s.health().connections == 0; });
}

TEST_CASE("F11: an exception of the callback for a closed connection is contained") {
    keel::test::on_epoll on;
    auto loop = on.shared;
    keel::server s({.name = "test", .version = "1"});
    auto [ours, theirs] = keel::memory_pair(*loop, *loop);
    s.serve(loop, std::move(ours), [](const keel::connection_end&) { throw std::runtime_error("no"); });
    theirs->close();
    on.until([&] { return s.health().connections == 0; });
}

namespace {

/// A connection that fails to start, for example without free descriptors.
class broken_wire final : public keel::connection {
public:
    void start(listener&) override { throw std::runtime_error("no more descriptors"); }
    written write(std::string_view) override { throw std::runtime_error("never started"); }
    void pause() noexcept override {}
    void resume() override {}
    void close() noexcept override {}
    std::string describe() const override { return "broken"; }
};

}  // namespace

TEST_CASE("F11, C5: a connection that throws ends its own session and nothing else") {
    keel::test::on_epoll on;
    auto loop = on.shared;
    keel::server s({.name = "test", .version = "1"});
    std::optional<keel::connection_end> end;
    s.serve(loop, std::make_unique<broken_wire>(), [&](const keel::connection_end& e) { end = e; });
    on.until([&] { return end.has_value(); });
    CHECK(end->cause == "no more descriptors");
    CHECK(s.health().connections == 0);
}

TEST_CASE("health counts the calls of connections that are still open") {
    std::string path = fresh_socket_path();
    keel::server s({.name = "test", .version = "1"});
    s.add_tool("hi", "", [] { return "hi"; }, {.quick = true});
    s.start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    for (int i = 1; i <= 5; ++i) c.call(i, "hi");
    CHECK(s.health().requests >= 5);
}

TEST_CASE("J4: cancelled calls in the worker queue free their arguments, and the queue is limited") {
    std::string path = fresh_socket_path();
    keel::server_options options;
    options.worker_threads = 1;
    options.limits.cleanup_grace = 1ms;
    options.limits.max_in_flight_total = 8;
    keel::server s({.name = "test", .version = "1"}, options);
    auto block = std::make_shared<std::counting_semaphore<>>(0);
    std::atomic<int> started{0};
    s.add_tool("block", "", [block, &started] {
        ++started;
        started.notify_all();
        block->acquire();
        return "done";
    });
    s.start(keel::endpoint::unix_socket(path));
    bool refused = false;
    // Each client disconnects with running calls; eventually the queue is full and calls are refused.
    for (int round = 0; round < 20 && !refused; ++round) {
        while (s.health().connections > 0) std::this_thread::yield();  // the previous connection has ended
        line_client c(path);
        c.open_session();
        for (int i = 1; i <= 4; ++i) c.start_call(i, "block");
        started.wait(0);
        c.send(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
        for (json::value m = c.receive(); !m.is_null(); m = c.receive()) {
            if (m["error"]["message"] == json::value("too many calls are waiting for a worker thread")) refused = true;
            if (m["id"] == json::value("p")) break;
        }
    }
    CHECK(refused);
    block->release(1000);
}

TEST_CASE("an infinite sleep ends when it is cancelled, not before") {
    std::string path = fresh_socket_path();
    keel::server s({.name = "test", .version = "1"});
    std::latch asleep(1);
    s.add_tool("forever", "", [&](keel::context& ctx) -> keel::task<std::string> {
        asleep.count_down();
        co_await ctx.sleep(keel::duration::max());
        co_return "woke";
    });
    s.start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    c.start_call(1, "forever");
    asleep.wait();
    CHECK(c.ask(R"({"jsonrpc":"2.0","id":2,"method":"ping"})")["id"] == json::value(2));  // no answer to 1 before it
    s.stop();
    CHECK(c.receive()["error"]["message"] == json::value("server shutting down"));
}
