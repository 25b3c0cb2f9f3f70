#include "line_client.hpp"

#include <keel/event_loop.hpp>
#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace json = keel::json;
using namespace std::chrono_literals;

TEST_CASE("a server starts and stops again and again, in the background, from any thread") {
    keel::server s({.name = "test", .version = "1"});
    s.add_tool("hi", "", [] { return "hi"; }, {.quick = true});
    for (int round = 0; round < 3; ++round) {
        std::string path = fresh_socket_path();
        s.start(keel::endpoint::unix_socket(path));
        CHECK(s.address() == "unix " + path);
        {
            line_client c(path);
            c.open_session();
            CHECK(text_of(c.call(1, "hi")) == "hi");
        }
        std::thread([&] { s.stop(); }).join();
        CHECK_FALSE(line_client(path).connected());
    }
    CHECK(s.health().connections == 0);
    CHECK(s.health().requests >= 3);
}

TEST_CASE("an unusable address is reported to the caller, and the server continues") {
    keel::server s({.name = "test", .version = "1"});
    CHECK_THROWS(s.start(keel::endpoint::unix_socket("/no/such/folder/x.sock")));
    CHECK_THROWS_AS(s.start(keel::endpoint::tcp("nonsense")), std::invalid_argument);
    s.start(keel::endpoint::tcp("127.0.0.1:0"));
    CHECK(s.address().starts_with("tcp 127.0.0.1:"));
    CHECK(s.address() != "tcp 127.0.0.1:0");
}

TEST_CASE("F6: server::stop is refused inside a handler; request_stop is allowed") {
    std::string path = fresh_socket_path();
    keel::server s({.name = "test", .version = "1"});
    std::promise<std::string> told;
    s.add_tool("stop", "", [&] {
        try {
            s.stop();
        } catch (const std::logic_error& e) {
            told.set_value(e.what());
        }
        s.request_stop();
        return "unheard";
    });
    s.add_tool("stop-task", "", [&](keel::context& ctx) -> keel::task<std::string> {
        co_await ctx.yield();
        std::string said;
        try {
            s.wait();
        } catch (const std::logic_error& e) {
            said = e.what();
        }
        co_return said;
    });
    s.start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    CHECK(text_of(c.call(1, "stop-task")).find("in a handler") != std::string::npos);
    c.start_call(2, "stop");
    CHECK(told.get_future().get().find("in a handler") != std::string::npos);
    s.wait();
    CHECK(c.receive()["error"]["code"] == json::value(-32603));  // the stop ended the call with an error
    CHECK(c.receive().is_null());
}

TEST_CASE("G5: stop lets running calls finish during the drain, then answers them with an error") {
    std::string path = fresh_socket_path();
    keel::server s({.name = "test", .version = "1"});
    std::latch started(2);
    s.add_tool("park", "", [&](keel::context& ctx) -> keel::task<std::string> {
        started.count_down();
        co_await ctx.sleep(1h);
        co_return "never";
    });
    s.add_tool("brief", "", [&] {
        started.count_down();
        return "done";
    });
    s.start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    c.start_call(1, "park");
    c.start_call(2, "brief");
    started.wait();
    s.stop(50ms);
    bool brief = false;
    bool parked = false;
    for (json::value m = c.receive(); !m.is_null(); m = c.receive()) {
        if (m["id"] == json::value(2)) brief = m.contains("result");
        if (m["id"] == json::value(1)) parked = m["error"]["message"] == json::value("server shutting down");
    }
    CHECK(brief);
    CHECK(parked);
}

TEST_CASE("F5 A12: a handler that blocks its thread does not delay other requests") {
    std::string path = fresh_socket_path();
    keel::server_options options;
    options.worker_threads = 1;
    keel::server s({.name = "test", .version = "1"}, options);
    std::latch started(1), go_on(1);
    s.add_tool("block", "", [&] {
        started.count_down();
        go_on.wait();
        return "done";
    });
    s.add_tool("quick", "", [] { return "quick"; }, {.quick = true});
    s.start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    c.start_call(1, "block");
    started.wait();
    CHECK(c.ask(R"({"jsonrpc":"2.0","id":2,"method":"ping"})")["result"].is_object());
    CHECK(text_of(c.call(3, "quick")) == "quick");
    go_on.count_down();
    CHECK(text_of(c.receive()) == "done");
}

TEST_CASE("F4: a handler that never stops is abandoned and counted, and may end later") {
    auto go_on = std::make_shared<std::latch>(1);
    auto ended = std::make_shared<std::promise<void>>();
    auto left = ended->get_future();
    {
        std::string path = fresh_socket_path();
        keel::server_options options;
        options.limits.cleanup_grace = 20ms;
        keel::server s({.name = "test", .version = "1"}, options);
        std::latch started(1);
        s.add_tool("stuck", "", [&started, go_on, ended](keel::context& ctx) {
            keel::context saved = ctx;
            started.count_down();
            go_on->wait();
            saved.progress(1);
            saved.log(keel::log_level::error, "too late");
            ended->set_value();
            return "unheard";
        });
        s.start(keel::endpoint::unix_socket(path));
        line_client c(path);
        c.open_session();
        c.start_call(1, "stuck");
        started.wait();
        s.stop();
        CHECK(s.health().abandoned == 1);
    }
    go_on->count_down();
    left.wait();
}

TEST_CASE("G4: a server destroyed while calls run ends them and leaves nothing behind") {
    std::string path = fresh_socket_path();
    std::promise<std::string> cleaned;
    {
        keel::server s({.name = "test", .version = "1"});
        std::latch started(1);
        s.add_tool("park", "", [&](keel::context& ctx) -> keel::task<std::string> {
            started.count_down();
            bool cut = false;
            try {
                co_await ctx.sleep(1h);
            } catch (const keel::cancelled&) {
                cut = true;
            }
            if (cut) {
                co_await ctx.sleep(1ms);  // cleanup may wait
                cleaned.set_value("cleaned");
            }
            co_return "unheard";
        });
        s.start(keel::endpoint::unix_socket(path));
        line_client c(path);
        c.open_session();
        c.start_call(1, "park");
        started.wait();
    }
    CHECK(cleaned.get_future().get() == "cleaned");
}

TEST_CASE("several servers in one process are independent") {
    std::string one = fresh_socket_path();
    std::string two = fresh_socket_path();
    keel::server a({.name = "a", .version = "1"});
    keel::server b({.name = "b", .version = "1"});
    a.add_tool("who", "", [] { return "a"; });
    b.add_tool("who", "", [] { return "b"; });
    a.start(keel::endpoint::unix_socket(one));
    b.start(keel::endpoint::unix_socket(two));
    line_client ca(one), cb(two);
    ca.open_session();
    cb.open_session();
    CHECK(text_of(ca.call(1, "who")) == "a");
    a.stop();
    CHECK(text_of(cb.call(1, "who")) == "b");
}

TEST_CASE("tools can be added and removed from many threads while clients call") {
    std::string path = fresh_socket_path();
    keel::server s({.name = "test", .version = "1"});
    s.add_tool("steady", "", [] { return "steady"; }, {.quick = true});
    s.start(keel::endpoint::unix_socket(path));
    std::atomic<bool> stop{false};
    std::vector<std::thread> churn;
    for (int t = 0; t < 2; ++t) {
        churn.emplace_back([&s, &stop, t] {
            for (int i = 0; !stop; ++i) {
                std::string name = "tool" + std::to_string(t) + "-" + std::to_string(i % 10);
                s.add_tool(name, "", [] { return "x"; });
                s.remove_tool(name);
            }
        });
    }
    line_client c(path);
    c.open_session();
    int answered = 0;
    for (int i = 1; i <= 300; ++i) {
        c.start_call(i, "steady");
        json::value m;
        do m = c.receive();
        while (m.contains("method"));
        if (m["id"] == json::value(i) && m.contains("result")) ++answered;
    }
    stop = true;
    for (auto& t : churn) t.join();
    CHECK(answered == 300);
}

TEST_CASE("request_stop calls its callback once, after the last handler and the stop hooks") {
    std::string path = fresh_socket_path();
    auto s = std::make_unique<keel::server>(keel::implementation{.name = "test", .version = "1"});
    std::latch started(1), go_on(1);
    std::atomic<int> handlers = 0;
    std::atomic<int> hooks = 0;
    s->add_tool("block", "", [&] {
        started.count_down();
        go_on.wait();
        ++handlers;
        return "done";
    });
    s->on_stop([&] { hooks = handlers.load(); });
    s->start(keel::endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    c.start_call(1, "block");
    started.wait();
    std::promise<int> told;
    SUBCASE("the server continues to exist") {
        s->request_stop(1h, [&] { told.set_value(hooks); });
        go_on.count_down();
        CHECK(told.get_future().get() == 1);
        bool again = false;
        s->request_stop({}, [&] { again = true; });
        CHECK(again);  // nothing is served: called at once
    }
    SUBCASE("the callback destroys the server") {
        s->request_stop(1h, [&] {
            s.reset();
            told.set_value(hooks);
        });
        go_on.count_down();
        CHECK(told.get_future().get() == 1);
    }
    SUBCASE("the callback throws") {
        s->request_stop(1h, [&] {
            told.set_value(hooks);
            throw std::runtime_error("thrown by the callback");
        });
        go_on.count_down();
        CHECK(told.get_future().get() == 1);
        s->stop();
    }
    CHECK(handlers == 1);
}

TEST_CASE(
    "F6: on a polled event loop, stop is refused, and request_stop with a callback ends while the program polls") {
    std::string path = fresh_socket_path();
    keel::event_loop on;
    keel::server s({.name = "test", .version = "1"});
    std::thread::id ran_on;
    s.add_tool("where", "",
               [&] {
                   ran_on = std::this_thread::get_id();
                   return "here";
               },
               {.quick = true});
    auto listener = keel::listen_unix(
        *on.get(), path, [&](std::unique_ptr<keel::connection> wire) { s.serve(on.get(), std::move(wire)); });
    std::string answer;
    std::atomic<bool> answered = false;
    std::latch leave(1);
    std::thread client([&] {
        line_client c(path);
        c.open_session();
        answer = text_of(c.call(1, "where"));
        answered = true;
        on.get()->post([] {});  // wakes the loop
        leave.wait();
    });
    while (!answered) on.poll(1h);
    CHECK(answer == "here");
    CHECK(ran_on == std::this_thread::get_id());
    CHECK_THROWS_AS(s.stop(), std::logic_error);  // nobody would poll meanwhile
    bool stopped = false;
    listener->close();
    s.request_stop({}, [&] { stopped = true; });
    while (!stopped) on.poll(1h);
    CHECK(s.health().connections == 0);
    leave.count_down();
    client.join();
}
