// The counts of clients and the list of unused sessions, without a server.

#include "http/client_quotas.hpp"
#include "http/unused_sessions.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace keel::http;

namespace {

ip_address ip(std::string_view text) { return ip_address::parse(text).value_or(ip_address()); }

constexpr auto sessions = &client_usage::sessions;

}  // namespace

TEST_CASE("a client is an IPv4 address, the first 64 bits of an IPv6 address, or a principal") {
    client_quotas q({.connections = 1, .sessions = 1, .calls = 1});
    auto a = q.of(ip("192.0.2.1"));
    CHECK(q.of(ip("192.0.2.1")) == a);
    CHECK(q.of(ip("::ffff:192.0.2.1")) == a);
    CHECK(q.of(ip("192.0.2.2")) != a);
    auto b = q.of(ip("2001:db8:0:1::1"));
    CHECK(q.of(ip("2001:db8:0:1:ffff::9")) == b);
    CHECK(q.of(ip("2001:db8:0:2::1")) != b);
    auto c = q.of_principal("ada");
    CHECK(q.of_principal("ada") == c);
    CHECK(q.of_principal("eve") != c);
    CHECK(q.of_principal("") == nullptr);  // anonymous
    CHECK(q.of(ip_address()) == nullptr);  // a Unix socket
    CHECK(client_quotas::is(b.get(), ip("2001:db8:0:1::5")));
    CHECK(!client_quotas::is(b.get(), ip("2001:db8:0:2::5")));
    CHECK(!client_quotas::is(nullptr, ip("192.0.2.1")));
    CHECK(client_quotas::is(nullptr, ip_address()));
    CHECK(client_quotas::is_principal(c.get(), "ada"));
    CHECK(!client_quotas::is_principal(c.get(), "eve"));
    CHECK(client_quotas::is_principal(nullptr, ""));
}

TEST_CASE("a client can take units up to its limit, and again after it has released one") {
    client_quotas q({.sessions = 2});
    auto a = q.of(ip("192.0.2.1"));
    counted_use one, two, three;
    CHECK(one.take(a, sessions, 2));
    CHECK(two.take(a, sessions, 2));
    CHECK(!three.take(a, sessions, 2));
    CHECK(a->sessions == 2);
    CHECK(a->connections == 0);
    counted_use other;
    CHECK(other.take(q.of(ip("192.0.2.2")), sessions, 2));
    one.release();
    CHECK(three.take(a, sessions, 2));
    CHECK(a->sessions == 2);
    counted_use unlimited;
    CHECK(unlimited.take(a, sessions, 0));
    CHECK(unlimited.take(nullptr, sessions, 1));  // releases the unit it has
    CHECK(a->sessions == 2);
    two = std::move(three);
    CHECK(a->sessions == 1);
}

TEST_CASE("a unit of an address and a principal is taken from both or from neither") {
    client_quotas q({.sessions = 1});
    client_pair ada{q.of(ip("192.0.2.1")), q.of_principal("ada")};
    client_pair elsewhere{q.of(ip("192.0.2.2")), ada.principal};
    counted_pair first, second;
    CHECK(first.take(ada, sessions, 1) == nullptr);
    CHECK(second.take(elsewhere, sessions, 1) == ada.principal.get());
    CHECK(elsewhere.address->sessions == 0);
    CHECK(second.take({ada.address, nullptr}, sessions, 1) == ada.address.get());
    first.release();
    CHECK(second.take(elsewhere, sessions, 1) == nullptr);
    CHECK(ada.address->sessions == 0);
    CHECK(ada.principal->sessions == 1);
}

TEST_CASE("J5: clients that use nothing leave no memory behind") {
    client_quotas q({.calls = 5});
    {
        std::vector<std::shared_ptr<client_usage>> all;
        for (int i = 0; i < 100; ++i) all.push_back(q.of(ip("192.0.2." + std::to_string(i))));
        counted_use use;
        CHECK(use.take(q.of_principal("ada"), sessions, 0));
        CHECK(q.size() == 101);
        all.resize(10);
        CHECK(q.size() == 11);
    }
    CHECK(q.size() == 0);
    auto a = q.of(ip("192.0.2.1"));
    {
        counted_calls running;  // a call may outlive its connection
        running.count_for({a, nullptr});
        running.update(1);
        a.reset();
        CHECK(q.size() == 1);
    }
    CHECK(q.size() == 0);
}

TEST_CASE("the running calls of all sessions of a client count together") {
    client_quotas q({.calls = 5});
    auto a = q.of(ip("192.0.2.1"));
    auto ada = q.of_principal("ada");
    counted_calls one, two;
    CHECK(one.room(5) > 1000);  // no client yet
    one.count_for({a, nullptr});
    two.count_for({a, ada});
    one.update(3);
    CHECK(two.room(5) == 2);
    two.update(2);
    CHECK(one.room(5) == 0);
    CHECK(two.room(5) == 0);
    CHECK(two.room(0) > 1000);
    one.update(1);
    CHECK(two.room(5) == 2);
    CHECK(ada->calls == 2);
    two.update(0);
    CHECK(one.room(5) == 4);
    one.update(7);  // several sessions may pass the check at the same time
    CHECK(one.room(5) == 0);
}

TEST_CASE("without quotas nothing is counted") {
    client_quotas q({});
    CHECK(!q.active());
    CHECK(q.of(ip("192.0.2.1")) == nullptr);
    CHECK(q.of_principal("ada") == nullptr);
}

TEST_CASE("threads never take more units together than the limit allows") {
    client_quotas q({.sessions = 3});
    std::atomic<bool> exceeded{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) {
                counted_use one, two;
                const bool both =
                    one.take(q.of(ip("192.0.2.1")), sessions, 3) && two.take(q.of(ip("192.0.2.1")), sessions, 3);
                if (both && two.of()->sessions > 3 + 4) exceeded = true;  // each thread may be about to give one back
            }
        });
    }
    for (std::thread& each : threads) each.join();
    CHECK(!exceeded);
    CHECK(q.size() == 0);
}

TEST_CASE("the oldest unused session ends first, or the oldest one of a client") {
    client_quotas q({.sessions = 1});
    auto a = q.of(ip("192.0.2.1"));
    auto b = q.of(ip("192.0.2.2"));
    auto ada = q.of_principal("ada");
    unused_sessions list;
    std::string ended;
    auto add = [&](client_pair owner, char name) {
        return list.add(std::move(owner), [&ended, name] { ended += name; });
    };
    add({a, nullptr}, '1');
    auto second = add({a, ada}, '2');
    add({b, ada}, '3');
    add({b, nullptr}, '4');
    CHECK(list.remove(second));
    CHECK(!list.remove(second));
    CHECK(list.end_oldest(ada.get()));
    CHECK(ended == "3");
    CHECK(list.end_oldest());
    CHECK(ended == "31");
    CHECK(!list.end_oldest(a.get()));
    CHECK(list.end_oldest(b.get()));
    CHECK(ended == "314");
    CHECK(!list.end_oldest());
    CHECK(list.size() == 0);
}
