// Notifications to clients of the older revisions: list changes and resources/subscribe.

#include "subscription_lines.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("SUB-08: a legacy client is notified of each declared list that changes, at once and then coalesced") {
    for (const char* version : legacy_revisions) {
        for (list_kind which : all_list_kinds) {
            CAPTURE(std::string(version));
            CAPTURE(static_cast<int>(which));
            server_under_test s;
            add_demo_resource(s);
            add_demo_prompt(s);
            s.start(version);
            const lines one{notification_line(list_changed_methods[static_cast<std::size_t>(which)])};
            change_list(s, which);
            CHECK(s.seen.take() == one);
            for (int i = 0; i < 100; ++i) change_list(s, which);
            CHECK(s.seen.take().empty());
            s.advance(notification_interval);
            CHECK(s.seen.take() == one);
            s.advance(10s);
            CHECK(s.seen.take().empty());
            change_list(s, which);
            CHECK(s.seen.take() == one);
        }
    }
}

TEST_CASE("LIFE-04: a legacy client is not notified of undeclared lists") {
    for (const char* version : legacy_revisions) {
        CAPTURE(std::string(version));
        server_under_test s;
        s.start(version);
        add_demo_resource(s);  // too late for this client
        add_demo_prompt(s);
        change_list(s, list_kind::resources);
        change_list(s, list_kind::prompts);
        s.advance(10s);
        CHECK(s.seen.take().empty());
        change_list(s, list_kind::tools);
        CHECK(s.seen.take() == lines{notification_line("notifications/tools/list_changed")});
    }
}

TEST_CASE("LIFE-04: no notifications are sent before the handshake") {
    server_under_test s;
    add_demo_resource(s);
    s.start();
    for (list_kind which : all_list_kinds) change_list(s, which);
    publish_and_run(s, "demo:one");
    s.advance(10s);
    CHECK(s.seen.take().empty());
}

TEST_CASE("RES-01: without resources, resources/subscribe is an unknown method") {
    for (const char* version : legacy_revisions) {
        CAPTURE(std::string(version));
        server_under_test s;
        s.start(version);
        s.send(subscribe_line("1", "demo:one"));
        CHECK(s.seen.answer_message("1")["error"]["code"].if_int() == -32601);
    }
}

TEST_CASE("a legacy client is notified of the resources it has subscribed to, and no others") {
    for (const char* version : legacy_revisions) {
        CAPTURE(std::string(version));
        server_under_test s;
        add_demo_resource(s);
        s.start(version);
        s.send(subscribe_line("1", "demo:one"));
        s.send(subscribe_line("2", "demo:two"));
        CHECK(s.seen.take() == lines{result_line("1"), result_line("2")});
        publish_and_run(s, "demo:three");
        CHECK(s.seen.take().empty());
        publish_and_run(s, "demo:two");
        publish_and_run(s, "demo:one");
        CHECK(s.seen.take() == lines{updated_line("demo:two"), updated_line("demo:one")});

        s.send(subscribe_line("3", "demo:two", "resources/unsubscribe"));
        CHECK(s.seen.take() == lines{result_line("3")});
        s.advance(1s);
        publish_and_run(s, "demo:two");
        publish_and_run(s, "demo:one");
        CHECK(s.seen.take() == lines{updated_line("demo:one")});
        CHECK(s.core->topics.size() == 1);
    }
}

TEST_CASE("resources/subscribe and resources/unsubscribe are idempotent") {
    server_under_test s;
    add_demo_resource(s);
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    s.send(subscribe_line("2", "demo:one"));
    s.seen.take();
    publish_and_run(s, "demo:one");
    CHECK(s.seen.take() == lines{updated_line("demo:one")});
    s.send(subscribe_line("3", "demo:one", "resources/unsubscribe"));
    s.send(subscribe_line("4", "demo:one", "resources/unsubscribe"));
    s.send(subscribe_line("5", "demo:never", "resources/unsubscribe"));
    CHECK(s.seen.take() == lines{result_line("3"), result_line("4"), result_line("5")});
    CHECK(s.core->topics.size() == 0);
    publish_and_run(s, "demo:one");
    CHECK(s.seen.take().empty());
}

TEST_CASE("a client that unsubscribes is not notified of an earlier pending change") {
    server_under_test s;
    add_demo_resource(s);
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    publish_and_run(s, "demo:one");
    publish_and_run(s, "demo:one");  // delayed by notification_interval
    s.send(subscribe_line("2", "demo:one", "resources/unsubscribe"));
    s.seen.take();
    s.advance(10s);
    CHECK(s.seen.take().empty());
}

TEST_CASE("a slow client is not notified of resources that it has unsubscribed from meanwhile") {
    limits bounds;
    bounds.out_queue_soft = 1000;
    server_under_test s({.bounds = bounds});
    add_demo_resource(s);
    s.tool("big", [] { return std::string(5'000, 'x'); }, {.quick = true});
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    s.send(subscribe_line("2", "demo:two"));
    s.seen.take();
    s.wire->stall();
    s.call("3", "big");
    publish_and_run(s, "demo:one");
    publish_and_run(s, "demo:two");
    s.send(subscribe_line("4", "demo:one", "resources/unsubscribe"));
    s.wire->resume();
    s.advance(10s);
    lines all = s.seen.take();
    REQUIRE(all.size() == 3);
    CHECK(all[1] == result_line("4"));
    CHECK(all[2] == updated_line("demo:two"));
}

TEST_CASE("a subscription with a missing or invalid URI is refused") {
    server_under_test s;
    add_demo_resource(s);
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

TEST_CASE("rapid changes of one resource are coalesced, and the last one is always sent") {
    server_under_test s;
    add_demo_resource(s);
    s.start("2025-11-25");
    s.send(subscribe_line("1", "demo:one"));
    s.seen.take();
    for (int i = 0; i < 1000; ++i) s.core->topics.publish("demo:one");
    CHECK(s.loop->ready() == 1);  // one turn of the loop for all of them
    s.loop->run();
    CHECK(s.seen.take().size() == 1);
    for (int i = 0; i < 1000; ++i) publish_and_run(s, "demo:one");
    CHECK(s.seen.take().empty());
    s.advance(notification_interval);
    CHECK(s.seen.take().size() == 1);
    s.advance(10s);
    CHECK(s.seen.take().empty());
    publish_and_run(s, "demo:one");
    CHECK(s.seen.take().size() == 1);
}

TEST_CASE("I11: a legacy client that disconnects is removed from its topics") {
    server_under_test s;
    add_demo_resource(s);
    s.start("2025-06-18");
    s.send(subscribe_line("1", "demo:one"));
    publish_and_run(s, "demo:one");
    publish_and_run(s, "demo:one");
    s.eof();
    CHECK(s.core->topics.size() == 0);
    CHECK(s.loop->timers() == 0);
    publish_and_run(s, "demo:one");
}
