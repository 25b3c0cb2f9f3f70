// Loops that end before the calls on them (docs/rules/lifecycle.md, D1, G4).

#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "client/run_on_worker.hpp"
#include "support/client_harness.hpp"
#include "support/manual_loop.hpp"
#include "support/real_loops.hpp"

#ifdef KEEL_HAVE_ASIO
#include <keel/asio.hpp>
#endif
#include <keel/async.hpp>
#include <keel/blocking_client.hpp>
#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <doctest/doctest.h>

#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

using namespace keel;
using namespace keel::test;

namespace {

std::string error_text(std::exception_ptr failure) {
    if (!failure) return "done";
    try {
        std::rethrow_exception(failure);
    } catch (const keel::error& e) {
        return std::string(name_of(e.kind()));
    } catch (const std::exception& e) {
        return e.what();
    }
}

/// A task and its outcome.
template <class T>
struct started {
    detail::activity line;
    std::string text;
    int times = 0;

    started(loop& l, task<T> work) : line(l) {
        detail::start(line, std::move(work), [this](detail::outcome<T> o) {
            ++times;
            text = error_text(o.index() == 0 ? std::get<0>(o) : nullptr);
        });
    }
};

/// A server in this process whose tool never answers, and a client with its own thread.
struct silent_pair {
    silent_pair() {
        server.add_tool("wait", "Waits", [this]() -> task<std::string> {
            ++arrived;
            event never;
            co_await never;
            co_return "";
        });
        c.emplace(server_target(server));
        detail::wait_for(detail::loop_of(*c), c->connect());
    }
    std::atomic<int> arrived{0};
    keel::server server{{.name = "silent", .version = "1"}};
    std::optional<client> c;
};

/// While it exists, no thread can be started: the stack size is too large.
class no_threads {
public:
    no_threads() {
        pthread_attr_t huge;
        pthread_getattr_default_np(&before_);
        pthread_getattr_default_np(&huge);
        REQUIRE(pthread_attr_setstacksize(&huge, std::size_t(1) << 46) == 0);
        REQUIRE(pthread_setattr_default_np(&huge) == 0);
        pthread_attr_destroy(&huge);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;
    ~no_threads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_;
};

}  // namespace

TEST_CASE("D1, G4: if a client's loop ends during a call, a waiting task on another loop gets an error") {
    auto there = std::make_shared<manual_loop>();
    auto home = std::make_shared<manual_loop>();
    auto connector = std::make_shared<script_connector>(there);
    client_options options;
    options.mode = protocol_mode::modern;
    client c(there, server_target(connector), options);
    started connecting(*home, c.connect());
    there->run();
    connector->wires.at(0)->feed(
        R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private",)"
        R"("supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}})"
        "\n");
    there->run();
    home->run();
    REQUIRE(connecting.text == "done");
    spoke(c.server().protocol_version);

    started call(*home, c.call_tool("x"));
    there->run();
    home->run();
    REQUIRE(call.text.empty());
    there->end();
    home->run();
    CHECK(call.text == "connection closed");
    // The abandoned calls end now; their outcome is not reported twice.
    client_access::engine(c)->connections.in_use()->peer().fail("the end of the test");
    home->run();
    CHECK(call.times == 1);
}

#ifdef KEEL_HAVE_ASIO

TEST_CASE("D1, G4: if the io_context on which a call is awaited is destroyed, the call is cancelled") {
    for (bool client_first : {false, true}) {
        CAPTURE(client_first);
        silent_pair pair;
        std::string text;
        int told = 0;
        {
            boost::asio::io_context io;
            auto busy = boost::asio::make_work_guard(io);
            spawn(io, pair.c->call_tool("wait"), [&](std::exception_ptr e, tool_result) {
                ++told;
                text = error_text(e);
            });
            while (pair.arrived == 0) io.poll();
            if (client_first) pair.c.reset();  // the answer is posted to a client that no longer exists
        }
        CHECK(told == 1);
        CHECK(text == "cancelled");
        pair.c.reset();
        CHECK(told == 1);
    }
}

TEST_CASE("G4: if the io_context of a waiting task is destroyed, the wait ends, but not the subscription") {
    silent_pair pair;
    subscription_request what;
    what.tools = true;
    auto on = detail::loop_of(*pair.c);
    subscription changes = detail::wait_for(on, pair.c->subscribe(what));
    std::string text;
    {
        boost::asio::io_context io;
        auto busy = boost::asio::make_work_guard(io);
        auto next = [&]() -> task<void> {
            std::optional<change> none = co_await changes.next();
            CHECK(!none);
        };
        spawn(io, next(), [&](std::exception_ptr e) { text = error_text(e); });
        io.poll();
    }
    CHECK(text == "cancelled");
    CHECK(changes.how_ended() == subscription_end::none);
    pair.server.add_tool("more", "", [] { return "more"; });
    std::optional<change> first = detail::wait_for(on, changes.next());
    REQUIRE(first);
    CHECK(first->what == change::kind::tools);
    pair.c.reset();
    CHECK(changes.how_ended() != subscription_end::none);
}

#endif

TEST_CASE("D16, G4: an elicitation fails if no thread can be created; its task can still be cancelled") {
    auto loop = std::make_shared<manual_loop>();
    async::worker_pool pool(1);
    auto ask = [&]() -> task<int> {
        client_side::run_on_worker<int> answer(pool, loop, [] { return 1; });
        int n = co_await answer;
        co_return n;
    };
    std::optional<started<int>> s;
    {
        no_threads now;
        s.emplace(*loop, ask());
    }
    CHECK(s->times == 1);
    CHECK(s->text != "done");
    s->line.stop();
    CHECK(s->times == 1);
    started<int> again(*loop, ask());
    loop->wait_for_work();
    loop->run();
    CHECK(again.text == "done");
}

TEST_CASE("G4: a name is not resolved if no thread can be created; its task can still be cancelled") {
    on_epoll loop;
    std::optional<started<std::unique_ptr<connection>>> s;
    {
        no_threads now;
        s.emplace(loop.loop(), connect_tcp(loop.loop(), tcp_address::parse("localhost:1")));
    }
    CHECK(s->times == 1);
    CHECK(s->text != "done");
    s->line.stop();
    CHECK(s->times == 1);
}
