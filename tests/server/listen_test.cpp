// subscriptions/listen of 2026-07-28: which notifications a listen gets, and in which order.

#include "subscription_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

using namespace keel;
using namespace keel::test;

TEST_CASE("SUB-01, SUB-03, I8: the acknowledgement comes first, and all notifications carry the subscription id") {
    // Ids are typed: 0, "" and "1" are valid ids.
    for (std::string_view id : {"0", "1", "\"1\"", "\"\"", "-7", "9007199254740993", "\"a\\\"b\""}) {
        CAPTURE(std::string(id));
        server_under_test s;
        add_demo_resource(s);
        add_demo_prompt(s);
        s.start();
        std::string filter = R"({"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true,)"
                             R"("resourceSubscriptions":["demo:one"]})";
        s.send(listen_line(id, filter));
        CHECK(s.seen.take() == lines{acknowledged_line(id, filter)});
        for (list_kind which : all_list_kinds) change_list(s, which);
        publish_and_run(s, "demo:one");
        CHECK(s.seen.take() == lines{changed_line(id, list_kind::tools), changed_line(id, list_kind::resources),
                                     changed_line(id, list_kind::prompts), updated_line(id, "demo:one")});
        CHECK(s.answers_to(id) == 0);
        s.cancel(id);
    }
}

TEST_CASE("SUB-01, I8: changes while the acknowledgement is queued are sent after it, and not lost") {
    limits bounds;
    bounds.out_queue_soft = 1000;
    server_under_test s({.bounds = bounds});
    add_demo_resource(s);
    s.tool("big", [] { return std::string(5'000, 'x'); }, {.quick = true});
    s.start();
    s.wire->stall();
    s.send(modern_call_line("1", "big"));
    s.send(listen_line("2", R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    for (int i = 0; i < 100; ++i) {
        publish_and_run(s, "demo:one");
        change_list(s, list_kind::tools);
        s.advance(notification_interval);
    }
    s.wire->resume();
    s.advance(1s);
    lines all = s.seen.take();
    REQUIRE(all.size() == 4);  // the answer, and each notification once
    CHECK(all[1] == acknowledged_line("2", R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    CHECK(all[2] == changed_line("2", list_kind::tools));
    CHECK(all[3] == updated_line("2", "demo:one"));
    s.cancel("2");
}

TEST_CASE("SUB-02: a listen gets only the notifications that it requested") {
    const std::array filters = {R"({"toolsListChanged":true})", R"({"resourcesListChanged":true})",
                                R"({"promptsListChanged":true})"};
    for (std::size_t asked = 0; asked < filters.size(); ++asked) {
        server_under_test s;
        add_demo_resource(s);
        add_demo_prompt(s);
        s.start();
        s.send(listen_line("1", filters[asked]));
        CHECK(s.seen.take() == lines{acknowledged_line("1", filters[asked])});
        for (list_kind which : all_list_kinds) change_list(s, which);
        publish_and_run(s, "demo:one");
        s.advance(10s);
        CHECK(s.seen.take() == lines{changed_line("1", all_list_kinds[asked])});
        s.cancel("1");
    }
    server_under_test s;
    add_demo_resource(s);
    s.start();
    SUBCASE("an empty filter") {
        s.send(listen_line("1", "{}"));
        CHECK(s.seen.take() == lines{acknowledged_line("1", "{}")});
    }
    SUBCASE("false requests nothing") {
        s.send(listen_line("1", R"({"toolsListChanged":false,"promptsListChanged":false})"));
        CHECK(s.seen.take() == lines{acknowledged_line("1", "{}")});
    }
    SUBCASE("a client without a listen") { s.send(modern_line("2", "tools/list")); }
    s.seen.take();
    for (list_kind which : all_list_kinds) change_list(s, which);
    publish_and_run(s, "demo:one");
    s.advance(10s);
    CHECK(s.seen.take().empty());
    s.cancel("1");
}

TEST_CASE("SUB-04: only supported notifications are acknowledged, and unknown ones are ignored") {
    std::string all = R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,)"
                      R"("resourceSubscriptions":["demo:b","demo:a","demo:b"],"taskIds":["t"],"x":{"y":1}})";
    server_under_test s;
    s.start();
    SUBCASE("tools only") {
        s.send(listen_line("1", all));
        CHECK(s.seen.take() == lines{acknowledged_line("1", R"({"toolsListChanged":true})")});
        add_demo_resource(s);  // SUB-02: too late for this listen
        add_demo_prompt(s);
        change_list(s, list_kind::resources);
        change_list(s, list_kind::prompts);
        publish_and_run(s, "demo:a");
        s.advance(10s);
        CHECK(s.seen.take().empty());
    }
    SUBCASE("tools and prompts") {
        add_demo_prompt(s);
        s.send(listen_line("1", all));
        CHECK(s.seen.take() == lines{acknowledged_line("1", R"({"toolsListChanged":true,"promptsListChanged":true})")});
    }
    SUBCASE("tools and resources") {
        add_demo_resource(s);
        s.send(listen_line("1", all));
        CHECK(s.seen.take() == lines{acknowledged_line("1", R"({"toolsListChanged":true,"resourcesListChanged":true,)"
                                                            R"("resourceSubscriptions":["demo:b","demo:a"]})")});
    }
    s.cancel("1");
}

TEST_CASE("several listens of one client are independent of each other") {
    server_under_test s;
    add_demo_resource(s);
    s.start();
    std::string filter = R"({"resourceSubscriptions":["demo:one"]})";
    for (std::string_view id : {"1", "\"1\"", "2"}) s.send(listen_line(id, filter));
    s.seen.take();
    publish_and_run(s, "demo:one");
    CHECK(s.seen.take() ==
          lines{updated_line("1", "demo:one"), updated_line("\"1\"", "demo:one"), updated_line("2", "demo:one")});
    s.cancel("\"1\"");
    s.advance(1s);
    publish_and_run(s, "demo:one");
    lines both = s.seen.take();
    CHECK(std::set(both.begin(), both.end()) ==
          std::set<std::string>{updated_line("1", "demo:one"), updated_line("2", "demo:one")});
    s.cancel("1");
    s.cancel("2");
    CHECK(s.core->topics.size() == 0);
}

TEST_CASE("a listen with an invalid filter is refused, and never acknowledged") {
    server_under_test s;
    add_demo_resource(s);
    s.start();
    int id = 0;
    for (const char* params :
         {"", R"("notifications":null)", R"("notifications":[])", R"("notifications":true)",
          R"("notifications":{"toolsListChanged":1})", R"("notifications":{"promptsListChanged":"true"})",
          R"("notifications":{"resourcesListChanged":null})", R"("notifications":{"resourceSubscriptions":"demo:one"})",
          R"("notifications":{"resourceSubscriptions":{}})", R"("notifications":{"resourceSubscriptions":[7]})",
          R"("notifications":{"resourceSubscriptions":["demo:one",null]})",
          R"("notifications":{"resourceSubscriptions":["no scheme"]})"}) {
        CAPTURE(std::string(params));
        std::string key = std::to_string(++id);
        s.send(modern_line(key, "subscriptions/listen", params));
        CHECK(s.seen.answer_message(key)["error"]["code"].if_int() == -32602);
    }
    std::string long_id = "\"" + std::string(2000, 'x') + "\"";
    s.send(listen_line(long_id, "{}"));
    CHECK(s.seen.answer_message(long_id)["error"]["code"].if_int() == -32602);
    CHECK(s.seen.with_method("notifications/subscriptions/acknowledged").empty());
    CHECK(s.in_flight() == 0);
    CHECK(s.core->topics.size() == 0);
}

TEST_CASE("J4: a listen beyond the limit is refused before it is acknowledged") {
    limits bounds;
    bounds.max_listens = 2;
    server_under_test s({.bounds = bounds});
    s.start();
    for (std::string_view id : {"1", "2", "3"}) s.send(listen_line(id, R"({"toolsListChanged":true})"));
    CHECK(s.answer("3") == "error -32603 too many open subscriptions");
    CHECK(s.seen.with_method("notifications/subscriptions/acknowledged").size() == 2);
    s.cancel("1");
    s.send(listen_line("4", R"({"toolsListChanged":true})"));
    CHECK(s.answers_to("4") == 0);
    s.cancel("2");
    s.cancel("4");
}

TEST_CASE("HTTP-14: a listen that asks for progress and logs gets neither") {
    server_under_test s;
    s.start();
    s.send(modern_line("1", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})",
                       R"("progressToken":"p","io.modelcontextprotocol/logLevel":"debug")"));
    change_list(s, list_kind::tools);
    s.advance(10s);
    CHECK(s.seen.take() ==
          lines{acknowledged_line("1", R"({"toolsListChanged":true})"), changed_line("1", list_kind::tools)});
    s.cancel("1");
}

TEST_CASE("I12: a slow client gets each pending notification once when there is room, in any order of changes") {
    limits bounds;
    bounds.out_queue_soft = 2'000;
    bounds.write_stall = 24h;
    server_under_test s({.bounds = bounds});
    add_demo_resource(s);
    s.start();
    std::string uris;
    for (int i = 0; i < 100; ++i) uris += (i == 0 ? "\"demo:" : ",\"demo:") + std::to_string(i) + '"';
    s.send(listen_line("1", R"({"toolsListChanged":true,"resourceSubscriptions":[)" + uris + "]}"));
    s.send(listen_line("2", R"({"toolsListChanged":true,"resourceSubscriptions":["demo:99"]})"));
    s.seen.take();
    s.wire->stall();
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 100; ++i) s.core->topics.publish("demo:" + std::to_string(i));
        change_list(s, list_kind::tools);
        s.advance(notification_interval);
    }
    s.wire->resume();
    s.loop->run();
    std::size_t at_once = s.seen.take().size();
    CHECK(at_once < 40);  // at most what the queue can hold
    s.advance(10s);
    s.seen.take();
    s.advance(10s);
    CHECK(s.seen.take().empty());
    // Every change was sent at least once: from the queue, and at most once again.
    for (int i = 0; i < 100; ++i) {
        std::size_t told = 0;
        for (const std::string& each : s.seen.all())
            told += each == updated_line("1", "demo:" + std::to_string(i)) ? 1 : 0;
        CHECK(told >= 1);
        CHECK(told <= 2);
    }
    CHECK(std::count(s.seen.all().begin(), s.seen.all().end(), updated_line("2", "demo:99")) >= 1);
    CHECK(std::count(s.seen.all().begin(), s.seen.all().end(), changed_line("2", list_kind::tools)) >= 1);
    s.cancel("1");
    s.cancel("2");
}

TEST_CASE("a resource can be published by its own handler") {
    server_under_test s;
    add_demo_resource(s);
    s.tool("touch",
           [&] {
               s.core->topics.publish("demo:one");
               return "done";
           },
           {.quick = true});
    s.start();
    s.send(listen_line("1", R"({"resourceSubscriptions":["demo:one"]})"));
    s.seen.take();
    s.send(modern_call_line("2", "touch"));
    lines all = s.seen.take();
    REQUIRE(all.size() == 2);
    CHECK(all[1] == updated_line("1", "demo:one"));
    s.cancel("1");
}

TEST_CASE("no ordering of subscribing, changing and cancelling sends anything before or after the listen") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        server_under_test s({.seed = seed});
        add_demo_resource(s);
        s.start();
        std::string filter = R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})";
        s.core->topics.publish("demo:one");
        s.later(listen_line("1", filter));
        s.core->topics.publish("demo:one");
        s.loop->post([&] { s.session->list_changed(list_kind::tools); });
        s.later(cancel_line("1"));
        s.later(listen_line("2", filter));
        s.core->topics.publish("demo:one");
        s.loop->post([&] { s.session->list_changed(list_kind::tools); });
        s.loop->post([&] { s.session->close({}); });
        s.loop->run();
        for (std::string_view id : {"1", "2"}) {
            const std::string tag = R"("io.modelcontextprotocol/subscriptionId":)" + std::string(id);
            lines of_it;
            for (const std::string& each : s.seen.all()) {
                if (each.find(tag) != std::string::npos) of_it.push_back(each);
            }
            if (of_it.empty()) continue;
            CHECK(of_it.front() == acknowledged_line(id, filter));
            for (std::size_t i = 0; i + 1 < of_it.size(); ++i) CHECK(of_it[i].find("result") == std::string::npos);
        }
    }
}
