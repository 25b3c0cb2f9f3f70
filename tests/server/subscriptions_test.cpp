// Subscriptions of both eras: what a session tells, when, and how a listen ends.

#include "support/harness.hpp"

#include "line_client.hpp"

#include <keel/server.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace keel;
using namespace keel::test;

namespace {

constexpr std::array older_revisions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
constexpr std::array kinds = {list_kind::tools, list_kind::resources, list_kind::prompts};
constexpr std::array kind_methods = {"notifications/tools/list_changed", "notifications/resources/list_changed",
                                     "notifications/prompts/list_changed"};

void add_resource(server_under_test& s) {
    resource about;
    about.uri = "demo:one";
    about.name = "one";
    detail::resource_entry entry{about, detail::make_resource_handler([] { return "text"; }, true), {}};
    s.core->resources.put(std::make_shared<const server_side::resource_offer>(std::move(entry)), false);
}

void add_prompt(server_under_test& s) {
    prompt about;
    about.name = "greet";
    auto entry = detail::make_prompt(about, [](const prompt_arguments&) { return "hello"; }, prompt_options{});
    s.core->prompts.put(std::make_shared<const server_side::prompt_offer>(std::move(entry)), false);
}

std::string listen_line(std::string_view id, std::string_view filter) {
    return modern_line(id, "subscriptions/listen", R"("notifications":)" + std::string(filter));
}
std::string subscribe_line(std::string_view id, std::string_view uri, std::string_view method = "resources/subscribe") {
    return request_line(id, method, R"({"uri":")" + std::string(uri) + "\"}");
}

std::string tagged(std::string_view id) {
    return R"("_meta":{"io.modelcontextprotocol/subscriptionId":)" + std::string(id) + "}";
}
std::string acknowledged(std::string_view id, std::string_view filter) {
    return notification_line("notifications/subscriptions/acknowledged",
                             R"({"notifications":)" + std::string(filter) + "," + tagged(id) + "}");
}
std::string updated(std::string_view id, std::string_view uri) {
    return notification_line("notifications/resources/updated",
                             R"({"uri":")" + std::string(uri) + "\"," + tagged(id) + "}");
}
std::string changed(std::string_view id, list_kind which) {
    return notification_line(kind_methods[static_cast<std::size_t>(which)], "{" + tagged(id) + "}");
}
std::string updated(std::string_view uri) {
    return notification_line("notifications/resources/updated", R"({"uri":")" + std::string(uri) + "\"}");
}

/// Says that a resource has changed, from outside the loop, and what follows from it without time passing.
void publish(server_under_test& s, std::string_view uri) {
    s.core->topics.publish(uri);
    s.loop->run();
}
void list_changed(server_under_test& s, list_kind which) {
    s.on_loop([&] { s.session->list_changed(which); });
}

constexpr duration interval = limits{}.notification_interval;

}  // namespace

// ---- older revisions ----

TEST_CASE("SUB-08: a legacy client is notified of each declared list that changes, at once and then coalesced") {
    for (const char* version : older_revisions) {
        for (list_kind which : kinds) {
            CAPTURE(std::string(version));
            CAPTURE(static_cast<int>(which));
            server_under_test s;
            add_resource(s);
            add_prompt(s);
            s.start(version);
            const lines one{notification_line(kind_methods[static_cast<std::size_t>(which)])};
            list_changed(s, which);
            CHECK(s.seen.take() == one);
            for (int i = 0; i < 100; ++i) list_changed(s, which);
            CHECK(s.seen.take().empty());
            s.advance(interval);
            CHECK(s.seen.take() == one);
            s.advance(10s);
            CHECK(s.seen.take().empty());
            list_changed(s, which);
            CHECK(s.seen.take() == one);
        }
    }
}

TEST_CASE("LIFE-04: a legacy client is not notified of undeclared lists") {
    for (const char* version : older_revisions) {
        CAPTURE(std::string(version));
        server_under_test s;
        s.start(version);
        add_resource(s);  // too late for this client
        add_prompt(s);
        list_changed(s, list_kind::resources);
        list_changed(s, list_kind::prompts);
        s.advance(10s);
        CHECK(s.seen.take().empty());
        list_changed(s, list_kind::tools);
        CHECK(s.seen.take() == lines{notification_line("notifications/tools/list_changed")});
    }
}

TEST_CASE("LIFE-04: no notifications are sent before the handshake") {
    server_under_test s;
    add_resource(s);
    s.start();
    for (list_kind which : kinds) list_changed(s, which);
    publish(s, "demo:one");
    s.advance(10s);
    CHECK(s.seen.take().empty());
}

TEST_CASE("RES-01: without resources, resources/subscribe is an unknown method") {
    for (const char* version : older_revisions) {
        CAPTURE(std::string(version));
        server_under_test s;
        s.start(version);
        s.send(subscribe_line("1", "demo:one"));
        CHECK(s.seen.answer_message("1")["error"]["code"].if_int() == -32601);
    }
}

TEST_CASE("a legacy client is notified of the resources it has subscribed to, and no others") {
    for (const char* version : older_revisions) {
        CAPTURE(std::string(version));
        server_under_test s;
        add_resource(s);
        s.start(version);
        s.send(subscribe_line("1", "demo:one"));
        s.send(subscribe_line("2", "demo:two"));
        CHECK(s.seen.take() == lines{result_line("1"), result_line("2")});
        publish(s, "demo:three");
        CHECK(s.seen.take().empty());
        publish(s, "demo:two");
        publish(s, "demo:one");
        CHECK(s.seen.take() == lines{updated("demo:two"), updated("demo:one")});

        s.send(subscribe_line("3", "demo:two", "resources/unsubscribe"));
        CHECK(s.seen.take() == lines{result_line("3")});
        s.advance(1s);
        publish(s, "demo:two");
        publish(s, "demo:one");
        CHECK(s.seen.take() == lines{updated("demo:one")});
        CHECK(s.core->topics.size() == 1);
    }
}

TEST_CASE("resources/subscribe and resources/unsubscribe are idempotent") {
    server_under_test s;
    add_resource(s);
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    s.send(subscribe_line("2", "demo:one"));
    s.seen.take();
    publish(s, "demo:one");
    CHECK(s.seen.take() == lines{updated("demo:one")});
    s.send(subscribe_line("3", "demo:one", "resources/unsubscribe"));
    s.send(subscribe_line("4", "demo:one", "resources/unsubscribe"));
    s.send(subscribe_line("5", "demo:never", "resources/unsubscribe"));
    CHECK(s.seen.take() == lines{result_line("3"), result_line("4"), result_line("5")});
    CHECK(s.core->topics.size() == 0);
    publish(s, "demo:one");
    CHECK(s.seen.take().empty());
}

TEST_CASE("a client that unsubscribes is not notified of an earlier pending change") {
    server_under_test s;
    add_resource(s);
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    publish(s, "demo:one");
    publish(s, "demo:one");  // waits for its time
    s.send(subscribe_line("2", "demo:one", "resources/unsubscribe"));
    s.seen.take();
    s.advance(10s);
    CHECK(s.seen.take().empty());
}

TEST_CASE("a slow client is not notified of resources that it has unsubscribed from meanwhile") {
    limits bounds;
    bounds.out_queue_soft = 1000;
    server_under_test s({.bounds = bounds});
    add_resource(s);
    s.tool("big", [] { return std::string(5'000, 'x'); }, {.quick = true});
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    s.send(subscribe_line("2", "demo:two"));
    s.seen.take();
    s.wire->stall();
    s.call("3", "big");
    publish(s, "demo:one");
    publish(s, "demo:two");
    s.send(subscribe_line("4", "demo:one", "resources/unsubscribe"));
    s.wire->resume();
    s.advance(10s);
    lines all = s.seen.take();
    REQUIRE(all.size() == 3);
    CHECK(all[1] == result_line("4"));
    CHECK(all[2] == updated("demo:two"));
}

TEST_CASE("a subscription with a missing or invalid URI is refused") {
    server_under_test s;
    add_resource(s);
    s.start("2025-11-25");
    int id = 0;
    for (const char* params : {R"({})", R"({"uri":7})", R"({"uri":null})", R"({"uri":""})", R"({"uri":"no scheme"})"}) {
        for (const char* method : {"resources/subscribe", "resources/unsubscribe"}) {
            CAPTURE(std::string(params));
            std::string key = std::to_string(++id);
            s.send(request_line(key, method, params));
            CHECK(s.seen.answer_message(key)["error"]["code"].if_int() == -32602);
        }
    }
    s.send(subscribe_line("\"long\"", "demo:" + std::string(limits{}.max_uri, 'x')));
    CHECK(s.answer("\"long\"") == "error -32602 uri: too long");
    CHECK(s.core->topics.size() == 0);
}

TEST_CASE("J4: the number of subscriptions is limited, and unsubscribing frees one") {
    limits bounds;
    bounds.max_subscriptions = 3;
    SUBCASE("older revisions") {
        server_under_test s({.bounds = bounds});
        add_resource(s);
        s.start("2025-11-25");
        for (int i = 0; i < 3; ++i) s.send(subscribe_line(std::to_string(i), "demo:" + std::to_string(i)));
        s.send(subscribe_line("3", "demo:3"));
        CHECK(s.answer("3") == "error -32602 too many subscriptions: at most 3");
        s.send(subscribe_line("4", "demo:1"));  // it has that one
        CHECK(s.answer("4") == "{}");
        s.send(subscribe_line("5", "demo:1", "resources/unsubscribe"));
        s.send(subscribe_line("6", "demo:3"));
        CHECK(s.answer("6") == "{}");
        CHECK(s.core->topics.size() == 3);
    }
    SUBCASE("2026-07-28") {
        server_under_test s({.bounds = bounds});
        add_resource(s);
        s.start();
        s.send(listen_line("1", R"({"resourceSubscriptions":["demo:1","demo:2"]})"));
        s.send(listen_line("2", R"({"resourceSubscriptions":["demo:1","demo:2"]})"));
        CHECK(s.answer("2") == "error -32602 too many subscriptions: at most 3");
        s.send(listen_line("3", R"({"resourceSubscriptions":["demo:1","demo:1"]})"));  // the same twice counts once
        CHECK(s.answers_to("3") == 0);
        s.cancel("1");
        s.send(listen_line("4", R"({"resourceSubscriptions":["demo:1","demo:2"]})"));
        CHECK(s.answers_to("4") == 0);
    }
}

TEST_CASE("rapid changes of one resource are coalesced, and the last one is always sent") {
    server_under_test s;
    add_resource(s);
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    s.seen.take();
    for (int i = 0; i < 1000; ++i) s.core->topics.publish("demo:one");
    CHECK(s.loop->ready() == 1);  // one message to the loop for all of them
    s.loop->run();
    CHECK(s.seen.take().size() == 1);
    for (int i = 0; i < 1000; ++i) publish(s, "demo:one");
    CHECK(s.seen.take().empty());
    s.advance(interval);
    CHECK(s.seen.take().size() == 1);
    s.advance(10s);
    CHECK(s.seen.take().empty());
    publish(s, "demo:one");
    CHECK(s.seen.take().size() == 1);
}

// ---- 2026-07-28 ----

TEST_CASE("SUB-01, SUB-03, I8: the acknowledgement comes first, and all notifications carry the subscription id") {
    // Ids are typed: 0 and "" and "1" are ids like any other.
    for (std::string_view id : {"0", "1", "\"1\"", "\"\"", "-7", "9007199254740993", "\"a\\\"b\""}) {
        CAPTURE(std::string(id));
        server_under_test s;
        add_resource(s);
        add_prompt(s);
        s.start();
        std::string filter = R"({"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true,)"
                             R"("resourceSubscriptions":["demo:one"]})";
        s.send(listen_line(id, filter));
        CHECK(s.seen.take() == lines{acknowledged(id, filter)});
        for (list_kind which : kinds) list_changed(s, which);
        publish(s, "demo:one");
        CHECK(s.seen.take() == lines{changed(id, list_kind::tools), changed(id, list_kind::resources),
                                     changed(id, list_kind::prompts), updated(id, "demo:one")});
        CHECK(s.answers_to(id) == 0);
        s.cancel(id);
    }
}

TEST_CASE("SUB-01, I8: changes while the acknowledgement is queued are sent after it, and not lost") {
    limits bounds;
    bounds.out_queue_soft = 1000;
    server_under_test s({.bounds = bounds});
    add_resource(s);
    s.tool("big", [] { return std::string(5'000, 'x'); }, {.quick = true});
    s.start();
    s.wire->stall();
    s.send(modern_call_line("1", "big"));
    s.send(listen_line("2", R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    for (int i = 0; i < 100; ++i) {
        publish(s, "demo:one");
        list_changed(s, list_kind::tools);
        s.advance(interval);
    }
    s.wire->resume();
    s.advance(1s);
    lines all = s.seen.take();
    REQUIRE(all.size() == 4);  // the answer, and each thing once
    CHECK(all[1] == acknowledged("2", R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    CHECK(all[2] == changed("2", list_kind::tools));
    CHECK(all[3] == updated("2", "demo:one"));
    s.cancel("2");
}

TEST_CASE("SUB-02: a listen gets only the notifications that it requested") {
    const std::array filters = {R"({"toolsListChanged":true})", R"({"resourcesListChanged":true})",
                                R"({"promptsListChanged":true})"};
    for (std::size_t asked = 0; asked < filters.size(); ++asked) {
        server_under_test s;
        add_resource(s);
        add_prompt(s);
        s.start();
        s.send(listen_line("1", filters[asked]));
        CHECK(s.seen.take() == lines{acknowledged("1", filters[asked])});
        for (list_kind which : kinds) list_changed(s, which);
        publish(s, "demo:one");
        s.advance(10s);
        CHECK(s.seen.take() == lines{changed("1", kinds[asked])});
        s.cancel("1");
    }
    server_under_test s;
    add_resource(s);
    s.start();
    SUBCASE("nothing at all") {
        s.send(listen_line("1", "{}"));
        CHECK(s.seen.take() == lines{acknowledged("1", "{}")});
    }
    SUBCASE("false is not asking") {
        s.send(listen_line("1", R"({"toolsListChanged":false,"promptsListChanged":false})"));
        CHECK(s.seen.take() == lines{acknowledged("1", "{}")});
    }
    SUBCASE("a client without a listen") { s.send(modern_line("2", "tools/list")); }
    s.seen.take();
    for (list_kind which : kinds) list_changed(s, which);
    publish(s, "demo:one");
    s.advance(10s);
    CHECK(s.seen.take().empty());
    s.cancel("1");
}

TEST_CASE("SUB-04: only supported notifications are acknowledged, and unknown ones are ignored") {
    std::string all = R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,)"
                      R"("resourceSubscriptions":["demo:b","demo:a","demo:b"],"taskIds":["t"],"x":{"y":1}})";
    server_under_test s;
    s.start();
    SUBCASE("tools alone") {
        s.send(listen_line("1", all));
        CHECK(s.seen.take() == lines{acknowledged("1", R"({"toolsListChanged":true})")});
        add_resource(s);  // SUB-02: too late for this listen
        add_prompt(s);
        list_changed(s, list_kind::resources);
        list_changed(s, list_kind::prompts);
        publish(s, "demo:a");
        s.advance(10s);
        CHECK(s.seen.take().empty());
    }
    SUBCASE("tools and prompts") {
        add_prompt(s);
        s.send(listen_line("1", all));
        CHECK(s.seen.take() == lines{acknowledged("1", R"({"toolsListChanged":true,"promptsListChanged":true})")});
    }
    SUBCASE("tools and resources") {
        add_resource(s);
        s.send(listen_line("1", all));
        CHECK(s.seen.take() == lines{acknowledged("1", R"({"toolsListChanged":true,"resourcesListChanged":true,)"
                                                       R"("resourceSubscriptions":["demo:b","demo:a"]})")});
    }
    s.cancel("1");
}

TEST_CASE(
    "SUB-05, SUB-07, I10: a server that closes answers its listens, then sends notifications/cancelled for each") {
    server_under_test s;
    gate never;
    s.tool("park", [&]() -> task<std::string> {
        head_count::presence here(s.handlers);
        co_await never.pass();
        co_return "";
    });
    s.start();
    s.send(listen_line("0", R"({"toolsListChanged":true})"));
    s.send(listen_line("\"b\"", R"({"toolsListChanged":true})"));
    s.send(modern_call_line("2", "park"));
    s.seen.take();
    s.close();
    lines all = s.seen.take();
    REQUIRE(all.size() == 5);
    auto result = [&](std::string_view id) {
        return result_line(id, R"({"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":)" +
                                   std::string(id) + R"(,"io.modelcontextprotocol/serverInfo":)" +
                                   s.core->info_json(protocol::latest) + "}}");
    };
    CHECK(all[0] == result("0"));
    CHECK(all[1] == cancel_line("0"));
    CHECK(all[2] == result("\"b\""));
    CHECK(all[3] == cancel_line("\"b\""));
    CHECK(json::parse(all[4])["error"]["code"].if_int() == -32603);
    CHECK(s.seen.with_method("notifications/cancelled").size() == 2);
}

TEST_CASE("SUB-07: a drain does not wait for listens") {
    SUBCASE("the server closes") {
        server_under_test s;
        s.start();
        s.send(listen_line("1", R"({"toolsListChanged":true})"));
        s.close(1h);
        CHECK(s.answers_to("1") == 1);
        CHECK(s.ends.size() == 1);
    }
    SUBCASE("the client ends its input") {
        limits bounds;
        bounds.drain_on_eof = 1h;
        server_under_test s({.bounds = bounds});
        s.start();
        s.send(listen_line("1", R"({"toolsListChanged":true})"));
        s.eof();
        CHECK(s.seen.answer_message("1")["result"]["resultType"].if_string() == "complete");
        CHECK(s.ends.size() == 1);
    }
}

TEST_CASE("SUB-05: the end of a listen is announced even to a slow reader") {
    limits bounds;
    bounds.out_queue_soft = 1000;
    server_under_test s({.bounds = bounds});
    s.tool("big", [] { return std::string(5'000, 'x'); }, {.quick = true});
    s.start();
    s.wire->stall();
    s.send(modern_call_line("1", "big"));
    s.send(listen_line("2", R"({"toolsListChanged":true})"));
    s.close();
    s.wire->resume();
    s.loop->run();
    lines all = s.seen.take();
    REQUIRE(all.size() == 4);
    CHECK(all[1] == acknowledged("2", R"({"toolsListChanged":true})"));
    CHECK(s.answers_to("2") == 1);
    CHECK(all[3] == cancel_line("2"));
}

TEST_CASE("CAN-04, STD-05, I9: after a cancel nothing more is sent for a listen, and its slot is free at once") {
    limits bounds;
    bounds.max_listens = 1;
    server_under_test s({.bounds = bounds});
    add_resource(s);
    s.start();
    std::string filter = R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})";
    s.send(listen_line("1", filter));
    list_changed(s, list_kind::tools);
    publish(s, "demo:one");
    // Both are due again, a little later.
    list_changed(s, list_kind::tools);
    publish(s, "demo:one");
    s.seen.take();
    s.cancel("1");
    CHECK(s.in_flight() == 0);
    CHECK(s.core->topics.size() == 0);
    s.advance(10s);
    publish(s, "demo:one");
    list_changed(s, list_kind::tools);
    CHECK(s.seen.take().empty());
    CHECK(s.answers_to("1") == 0);

    s.send(listen_line("1", filter));  // the same id again is another listen
    CHECK(s.seen.take() == lines{acknowledged("1", filter)});
    s.cancel("1");
}

TEST_CASE("STD-05: a cancel withdraws queued notifications of a listen that are not being written yet") {
    server_under_test s;
    add_resource(s);
    s.start();
    s.send(listen_line("1", R"({"resourceSubscriptions":["demo:one"]})"));
    s.seen.take();
    s.wire->stall();
    publish(s, "demo:one");
    s.cancel("1");
    s.wire->resume();
    s.advance(10s);
    CHECK(s.seen.take().empty());
}

TEST_CASE("several listens of one client are independent of each other") {
    server_under_test s;
    add_resource(s);
    s.start();
    std::string filter = R"({"resourceSubscriptions":["demo:one"]})";
    for (std::string_view id : {"1", "\"1\"", "2"}) s.send(listen_line(id, filter));
    s.seen.take();
    publish(s, "demo:one");
    CHECK(s.seen.take() == lines{updated("1", "demo:one"), updated("\"1\"", "demo:one"), updated("2", "demo:one")});
    s.cancel("\"1\"");
    s.advance(1s);
    publish(s, "demo:one");
    lines both = s.seen.take();
    CHECK(std::set(both.begin(), both.end()) ==
          std::set<std::string>{updated("1", "demo:one"), updated("2", "demo:one")});
    s.cancel("1");
    s.cancel("2");
    CHECK(s.core->topics.size() == 0);
}

TEST_CASE("a listen with an invalid filter is refused, and never acknowledged") {
    server_under_test s;
    add_resource(s);
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

TEST_CASE("subscription methods of other revisions are unknown") {
    server_under_test s;
    add_resource(s);
    SUBCASE("2026-07-28") {
        s.start();
        for (const char* method : {"resources/subscribe", "resources/unsubscribe"}) {
            s.send(modern_line("1", method, R"("uri":"demo:one")"));
            CHECK(s.seen.answer_message("1")["error"]["code"].if_int() == -32601);
        }
    }
    SUBCASE("2025-11-25") {
        s.start("2025-11-25");
        s.send(request_line("1", "subscriptions/listen", R"({"notifications":{"toolsListChanged":true}})"));
        CHECK(s.seen.answer_message("1")["error"]["code"].if_int() == -32601);
    }
    CHECK(s.core->topics.size() == 0);
}

TEST_CASE("HTTP-14: a listen that asks for progress and logs gets neither") {
    server_under_test s;
    s.start();
    s.send(modern_line("1", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})",
                       R"("progressToken":"p","io.modelcontextprotocol/logLevel":"debug")"));
    list_changed(s, list_kind::tools);
    s.advance(10s);
    CHECK(s.seen.take() == lines{acknowledged("1", R"({"toolsListChanged":true})"), changed("1", list_kind::tools)});
    s.cancel("1");
}

TEST_CASE("I11: a connection that breaks with open listens leaves nothing behind") {
    server_under_test s;
    add_resource(s);
    s.start();
    for (int i = 0; i < 10; ++i) {
        s.send(listen_line(std::to_string(i), R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    }
    CHECK(s.seen.take().size() == 10);  // acknowledged
    CHECK(s.in_flight() == 0);          // a listen waits; it does not count as a call that runs
    SUBCASE("reading fails") {
        s.wire->fail_read(ECONNRESET);
        s.loop->run();
    }
    SUBCASE("telling one of them finds it broken") {
        s.wire->fail_write_after(200, EPIPE);
        publish(s, "demo:one");
    }
    SUBCASE("telling of a list finds it broken") {
        s.wire->fail_write_after(200, EPIPE);
        list_changed(s, list_kind::tools);
    }
    SUBCASE("ending them finds it broken") {
        s.wire->fail_write_after(200, EPIPE);
        s.close();
    }
    CHECK(s.ends.size() == 1);
    CHECK(s.in_flight() == 0);
    CHECK(s.core->topics.size() == 0);
    CHECK(s.loop->timers() == 0);
    publish(s, "demo:one");
    for (list_kind which : kinds) list_changed(s, which);
    s.advance(10s);
}

TEST_CASE("I11: a legacy client that disconnects is removed from its topics") {
    server_under_test s;
    add_resource(s);
    s.start("2025-06-18");
    s.send(subscribe_line("1", "demo:one"));
    publish(s, "demo:one");
    publish(s, "demo:one");
    s.eof();
    CHECK(s.core->topics.size() == 0);
    CHECK(s.loop->timers() == 0);
    publish(s, "demo:one");
}

TEST_CASE("I12: a slow client gets each pending notification once when there is room, in any order of changes") {
    limits bounds;
    bounds.out_queue_soft = 2'000;
    bounds.write_stall = 24h;
    server_under_test s({.bounds = bounds});
    add_resource(s);
    s.start();
    std::string uris;
    for (int i = 0; i < 100; ++i) uris += (i == 0 ? "\"demo:" : ",\"demo:") + std::to_string(i) + '"';
    s.send(listen_line("1", R"({"toolsListChanged":true,"resourceSubscriptions":[)" + uris + "]}"));
    s.send(listen_line("2", R"({"toolsListChanged":true,"resourceSubscriptions":["demo:99"]})"));
    s.seen.take();
    s.wire->stall();
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 100; ++i) s.core->topics.publish("demo:" + std::to_string(i));
        list_changed(s, list_kind::tools);
        s.advance(interval);
    }
    s.wire->resume();
    s.loop->run();
    std::size_t at_once = s.seen.take().size();
    CHECK(at_once < 40);  // no more than the queue holds
    s.advance(10s);
    s.seen.take();
    s.advance(10s);
    CHECK(s.seen.take().empty());
    // Everything was told, and nothing more often than the room in the queue and once again.
    for (int i = 0; i < 100; ++i) {
        std::size_t told = 0;
        for (const std::string& each : s.seen.all()) told += each == updated("1", "demo:" + std::to_string(i)) ? 1 : 0;
        CHECK(told >= 1);
        CHECK(told <= 2);
    }
    CHECK(std::count(s.seen.all().begin(), s.seen.all().end(), updated("2", "demo:99")) >= 1);
    CHECK(std::count(s.seen.all().begin(), s.seen.all().end(), changed("2", list_kind::tools)) >= 1);
    s.cancel("1");
    s.cancel("2");
}

TEST_CASE("a resource can be published by its own handler") {
    server_under_test s;
    add_resource(s);
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
    CHECK(all[1] == updated("1", "demo:one"));
    s.cancel("1");
}

TEST_CASE("no ordering of subscribing, changing and cancelling sends anything before or after the listen") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        server_under_test s({.seed = seed});
        add_resource(s);
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
            CHECK(of_it.front() == acknowledged(id, filter));
            for (std::size_t i = 0; i + 1 < of_it.size(); ++i) CHECK(of_it[i].find("result") == std::string::npos);
        }
    }
}

// ---- through the public face ----

TEST_CASE("SUB-07, SUB-08: a server notifies clients of all revisions from any thread, and ends their listens") {
    server_options options;
    options.declare_resources = true;
    options.declare_prompts = true;
    server server({.name = "test", .version = "1"}, options);
    const std::string path = fresh_socket_path();
    server.start(endpoint::unix_socket(path));
    line_client older(path);
    line_client modern(path);
    older.open_session();
    CHECK(older.ask(subscribe_line("1", "demo:one"))["result"].is_object());
    json::value first = modern.ask(listen_line(
        "0", R"({"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    CHECK(first["method"].if_string() == "notifications/subscriptions/acknowledged");

    std::thread([&] { server.resource_updated("demo:one"); }).join();
    CHECK(json::to_string(older.receive()) == updated("demo:one"));
    CHECK(json::to_string(modern.receive()) == updated("0", "demo:one"));
    std::thread([&] { server.add_tool("new", "", [] { return ""; }); }).join();
    CHECK(older.receive()["method"].if_string() == "notifications/tools/list_changed");
    CHECK(json::to_string(modern.receive()) == changed("0", list_kind::tools));
    server.add_prompt("new", "", [](const prompt_arguments&) { return ""; });
    CHECK(older.receive()["method"].if_string() == "notifications/prompts/list_changed");
    CHECK(json::to_string(modern.receive()) == changed("0", list_kind::prompts));
    server.resources_changed();
    CHECK(older.receive()["method"].if_string() == "notifications/resources/list_changed");

    server.request_stop();
    CHECK(modern.receive()["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == json::value(0));
    CHECK(json::to_string(modern.receive()) == cancel_line("0"));
    CHECK(modern.receive().is_null());
    CHECK(older.receive().is_null());
    server.stop();
}

TEST_CASE("publishing a resource notifies its subscribers, which read the new contents") {
    std::atomic<double> degrees = 20.0;
    keel::server server({.name = "thermometer", .version = "1.0"});
    server.add_resource({.uri = "sensor:kitchen", .name = "kitchen"}, [&] { return std::to_string(degrees); });
    const std::string path = fresh_socket_path();
    server.start(endpoint::unix_socket(path));
    line_client client(path);
    client.ask(listen_line("1", R"({"resourceSubscriptions":["sensor:kitchen"]})"));

    degrees = 21.5;
    server.resource_updated("sensor:kitchen");

    CHECK(json::to_string(client.receive()) == updated("1", "sensor:kitchen"));
    json::value answer = client.ask(modern_line("2", "resources/read", R"("uri":"sensor:kitchen")"));
    CHECK(answer["result"]["contents"].at(0)["text"].if_string() == "21.500000");
}
