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

/// One next() that was started, and how it ended.
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

struct subject {
    manual_loop loop;
    std::shared_ptr<subscription_state> state = std::make_shared<subscription_state>();
    subscription user{state};
    int stops = 0;

    subject() {
        state->set_on_stop([this] { ++stops; });
    }
    ~subject() { user = {}; }
    std::string next() {
        waiter w(loop, user);
        return w.ended;
    }
};

}  // namespace

TEST_CASE("changes are told in their order, and what changed twice is told once") {
    subject s;
    for (kind k : {kind::tools, kind::resources, kind::tools}) s.state->push({.what = k});
    for (const char* uri : {"a", "b", "a"}) s.state->push(updated(uri));
    s.state->push({.what = kind::resources});
    CHECK(s.next() == "tools");
    CHECK(s.next() == "resources");
    CHECK(s.next() == "a");
    s.state->push(updated("a"));  // taken before, so it is news again
    s.state->push({.what = kind::prompts});
    CHECK(s.next() == "b");
    CHECK(s.next() == "a");
    CHECK(s.next() == "prompts");
    CHECK(s.user.how_ended() == subscription_end::none);
}

TEST_CASE("whoever waits is woken by a change, in a turn of its own loop") {
    subject s;
    waiter w(s.loop, s.user);
    CHECK(s.loop.ready() == 0);
    s.state->push({.what = kind::tools});
    CHECK(w.ended == "waits");
    s.state->push({.what = kind::prompts});
    CHECK(s.loop.run() == 1);
    CHECK(w.ended == "tools");
    CHECK(s.next() == "prompts");
}

TEST_CASE("what was told before the end is still delivered, then it is over and stays so") {
    subject s;
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

TEST_CASE("I11 a loss is told apart from an end, with its reason, also to whoever waits") {
    subject s;
    waiter w(s.loop, s.user);
    s.state->finish(subscription_end::lost, "connection reset");
    s.loop.run();
    CHECK(w.ended == "over");
    CHECK(s.user.how_ended() == subscription_end::lost);
    CHECK(s.user.why_lost() == "connection reset");
}

TEST_CASE("a cancelled wait loses nothing") {
    subject s;
    SUBCASE("before anything came") {
        waiter w(s.loop, s.user);
        w.line.stop();
        CHECK(w.ended == "cancelled");
        s.state->push({.what = kind::tools});
        CHECK(s.loop.ready() == 0);  // nobody is to be woken
    }
    SUBCASE("between the change and the turn that tells of it") {
        waiter w(s.loop, s.user);
        s.state->push({.what = kind::tools});
        w.line.stop();
        CHECK(w.ended == "cancelled");
        s.loop.run();
    }
    SUBCASE("before it begins") {
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
    subject s;
    waiter first(s.loop, s.user);
    s.state->push({.what = kind::tools});
    first.line.stop();
    CHECK(s.next() == "tools");
    waiter second(s.loop, s.user);
    s.loop.run();  // the turn that was meant for the first
    CHECK(second.ended == "waits");
    s.state->push({.what = kind::prompts});
    s.loop.run();
    CHECK(second.ended == "prompts");
}

TEST_CASE("a second wait at the same time is refused, and the first goes on") {
    subject s;
    waiter first(s.loop, s.user);
    CHECK(s.next() == "keel: only one task at a time may wait in subscription::next");
    s.state->push({.what = kind::tools});
    s.loop.run();
    CHECK(first.ended == "tools");
}

TEST_CASE("stopping ends the wait, drops what is queued and tells the engine once") {
    subject s;
    SUBCASE("while somebody waits") {
        waiter w(s.loop, s.user);
        s.user.stop();
        s.loop.run();
        CHECK(w.ended == "over");
    }
    SUBCASE("with changes that nobody took") {
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

TEST_CASE("dropping, moving into and replacing a subscription end it; moving it away does not") {
    subject s;
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

TEST_CASE("an engine that is late hears at once that nobody wants it any more, unless it has ended it itself") {
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

TEST_CASE("what the engine gave along is let go at the end") {
    auto state = std::make_shared<subscription_state>();
    auto held = std::make_shared<int>(0);
    std::weak_ptr<int> watched = held;
    state->set_on_stop([held = std::move(held)] {});
    CHECK(!watched.expired());
    SUBCASE("ended") { state->finish(subscription_end::ended); }
    SUBCASE("stopped") { state->stop(); }
    CHECK(watched.expired());
}

TEST_CASE("an empty subscription is over") {
    manual_loop loop;
    subscription none;
    waiter w(loop, none);
    CHECK(w.ended == "over");
    CHECK(none.how_ended() == subscription_end::ended);
    CHECK(none.agreed().uris.empty());
    none.stop();
}

TEST_CASE("SUB-06 what the server has agreed to can be compared with what was asked for") {
    subject s;
    subscription_request r;
    r.tools = true;
    r.uris = {"a"};
    s.state->set_agreed(r);
    CHECK(s.user.agreed().tools);
    CHECK(!s.user.agreed().prompts);
    CHECK(s.user.agreed().uris == std::vector<std::string>{"a"});
}

TEST_CASE("very many resources that nobody takes become one change of all of them") {
    subject s;
    s.state->push({.what = kind::tools});
    SUBCASE("by number") {
        for (std::size_t i = 0; i <= subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    }
    SUBCASE("by size") {
        for (char c : {'a', 'b', 'c', 'd', 'e'}) s.state->push(updated(std::string(1024 * 1024, c)));
    }
    SUBCASE("with a change of the list among them") {
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

TEST_CASE("room that was taken is free again when the change has been told") {
    subject s;
    for (int i = 0; i < 20; ++i) {
        const std::string large = std::to_string(i) + std::string(1024 * 1024, 'x');
        s.state->push(updated(large));
        CHECK((s.next() == large));  // in parentheses: a megabyte is no message
    }
}

TEST_CASE("as many resources as there is room for are told one by one") {
    subject s;
    for (std::size_t i = 0; i < subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    for (std::size_t i = 0; i < subscription_state::max_uris; ++i) REQUIRE(s.next() == std::to_string(i));
    for (std::size_t i = 0; i < subscription_state::max_uris; ++i) s.state->push(updated(std::to_string(i)));
    CHECK(s.next() == "0");
}

TEST_CASE("a change for a loop that has ended stays for another") {
    subject s;
    manual_loop gone;
    waiter w(gone, s.user);
    CHECK(w.ended == "waits");
    gone.end();
    CHECK(w.ended == "cancelled");
    s.state->push({.what = kind::tools});
    CHECK(s.next() == "tools");
}

TEST_CASE("changes from one thread are heard on the loop of another, each of them, until the end") {
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
    "stopping on one thread races with changes, waits and cancellation on others, and the engine hears of it once") {
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
