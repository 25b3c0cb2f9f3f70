// Clients with their own thread, used and destroyed by other threads (docs/rules/lifecycle.md, G1, G3, G4, D1, D7).

#include "async/epoll_loop.hpp"
#include "async/worker_pool.hpp"
#include "client/engine.hpp"
#include "client/run_on_worker.hpp"
#include "support/gate.hpp"
#include "support/manual_loop.hpp"
#include "support/proof.hpp"

#include <keel/async.hpp>
#include <keel/client.hpp>
#include <keel/context.hpp>
#include <keel/server.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using namespace keel::test;

namespace {

/// Awaits a task on a loop of this thread.
template <class T>
std::string outcome_of(task<T> work) {
    auto here = async::epoll_loop::create();
    detail::activity line(*here);
    std::string text;
    here->post([&] {
        detail::start(line, std::move(work), [&](detail::outcome<T> o) {
            text = "done";
            if (o.index() == 0) {
                try {
                    std::rethrow_exception(std::get<0>(o));
                } catch (const keel::error& e) {
                    text = name_of(e.kind());
                } catch (const std::exception& e) {
                    text = e.what();
                }
            }
            here->stop();
        });
    });
    here->run();
    here->end();
    return text;
}

/// A server in this process whose tool never answers.
struct silent_server {
    silent_server() {
        server.add_tool("wait", "Waits", [this]() -> task<std::string> {
            ++arrived;
            event never;
            co_await never;
            co_return "";
        });
        server.add_tool("hello", "Says hello", [] { return std::string("hello"); });
    }
    std::atomic<int> arrived{0};
    keel::server server{{.name = "silent", .version = "1"}};
};

/// Calls of several threads that wait for an answer that never arrives.
struct waiting_threads {
    waiting_threads(client& c, silent_server& s, int n) : outcomes(static_cast<std::size_t>(n)) {
        for (std::string& each : outcomes) {
            auto call = std::make_shared<task<tool_result>>(c.call_tool("wait"));
            threads.emplace_back([call, &each] { each = outcome_of(std::move(*call)); });
        }
        while (s.arrived < n) std::this_thread::yield();
    }
    void join() {
        for (std::thread& each : threads) each.join();
        threads.clear();
    }
    std::vector<std::string> outcomes;
    std::vector<std::thread> threads;
};

struct user_name_form {
    std::string name;
};
KEEL_DESCRIBE(user_name_form, name)

}  // namespace

TEST_CASE("G1, D1: many threads close a client while others wait: every close returns, and every call ends once") {
    for (int round = 0; round < 20; ++round) {
        silent_server s;
        client c(server_target(s.server));
        REQUIRE(outcome_of(c.connect()) == "done");
        spoke(c.server().protocol_version);
        waiting_threads w(c, s, 4);
        std::vector<std::thread> closers;
        std::atomic<int> closed{0};
        for (int i = 0; i < 4; ++i) closers.emplace_back([&] { closed += outcome_of(c.close()) == "done"; });
        for (std::thread& each : closers) each.join();
        w.join();
        CHECK(closed == 4);
        for (const std::string& each : w.outcomes) CHECK(each == "connection closed");
        CHECK(!c.connected());
    }
}

TEST_CASE("G4, D1: destroying a client ends the calls of other threads") {
    for (int round = 0; round < 20; ++round) {
        silent_server s;
        auto c = std::make_unique<client>(server_target(s.server));
        REQUIRE(outcome_of(c->connect()) == "done");
        waiting_threads w(*c, s, 4);
        c.reset();
        w.join();
        for (const std::string& each : w.outcomes) CHECK(each == "connection closed");
    }
}

TEST_CASE("G4, D1: the thread of a destroyed client runs until its calls have ended with their outcomes") {
    for (bool with_token : {false, true}) {
        keel::server server{{.name = "curious", .version = "1"}};
        server.add_tool("ask", "Asks", [](context& ctx) -> task<std::string> {
            elicited<user_name_form> who = co_await ctx.elicit<user_name_form>("who", "Who?");
            co_return who->name;
        });
        std::atomic<int> asked{0};
        bool told = false;  // accessed only on the client's thread
        client_options options;
        options.on_disconnected = [&](const disconnection&) { told = true; };
        options.on_form = [&](form_question) -> task<form_answer> {
            ++asked;
            event never;
            try {
                co_await never;
            } catch (const cancelled&) {
                // Its cleanup, below, takes longer than closing the connection.
            }
            while (!told) co_await yield();
            for (int i = 0; i < 100; ++i) co_await yield();
            throw cancelled();
        };
        auto c = std::make_unique<client>(server_target(server), options);
        REQUIRE(outcome_of(c->connect()) == "done");
        // The calls were made on this thread: outcomes that the client's thread reported before its end have been
        // posted here.
        manual_loop here;
        std::stop_source unused;
        std::vector<std::string> outcomes(3, "nothing");
        std::vector<std::unique_ptr<detail::activity>> lines;
        for (std::string& each : outcomes) {
            call_options how;
            if (with_token) how.stop = unused.get_token();
            lines.push_back(std::make_unique<detail::activity>(here));
            detail::start(*lines.back(), c->call_tool("ask", {}, how), [&each](detail::outcome<tool_result> o) {
                each = "a result";
                if (o.index() == 1) return;
                try {
                    std::rethrow_exception(std::get<0>(o));
                } catch (const keel::error& e) {
                    each = name_of(e.kind());
                } catch (const std::exception& e) {
                    each = e.what();
                }
            });
        }
        while (asked < 3) std::this_thread::yield();
        c.reset();
        here.run();
        for (const std::string& each : outcomes) CHECK(each == "connection closed");
    }
}

TEST_CASE("G4: tasks created before a client was destroyed end, whether awaited during or after that") {
    for (int round = 0; round < 50; ++round) {
        silent_server s;
        auto c = std::make_unique<client>(server_target(s.server));
        if (round % 2 == 0) REQUIRE(outcome_of(c->connect()) == "done");
        auto calls = std::make_shared<std::vector<task<tool_result>>>();
        auto connects = std::make_shared<std::vector<task<void>>>();
        for (int i = 0; i < 20; ++i) {
            calls->push_back(c->call_tool("hello"));
            connects->push_back(c->connect());
        }
        std::thread caller([calls] {
            for (auto& each : *calls) outcome_of(std::move(each));
        });
        std::thread connecter([connects] {
            for (auto& each : *connects) outcome_of(std::move(each));
        });
        c.reset();
        caller.join();
        connecter.join();
    }
}

TEST_CASE("D3, G4: tasks created before a client was destroyed and awaited afterwards fail as closed") {
    silent_server s;
    auto c = std::make_unique<client>(server_target(s.server));
    REQUIRE(outcome_of(c->connect()) == "done");
    task<tool_result> call = c->call_tool("hello");
    task<void> connect = c->connect();
    task<void> ping = c->ping(call_options(std::stop_source().get_token()));
    c.reset();
    CHECK(outcome_of(std::move(call)) == "connection closed");
    CHECK(outcome_of(std::move(connect)) == "connection closed");
    CHECK(outcome_of(std::move(ping)) == "connection closed");
}

TEST_CASE("B15, D1, G4: a handler that exceeds the grace period is abandoned; its call has ended") {
    // Keeps the abandoned objects forever.
    static event never;
    server asking{{.name = "asking", .version = "1"}};
    asking.add_tool("greet", "", [](context& ctx) -> task<std::string> {
        elicited<user_name_form> who = co_await ctx.elicit<user_name_form>("who", "Who?");
        co_return who->name;
    });
    thread_gate asked;
    std::atomic<bool> cancelled_once{false};
    client_options options;
    options.limits.cleanup_grace = std::chrono::milliseconds(1);
    options.on_form = [&](asked_by, form_question) -> task<form_answer> {
        asked.open();
        try {
            co_await never;
        } catch (const cancelled&) {
            cancelled_once = true;
        }
        co_await never;
        co_return form_answer(elicit_action::cancel);
    };
    auto c = std::make_unique<client>(server_target(asking), options);
    REQUIRE(outcome_of(c->connect()) == "done");
    spoke(c->server().protocol_version);
    std::string text;
    auto call = std::make_shared<task<tool_result>>(c->call_tool("greet"));
    std::thread caller([&, call] { text = outcome_of(std::move(*call)); });
    asked.pass();
    c.reset();
    caller.join();
    CHECK(cancelled_once);
    CHECK(text == "connection closed");
}

TEST_CASE("B15, G4: a client with a server in this process waits for the cleanup of the server's handlers") {
    std::atomic<bool> begun{false};
    std::atomic<bool> cleaned{false};
    head_count handlers;
    server slow{{.name = "slow", .version = "1"}};
    slow.add_tool("slow", "Takes its time to end", [&]() -> task<std::string> {
        head_count::presence here(handlers);
        begun = true;
        bool stopped = false;
        try {
            event never;
            co_await never;
        } catch (const cancelled&) {
            stopped = true;
        }
        for (int turn = 0; stopped && turn < 1000; ++turn) co_await yield();
        cleaned = true;
        co_return "";
    });
    auto c = std::make_unique<client>(server_target(slow));
    REQUIRE(outcome_of(c->connect()) == "done");
    spoke(c->server().protocol_version);
    std::string text;
    auto call = std::make_shared<task<tool_result>>(c->call_tool("slow"));
    std::thread caller([&, call] { text = outcome_of(std::move(*call)); });
    while (!begun) std::this_thread::yield();
    c.reset();
    CHECK(cleaned);
    CHECK(handlers.here() == 0);
    caller.join();
    CHECK(text == "connection closed");
}

TEST_CASE("G3, G4: a client can be destroyed on its own thread with a call waiting") {
    for (int round = 0; round < 20; ++round) {
        silent_server s;
        std::promise<void> told;
        client_options options;
        options.on_disconnected = [&told](const disconnection&) { told.set_value(); };
        auto c = std::make_unique<client>(server_target(s.server), options);
        REQUIRE(outcome_of(c->connect()) == "done");
        waiting_threads w(*c, s, 1);
        auto loop = client_access::loop_of(*c);
        loop->post([&c] { c.reset(); });
        w.join();
        told.get_future().wait();
        CHECK(w.outcomes.at(0) == "connection closed");
    }
}

TEST_CASE("D7: a stop token fired on any thread cancels the call") {
    silent_server s;
    client c(server_target(s.server));
    REQUIRE(outcome_of(c.connect()) == "done");
    spoke(c.server().protocol_version);
    for (int round = 0; round < 100; ++round) {
        std::stop_source stop;
        int before = s.arrived;
        std::string text;
        std::thread other([&] { text = outcome_of(c.call_tool("wait", {}, call_options(stop.get_token()))); });
        if (round % 2 == 0) {
            while (s.arrived == before) std::this_thread::yield();
        }
        stop.request_stop();
        other.join();
        CHECK(text == "cancelled");
    }
    CHECK(outcome_of(c.call_tool("hello")) == "done");
}

TEST_CASE("F4, J3: a handler that returns after the client is gone does not keep the client's loop alive") {
    async::worker_pool pool(1);
    thread_gate held;
    std::weak_ptr<manual_loop> watched;
    {
        auto home = std::make_shared<manual_loop>();
        watched = home;
        detail::activity line(*home);
        bool ended = false;
        auto call = [&]() -> task<int> {
            client_side::run_on_worker<int> blocking(pool, home, [&] {
                held.pass();
                return 1;
            });
            co_return co_await blocking;
        };
        detail::start(line, call(), [&](detail::outcome<int>) { ended = true; });
        held.wait_arrived(1);
        line.stop();
        CHECK(ended);
    }
    held.open();
    CHECK(pool.shut_down(std::chrono::minutes(1)) == 0);
    CHECK(watched.expired());
}
