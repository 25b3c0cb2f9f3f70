// The blocking client: calls from any thread, without coroutines.

#include "async/epoll_loop.hpp"
#include "support/gate.hpp"

#include <keel/async.hpp>
#include <keel/blocking_client.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace keel;
using namespace std::chrono_literals;

namespace {

struct number_args {
    int n = 0;
};
KEEL_DESCRIBE(number_args, n)

struct name_form {
    std::string name;
};
KEEL_DESCRIBE(name_form, name)

task<std::string> greet(context& ctx) {
    elicited<name_form> who = co_await ctx.elicit<name_form>("who", "Who?");
    co_return "hello " + who->name;
}

struct offer {
    server s{{.name = "test", .version = "1"}};
    test::thread_gate held;

    offer() {
        s.add_tool("twice", "", [](number_args in) { return in.n * 2; }, {.quick = true});
        s.add_tool("fail", "", [] { return tool_result::failure("no luck"); }, {.quick = true});
        s.add_tool("hold", "", [this] {
            held.pass();
            return "let go";
        });
        s.add_tool("step", "",
                   [](context& ctx) {
                       ctx.progress(1, 2);
                       return "done";
                   },
                   {.quick = true});
        s.add_tool("greet", "", &greet);
        resource boat;
        boat.uri = "test://boat";
        boat.name = "boat";
        s.add_resource(std::move(boat), [] { return "a boat"; }, {.quick = true});
    }
};

/// A loop that runs on its own thread. The thread that runs a loop ends it, which drops the remaining queued work.
struct running_loop {
    ~running_loop() {
        on->stop();
        runner.join();
        on->end();
    }
    std::shared_ptr<async::epoll_loop> on = async::epoll_loop::create();
    std::thread runner{[this] { on->run(); }};
};

json::value number(int n) { return json::object({{"n", n}}); }

}  // namespace

TEST_CASE("a blocking client calls from many threads at once") {
    offer o;
    blocking_client client{server_target(o.s)};
    client.connect();
    CHECK(client.connected());
    CHECK(client.server().about.name == "test");
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 25; ++i)
                    right += client.call_tool<int>("twice", number(t * 100 + i)) == (t * 100 + i) * 2;
            });
        }
    }
    CHECK(right == 200);
    CHECK(client.list_tools().size() == 5);
    CHECK(client.read_resource("test://boat").at(0).text == "a boat");
    client.ping();
    client.close();
    CHECK_FALSE(client.connected());
}

TEST_CASE("a blocking client throws errors on the calling thread") {
    offer o;
    blocking_client client{server_target(o.s)};
    client.connect();
    try {
        client.call_tool("nothing");
        FAIL("not refused");
    } catch (const error& e) {
        CHECK(e.kind() == error_kind::rejected);
        CHECK(e.code() == error_code::invalid_params);
    }
    CHECK_THROWS_AS(client.call_tool<std::string>("fail", json::value()), tool_failed);
    CHECK(client.call_tool("fail").is_error);
    CHECK_THROWS_AS(client.call_tool("twice", json::array({1})), std::invalid_argument);
    client.close();
    try {
        client.call_tool("twice", number(1));
        FAIL("the client is closed");
    } catch (const error& e) {
        CHECK(e.kind() == error_kind::closed);
    }
}

TEST_CASE("a blocking call on the client's own loop throws instead of deadlocking") {
    offer o;
    std::promise<bool> refused;
    blocking_client client{server_target(o.s)};
    client.connect();
    call_options how;
    how.on_progress = [&](const progress_report&) {
        try {
            client.ping();
            refused.set_value(false);
        } catch (const std::logic_error&) {
            refused.set_value(true);
        }
    };
    CHECK(client.call_tool("step", {}, how).content.at(0).text() == "done");
    CHECK(refused.get_future().get());
}

TEST_CASE("an elicitation handler may call the server itself") {
    offer o;
    blocking_client* there = nullptr;
    client_options options;
    options.on_form = [&](const form_question&) {
        return form_answer(json::object({{"name", std::to_string(there->call_tool<int>("twice", number(21)))}}));
    };
    blocking_client client(server_target(o.s), options);
    there = &client;
    client.connect();
    CHECK(client.call_tool("greet").content.at(0).text() == "hello 42");
}

TEST_CASE("another thread can cancel a blocking call") {
    offer o;
    blocking_client client{server_target(o.s)};
    client.connect();
    std::stop_source stop;
    std::jthread other([&] {
        o.held.wait_arrived(1);
        stop.request_stop();
    });
    try {
        client.call_tool("hold", {}, call_options(stop.get_token()));
        FAIL("not cancelled");
    } catch (const error& e) {
        CHECK(e.kind() == error_kind::cancelled);
    }
    o.held.open();
    CHECK(client.call_tool<int>("twice", number(3)) == 6);
}

TEST_CASE("connecting can be cancelled before it begins") {
    offer o;
    blocking_client client{server_target(o.s)};
    std::stop_source stop;
    stop.request_stop();
    try {
        client.connect(stop.get_token());
        FAIL("not cancelled");
    } catch (const error& e) {
        CHECK(e.kind() == error_kind::cancelled);
    }
    CHECK_FALSE(client.connected());
    client.connect();
    client.ping();
}

TEST_CASE("waiting for changes can have a time limit") {
    offer o;
    blocking_client client{server_target(o.s)};
    client.connect();
    subscription_request wanted;
    wanted.uris = {"test://boat"};
    blocking_subscription changes = client.subscribe(wanted);
    CHECK(changes.agreed().uris == wanted.uris);
    CHECK_FALSE(changes.next(1ms).has_value());
    CHECK(changes.how_ended() == subscription_end::none);

    // The cancelled wait has lost no change.
    o.s.resource_updated("test://boat");
    std::optional<change> told = changes.next();
    REQUIRE(told.has_value());
    CHECK(told->what == change::kind::resource);
    CHECK(told->uri == "test://boat");

    std::promise<void> waiting;
    std::jthread other([&] {
        waiting.get_future().wait();
        changes.stop();
    });
    waiting.set_value();
    CHECK_FALSE(changes.next().has_value());
    CHECK(changes.how_ended() == subscription_end::ended);
    CHECK_THROWS_AS(blocking_subscription().next(), std::logic_error);
}

TEST_CASE("a moved client works on its loop, which another thread runs") {
    offer o;
    running_loop there;
    blocking_client client(keel::client(there.on, server_target(o.s)));
    client.connect();
    CHECK(client.call_tool<int>("twice", number(4)) == 8);
    client.close();
}

TEST_CASE("a blocking call does not wait for a loop that has ended") {
    auto on = async::epoll_loop::create();
    auto work = []() -> task<int> { co_return 1; };
    on->end();
    CHECK_THROWS_AS(detail::wait_for(std::shared_ptr<loop>(on), work()), error);

    // Nothing runs this loop: it ends with the task in its queue, or before the task is posted. In both cases the wait
    // ends.
    auto other = async::epoll_loop::create();
    std::jthread waiter([&] { CHECK_THROWS_AS(detail::wait_for(std::shared_ptr<loop>(other), work()), error); });
    other->end();
}

TEST_CASE("exceptions of tasks are passed on, and tasks without a value work") {
    running_loop there;
    std::shared_ptr<loop> on = there.on;
    int ran = 0;
    detail::wait_for(on, [&]() -> task<void> {
        ++ran;
        co_return;
    }());
    CHECK(ran == 1);
    CHECK_THROWS_AS(detail::wait_for(on,
                                     []() -> task<void> {
                                         co_await keel::yield();
                                         throw std::out_of_range("x");
                                     }()),
                    std::out_of_range);
    CHECK_FALSE(detail::wait_for_until(
                    on,
                    []() -> task<int> {
                        co_await sleep_for(duration::max());
                        co_return 1;
                    }(),
                    std::chrono::steady_clock::now())
                    .has_value());
}

TEST_CASE("D1, G4: if a loop ends while a task is running, the waiting thread gets an error") {
    for (bool bounded : {false, true}) {
        event later;
        test::thread_gate begun;
        std::shared_ptr<async::epoll_loop> on = async::epoll_loop::create();
        std::thread runner([on] {
            on->run();
            on->end();
        });
        std::thread ender([&] {
            begun.pass();
            on->stop();
        });
        auto work = [&]() -> task<int> {
            begun.open();
            co_await later;
            co_return 1;
        };
        error_kind kind = error_kind::rejected;
        try {
            if (bounded) detail::wait_for_until(on, work(), time_point::max());
            else detail::wait_for(on, work());
        } catch (const error& e) {
            kind = e.kind();
        }
        runner.join();
        ender.join();
        CHECK(kind == error_kind::closed);
        later.set();  // the abandoned call ends, and its outcome is not reported twice
    }
}

TEST_CASE("D3, G4: a subscription whose client is destroyed delivers its queued changes and then ends") {
    offer o;
    blocking_subscription s;
    {
        blocking_client client{server_target(o.s)};
        client.connect();
        subscription_request what;
        what.tools = true;
        s = client.subscribe(what);
    }
    CHECK(s.how_ended() != subscription_end::none);
    CHECK(!s.next());
    CHECK(!s.next(1h));
}

TEST_CASE("G4: changes that arrived before the client was destroyed are still delivered") {
    offer o;
    blocking_subscription s;
    {
        blocking_client client{server_target(o.s)};
        client.connect();
        subscription_request what;
        what.tools = true;
        s = client.subscribe(what);
        o.s.add_tool("more", "", [] { return "more"; });
        // The server sends the change before this answer.
        client.call_tool("twice", number(1));
    }
    std::optional<change> first = s.next();
    REQUIRE(first);
    CHECK(first->what == change::kind::tools);
    CHECK(!s.next());
}
