#include "client/subscription_state.hpp"

#include "async/epoll_loop.hpp"
#include "support/manual_loop.hpp"

#include <keel/async.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace keel;
using client_side::subscription_state;
using test::manual_loop;
using kind = change::kind;

namespace {

std::string shown(const std::optional<change>& c) {
    if (!c) return "over";
    switch (c->what) {
        case kind::tools: return "tools";
        case kind::prompts: return "prompts";
        case kind::resources: return "resources";
        case kind::resource: return c->uri;
    }
    return "?";
}

change updated(std::string uri) { return {.what = kind::resource, .uri = std::move(uri)}; }

/// A next() that was started, and its outcome.
struct waiter {
    detail::activity line;
    std::string ended = "waits";

    waiter(loop& l, subscription& s) : line(l) {
        detail::start(line, s.next(), [this](detail::outcome<std::optional<change>> o) {
            if (o.index() == 1) {
                ended = shown(std::get<1>(o));
                return;
            }
            try {
                std::rethrow_exception(std::get<0>(o));
            } catch (const std::exception& e) {
                ended = e.what();
            }
        });
    }
};

struct subscription_under_test {
    manual_loop loop;
    std::shared_ptr<subscription_state> state = std::make_shared<subscription_state>();
    subscription user{state};
    int stops = 0;

    subscription_under_test() {
        state->set_on_stop([this] { ++stops; });
    }
    ~subscription_under_test() { user = {}; }
    std::string next() {
        waiter w(loop, user);
        return w.ended;
    }
};

}  // namespace

TEST_CASE("changes are delivered in order, and a repeated change once") {
    subscription_under_test s;
    for (kind k : {kind::tools, kind::resources, kind::tools}) s.state->push({.what = k});
    for (const char* uri : {"a", "b", "a"}) s.state->push(updated(uri));
    s.state->push({.what = kind::resources});
    CHECK(s.next() == "tools");
    CHECK(s.next() == "resources");
    CHECK(s.next() == "a");
    s.state->push(updated("a"));  // delivered before, so it is a new change
    s.state->push({.what = kind::prompts});
    CHECK(s.next() == "b");
    CHECK(s.next() == "a");
    CHECK(s.next() == "prompts");
    CHECK(s.user.how_ended() == subscription_end::none);
}

TEST_CASE("a waiting task is woken by a change on its own loop") {
    subscription_under_test s;
    waiter w(s.loop, s.user);
    CHECK(s.loop.ready() == 0);
    s.state->push({.what = kind::tools});
    CHECK(w.ended == "waits");
    s.state->push({.what = kind::prompts});
    CHECK(s.loop.run() == 1);
    CHECK(w.ended == "tools");
    CHECK(s.next() == "prompts");
}

TEST_CASE("changes before the end are still delivered, then the subscription stays ended") {
    subscription_under_test s;
    s.state->push({.what = kind::tools});
    s.state->finish(subscription_end::ended);
    s.state->push({.what = kind::prompts});  // too late
    s.state->finish(subscription_end::lost, "late");
    CHECK(s.next() == "tools");
    CHECK(s.next() == "over");
    CHECK(s.next() == "over");
    CHECK(s.user.how_ended() == subscription_end::ended);
    CHECK(s.user.why_lost() == "");
    s.user.stop();
    CHECK(s.stops == 0);
}

TEST_CASE("I11 a loss is distinguished from an end, with its reason, also for a waiting task") {
    subscription_under_test s;
    waiter w(s.loop, s.user);
    s.state->finish(subscription_end::lost, "connection reset");
    s.loop.run();
    CHECK(w.ended == "over");
    CHECK(s.user.how_ended() == subscription_end::lost);
    CHECK(s.user.why_lost() == "connection reset");
}

TEST_CASE("a cancelled wait loses no change") {
    subscription_under_test s;
    SUBCASE("before any change") {
        waiter w(s.loop, s.user);
        w.line.stop();
        CHECK(w.ended == "cancelled");
        s.state->push({.what = kind::tools});
        CHECK(s.loop.ready() == 0);  // no wakeup is pending
    }
    SUBCASE("between the change and its delivery") {
        waiter w(s.loop, s.user);
        s.state->push({.what = kind::tools});
        w.line.stop();
        CHECK(w.ended == "cancelled");
        s.loop.run();
    }
    SUBCASE("before it starts") {
        s.state->push({.what = kind::tools});
        auto cancelled_first = [](subscription& from) -> task<std::string> {
            (co_await detail::this_activity{}).stop();
            co_return shown(co_await from.next());
        };
        detail::activity line(s.loop);
        bool thrown = false;
        detail::start(line, cancelled_first(s.user), [&](detail::outcome<std::string> o) { thrown = o.index() == 0; });
        CHECK(thrown);
    }
    CHECK(s.next() == "tools");
}

TEST_CASE("after a cancelled wait another one is woken, once") {
    subscription_under_test s;
    waiter first(s.loop, s.user);
    s.state->push({.what = kind::tools});
    first.line.stop();
    CHECK(s.next() == "tools");
    waiter second(s.loop, s.user);
    s.loop.run();  // the turn that was posted for the first wait
    CHECK(second.ended == "waits");
    s.state->push({.what = kind::prompts});
    s.loop.run();
    CHECK(second.ended == "prompts");
}

TEST_CASE("a second concurrent wait is rejected, and the first continues") {
    subscription_under_test s;
    waiter first(s.loop, s.user);
    CHECK(s.next() == "keel: only one task at a time may wait in subscription::next");
    s.state->push({.what = kind::tools});
    s.loop.run();
    CHECK(first.ended == "tools");
}

TEST_CASE("stop() ends the wait, drops queued changes and notifies the engine once") {
    subscription_under_test s;
    SUBCASE("while a task waits") {
        waiter w(s.loop, s.user);
        s.user.stop();
        s.loop.run();
        CHECK(w.ended == "over");
    }
    SUBCASE("with unread changes") {
        s.state->push({.what = kind::tools});
        s.user.stop();
    }
    s.user.stop();
    CHECK(s.stops == 1);
    CHECK(s.next() == "over");
    CHECK(s.user.how_ended() == subscription_end::ended);
    s.state->push({.what = kind::tools});
    s.state->finish(subscription_end::lost, "too late");
    CHECK(s.user.how_ended() == subscription_end::ended);
    CHECK(s.next() == "over");
}

TEST_CASE("dropping and replacing a subscription end it; moving it does not") {
    subscription_under_test s;
    {
        subscription moved = std::move(s.user);
        CHECK(s.stops == 0);
        CHECK(s.user.how_ended() == subscription_end::ended);  // NOLINT(bugprone-use-after-move): an empty one
        waiter w(s.loop, moved);
        auto other = std::make_shared<subscription_state>();
        moved = subscription(other);
        CHECK(s.stops == 1);
        s.loop.run();
        CHECK(w.ended == "over");
        CHECK(other->how_ended() == subscription_end::none);
        s.state = other;
    }
    CHECK(s.state->how_ended() == subscription_end::ended);
}

TEST_CASE("a late engine is notified immediately of stop(), unless it has ended the subscription itself") {
    auto state = std::make_shared<subscription_state>();
    int stops = 0;
    state->stop();
    state->set_on_stop([&] { ++stops; });
    CHECK(stops == 1);

    auto finished = std::make_shared<subscription_state>();
    finished->finish(subscription_end::ended);
    finished->set_on_stop([&] { ++stops; });
    finished->stop();
    CHECK(stops == 1);
}

TEST_CASE("the callback of the engine is released at the end") {
    auto state = std::make_shared<subscription_state>();
    auto held = std::make_shared<int>(0);
    std::weak_ptr<int> watched = held;
    state->set_on_stop([held = std::move(held)] {});
    CHECK(!watched.expired());
    SUBCASE("ended") { state->finish(subscription_end::ended); }
    SUBCASE("stopped") { state->stop(); }
    CHECK(watched.expired());
}

TEST_CASE("an empty subscription has ended") {
    manual_loop loop;
    subscription none;
    waiter w(loop, none);
    CHECK(w.ended == "over");
    CHECK(none.how_ended() == subscription_end::ended);
    CHECK(none.agreed().uris.empty());
    none.stop();
}

TEST_CASE("SUB-06 the accepted subscription can be compared with the request") {
    subscription_under_test s;
    subscription_request r;
    r.tools = true;
    r.uris = {"a"};
    s.state->set_agreed(r);
    CHECK(s.user.agreed().tools);
    CHECK(!s.user.agreed().prompts);
    CHECK(s.user.agreed().uris == std::vector<std::string>{"a"});
}

TEST_CASE("very many unread resource changes become one change of all resources") {
    subscription_under_test s;
    s.state->push({.what = kind::tools});
    SUBCASE("by number") {
        for (std::size_t i = 0; i <= subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    }
    SUBCASE("by size") {
        for (char c : {'a', 'b', 'c', 'd', 'e'}) s.state->push(updated(std::string(1024 * 1024, c)));
    }
    SUBCASE("with a list change among them") {
        s.state->push({.what = kind::resources});
        for (std::size_t i = 0; i <= subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    }
    s.state->push(updated("one more"));
    s.state->push({.what = kind::resources});
    CHECK(s.next() == "tools");
    CHECK(s.next() == "resources");
    s.state->push(updated("after it"));
    CHECK(s.next() == "after it");
    s.state->finish(subscription_end::ended);
    CHECK(s.next() == "over");
}

TEST_CASE("space in the queue is free again after a change was delivered") {
    subscription_under_test s;
    for (int i = 0; i < 20; ++i) {
        const std::string large = std::to_string(i) + std::string(1024 * 1024, 'x');
        s.state->push(updated(large));
        CHECK((s.next() == large));  // in parentheses, so that doctest does not print a megabyte
    }
}

TEST_CASE("changes up to the limit are delivered one by one") {
    subscription_under_test s;
    for (std::size_t i = 0; i < subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    for (std::size_t i = 0; i < subscription_state::max_uris; ++i) REQUIRE(s.next() == std::to_string(i));
    for (std::size_t i = 0; i < subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    CHECK(s.next() == "0");
}

TEST_CASE("a change for a loop that has ended stays queued for another") {
    subscription_under_test s;
    manual_loop gone;
    waiter w(gone, s.user);
    CHECK(w.ended == "waits");
    gone.end();
    CHECK(w.ended == "cancelled");
    s.state->push({.what = kind::tools});
    CHECK(s.next() == "tools");
}

TEST_CASE("changes from one thread are delivered on the loop of another, each of them, until the end") {
    constexpr int count = 2000;
    auto state = std::make_shared<subscription_state>();
    subscription user(state);
    std::set<std::string> heard;
    std::thread::id on;
    auto listen = [](subscription& from, std::set<std::string>& into, std::thread::id& thread) -> task<void> {
        while (std::optional<change> c = co_await from.next()) into.insert(shown(c));
        thread = std::this_thread::get_id();
    };
    auto loop = async::epoll_loop::create();
    bool ended = false;
    detail::activity line(*loop);
    detail::start(line, listen(user, heard, on), [&](detail::outcome<void>) { ended = true; });
    std::thread engine([&] {
        for (int i = 0; i < count; ++i) state->push(updated(std::to_string(i)));
        state->finish(subscription_end::lost, "gone");
    });
    while (!ended) loop->run_turn(true);
    engine.join();
    CHECK(heard.size() == count);
    CHECK(on == std::this_thread::get_id());
    CHECK(user.why_lost() == "gone");
}

TEST_CASE(
    "stop() on one thread races with changes, waits and cancellation on others, and the engine is notified "
    "once") {
    for (int round = 0; round < 200; ++round) {
        auto state = std::make_shared<subscription_state>();
        std::atomic<int> stops = 0;
        state->set_on_stop([&] { ++stops; });
        subscription user(state);
        auto loop = async::epoll_loop::create();
        bool ended = false;
        detail::activity line(*loop);
        auto listen = [](subscription& from) -> task<void> {
            while (co_await from.next()) {
            }
        };
        detail::start(line, listen(user), [&](detail::outcome<void>) { ended = true; });
        std::thread engine([&] {
            for (int i = 0; i < 20; ++i) state->push(updated(std::to_string(i)));
        });
        std::thread stopper([&] { user.stop(); });
        if (round % 2) line.stop();
        while (!ended) loop->run_turn(true);
        engine.join();
        stopper.join();
        user.stop();
        CHECK(stops == 1);
        loop->end();
    }
}
