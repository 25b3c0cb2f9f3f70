// server::on_start, server::on_stop and context::state.

#include "feature_server.hpp"
#include "line_client.hpp"
#include "support/real_loops.hpp"

#include <keel/transport.hpp>

#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

namespace keel::test {

namespace {

struct database {
    explicit database(lines& l, std::string n = "database") : log(l), name(std::move(n)) {
        log.push_back(name + " opened");
    }
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    ~database() { log.push_back(name + " closed"); }
    lines& log;
    std::string name;
};

struct cache {
    explicit cache(lines& l) : log(l) {}
    cache(const cache&) = delete;
    cache& operator=(const cache&) = delete;
    ~cache() { log.emplace_back("cache closed"); }
    lines& log;
    int size = 7;
};

std::string what_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("the objects of on_start are available in every kind of handler, and destroyed in reverse order") {
    lines log;
    std::string path = fresh_socket_path();
    {
        server s({.name = "test", .version = "1"});
        s.on_start([&] { return std::make_unique<database>(log); });
        s.on_start([&] { return std::make_shared<cache>(log); });
        s.on_start([&] { log.emplace_back("ready"); });
        s.on_stop([&] { log.emplace_back("stopped"); });
        s.add_tool("quick", "", [](context& ctx) { return ctx.state<database>().name; }, {.quick = true});
        s.add_tool("worker", "", [](context& ctx) { return ctx.state<database>().name; });
        s.add_tool("coroutine", "", [](context& ctx) -> task<std::string> {
            co_await ctx.yield();
            co_return ctx.state<database>().name + std::to_string(ctx.state<cache>().size);
        });
        s.add_tool("missing", "", [](context& ctx) { return what_of([&] { ctx.state<int>(); }); });
        CHECK(log.empty());
        s.start(endpoint::unix_socket(path));
        CHECK(log == lines{"database opened", "ready"});
        for (int i = 0; i < 2; ++i) {
            line_client c(path);
            c.open_session();
            CHECK(text_of(c.call(1, "quick")) == "database");
            CHECK(text_of(c.call(2, "worker")) == "database");
            CHECK(text_of(c.call(3, "coroutine")) == "database7");
            CHECK(text_of(c.call(4, "missing")).find("no on_start hook of this server returned the state") !=
                  std::string::npos);
        }
        CHECK(log == lines{"database opened", "ready"});
        s.stop();
        CHECK(log == lines{"database opened", "ready", "stopped", "cache closed", "database closed"});
    }
    CHECK(log.size() == 5);
}

TEST_CASE("on_start objects are available in middleware and custom methods; the newest of a type is used") {
    lines log;
    std::string path = fresh_socket_path();
    server s({.name = "test", .version = "1"});
    s.on_start([&] { return std::make_unique<database>(log, "first"); });
    s.on_start([&] { return std::make_unique<database>(log, "second"); });
    lines seen;
    s.use([&](request_call& call, next_handler next) -> task<json::value> {
        seen.push_back(call.ctx.state<database>().name);
        co_return co_await next(call);
    });
    s.add_method("example/which",
                 [](context& ctx, const json::value&) { return json::object({{"name", ctx.state<database>().name}}); });
    s.start(endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    CHECK(c.ask(request_line("1", "example/which"))["result"]["name"] == json::value("second"));
    s.stop();
    CHECK(seen == lines{"second"});
    CHECK(log == lines{"first opened", "second opened", "second closed", "first closed"});
}

TEST_CASE("an exception of a start hook is rethrown by start, and earlier objects are destroyed") {
    lines log;
    server s({.name = "test", .version = "1"});
    bool broken = true;
    s.on_start([&] { return std::make_unique<cache>(log); });
    s.on_start([&] { return std::make_unique<database>(log); });
    s.on_start([&] {
        if (broken) throw std::runtime_error("the disk is full");
    });
    s.on_stop([&] { log.emplace_back("stopped"); });
    CHECK(what_of([&] { s.start(endpoint::tcp("127.0.0.1:0")); }) == "the disk is full");
    CHECK(log == lines{"database opened", "database closed", "cache closed"});
    CHECK(s.address() == "");

    test::on_epoll on;
    auto loop = on.shared;
    auto [ours, theirs] = memory_pair(*loop, *loop);
    std::string said;
    try {
        s.serve(loop, std::move(ours));
    } catch (const std::runtime_error& e) {
        said = e.what();
    }
    CHECK(said == "the disk is full");
    s.stop();
    CHECK(log.size() == 6);  // nothing has started, so nothing is stopped

    broken = false;
    s.start(endpoint::tcp("127.0.0.1:0"));
    s.stop();
    CHECK(log.back() == "cache closed");
    CHECK(log.at(log.size() - 3) == "stopped");
}

TEST_CASE("each start after a stop runs the hooks again") {
    lines log;
    server s({.name = "test", .version = "1"});
    int started = 0;
    s.on_start([&] { return std::make_unique<database>(log, std::to_string(++started)); });
    s.on_stop([&] { throw std::runtime_error("does not matter"); });
    s.add_tool("which", "", [](context& ctx) { return ctx.state<database>().name; });
    for (int round = 1; round <= 3; ++round) {
        std::string path = fresh_socket_path();
        s.start(endpoint::unix_socket(path));
        s.start(endpoint::tcp("127.0.0.1:0"));  // a second endpoint does not run on_start again
        CHECK(started == round);
        {
            line_client c(path);
            c.open_session();
            CHECK(text_of(c.call(1, "which")) == std::to_string(round));
        }
        s.stop();
        CHECK(log.back() == std::to_string(round) + " closed");
    }
}

TEST_CASE("hooks, middleware and notifications cannot be added while the server runs, only before or after") {
    server s({.name = "test", .version = "1"});
    auto add_all = [&] {
        lines said;
        said.push_back(what_of([&] { s.on_start([] {}); }));
        said.push_back(what_of([&] { s.on_stop([] {}); }));
        said.push_back(what_of([&] { s.use([](request_call& call, next_handler next) { return next(call); }); }));
        said.push_back(what_of([&] { s.add_notification("example/n", [](std::string_view, const json::value&) {}); }));
        return said;
    };
    s.start(endpoint::tcp("127.0.0.1:0"));
    CHECK(add_all() == lines{"keel: server::on_start must not be called while the server is running",
                             "keel: server::on_stop must not be called while the server is running",
                             "keel: server::use must not be called while the server is running",
                             "keel: server::add_notification must not be called while the server is running"});
    CHECK_THROWS_AS(s.on_start([] {}), std::logic_error);
    s.stop();
    CHECK(add_all() == lines{"", "", "", ""});
}

TEST_CASE("starting, stopping or changing the server in a hook throws instead of deadlocking") {
    server s({.name = "test", .version = "1"});
    lines said;
    s.on_start([&] {
        said.push_back(what_of([&] { s.start(endpoint::tcp("127.0.0.1:0")); }));
        said.push_back(what_of([&] { s.use([](request_call& call, next_handler next) { return next(call); }); }));
        s.add_tool("late", "", [] { return "what is offered may be added here"; });
    });
    s.on_stop([&] { said.push_back(what_of([&] { s.stop(); })); });
    s.start(endpoint::tcp("127.0.0.1:0"));
    s.stop();
    CHECK(said == lines{"keel: server::start must not be called in a start or stop hook",
                        "keel: server::use must not be called in a start or stop hook",
                        "keel: server::stop must not be called in a start or stop hook"});
}

TEST_CASE("the stop hook runs after the last handler") {
    std::string path = fresh_socket_path();
    std::atomic<int> running{0};
    int running_at_stop = -1;
    std::latch started(2);
    server s({.name = "test", .version = "1"});
    s.on_stop([&] { running_at_stop = running; });
    s.add_tool("coroutine", "", [&](context& ctx) -> task<std::string> {
        ++running;
        started.count_down();
        try {
            co_await ctx.sleep(1h);
        } catch (const cancelled&) {
        }
        co_await ctx.sleep(1ms);  // cleanup may wait
        --running;
        co_return "unheard";
    });
    std::latch told(1);
    s.add_tool("worker", "", [&](context& ctx) {
        ++running;
        std::stop_callback tell(ctx.stop_token(), [&] { told.count_down(); });
        started.count_down();
        told.wait();
        --running;
        return "unheard";
    });
    s.start(endpoint::unix_socket(path));
    line_client c(path);
    c.open_session();
    c.start_call(1, "coroutine");
    c.start_call(2, "worker");
    started.wait();
    s.stop();
    CHECK(running_at_stop == 0);
}

TEST_CASE("F4: the objects of an abandoned handler live until it ends, and a restart creates new ones") {
    for (bool with_middleware : {false, true}) {
        CAPTURE(with_middleware);
        lines log;
        auto go_on = std::make_shared<std::latch>(1);
        auto seen = std::make_shared<std::promise<std::string>>();
        auto released = std::make_shared<std::promise<void>>();
        struct watched {
            std::shared_ptr<std::promise<void>> gone;
            std::string name;
            watched(std::shared_ptr<std::promise<void>> g, std::string n) : gone(std::move(g)), name(std::move(n)) {}
            watched(const watched&) = delete;
            watched& operator=(const watched&) = delete;
            ~watched() {
                if (gone) gone->set_value();
            }
        };
        auto gone = released->get_future();
        {
            std::string path = fresh_socket_path();
            server_options options;
            options.limits.cleanup_grace = 20ms;
            server s({.name = "test", .version = "1"}, options);
            int started = 0;
            s.on_start([&started, released] {
                ++started;
                return std::make_unique<watched>(started == 1 ? released : nullptr, std::to_string(started));
            });
            if (with_middleware) s.use([](request_call& call, next_handler next) { return next(call); });
            auto running = std::make_shared<std::latch>(1);
            s.add_tool("stuck", "", [running, go_on, seen](context& ctx) {
                watched& mine = ctx.state<watched>();
                running->count_down();
                go_on->wait();
                seen->set_value(mine.name + ctx.state<watched>().name);
                return "unheard";
            });
            s.start(endpoint::unix_socket(path));
            line_client c(path);
            c.open_session();
            c.start_call(1, "stuck");
            running->wait();
            s.stop();
            CHECK(s.health().abandoned == 1);
            s.start(endpoint::unix_socket(fresh_socket_path()));
            CHECK(started == 2);
            CHECK(gone.wait_for(0s) == std::future_status::timeout);
        }
        CHECK(gone.wait_for(0s) == std::future_status::timeout);
        go_on->count_down();
        CHECK(seen->get_future().get() == "11");
        gone.wait();
    }
}

TEST_CASE("a saved context does not keep the objects of a stopped server alive") {
    lines log;
    std::string path = fresh_socket_path();
    server s({.name = "test", .version = "1"});
    s.on_start([&] { return std::make_unique<database>(log); });
    std::optional<context> saved;
    s.add_tool("save", "",
               [&](context& ctx) {
                   saved = ctx;
                   return "saved";
               },
               {.quick = true});
    s.start(endpoint::unix_socket(path));
    {
        line_client c(path);
        c.open_session();
        CHECK(text_of(c.call(1, "save")) == "saved");
        CHECK(saved->state<database>().name == "database");
    }
    s.stop();
    CHECK(log.back() == "database closed");
    CHECK_THROWS_AS(saved->state<database>(), std::logic_error);
}

TEST_CASE("G4: a server destroyed while the caller's loop still serves stops when its last session ends") {
    test::on_epoll on;
    auto loop = on.shared;
    lines log;
    auto [ours, theirs_] = memory_pair(*loop, *loop);
    std::unique_ptr<connection> theirs = std::move(theirs_);
    struct deaf final : connection::listener {
        void on_input(std::string_view) override {}
        void on_input_end() override {}
        void on_failure(std::string_view) override {}
        void on_writable() override {}
    } client;
    {
        server s({.name = "test", .version = "1"});
        s.on_start([&] { return std::make_unique<database>(log); });
        s.on_stop([&] { log.emplace_back("stopped"); });
        s.add_tool("park", "", [&log](context& ctx) -> task<std::string> {
            database& mine = ctx.state<database>();
            try {
                co_await ctx.sleep(1h);
            } catch (const cancelled&) {
                log.push_back(mine.name + " in use");
            }
            co_return "unheard";
        });
        s.serve(loop, std::move(ours));
        loop->post([&] {
            theirs->start(client);
            theirs->write(modern_call_line("1", "park") + "\n");
        });
        on.until([&] { return s.health().in_flight > 0; });
    }
    CHECK(log == lines{"database opened"});  // its loop has not run yet
    on.until([&] { return log.size() >= 4; });
    on.poll();
    CHECK(log == lines{"database opened", "database in use", "stopped", "database closed"});
}

}  // namespace keel::test
