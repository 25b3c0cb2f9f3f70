// How a listen ends: by the server, by a cancel, or with its connection.

#include "subscription_lines.hpp"

#include <string>
#include <string_view>

using namespace keel;
using namespace keel::test;

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
    CHECK(all[1] == acknowledged_line("2", R"({"toolsListChanged":true})"));
    CHECK(s.answers_to("2") == 1);
    CHECK(all[3] == cancel_line("2"));
}

TEST_CASE("CAN-04, STD-05, I9: after a cancel nothing more is sent for a listen, and its slot is free at once") {
    limits bounds;
    bounds.max_listens = 1;
    server_under_test s({.bounds = bounds});
    add_demo_resource(s);
    s.start();
    std::string filter = R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})";
    s.send(listen_line("1", filter));
    change_list(s, list_kind::tools);
    publish_and_run(s, "demo:one");
    // Both are due again later.
    change_list(s, list_kind::tools);
    publish_and_run(s, "demo:one");
    s.seen.take();
    s.cancel("1");
    CHECK(s.in_flight() == 0);
    CHECK(s.core->topics.size() == 0);
    s.advance(10s);
    publish_and_run(s, "demo:one");
    change_list(s, list_kind::tools);
    CHECK(s.seen.take().empty());
    CHECK(s.answers_to("1") == 0);

    s.send(listen_line("1", filter));  // the same id starts another listen
    CHECK(s.seen.take() == lines{acknowledged_line("1", filter)});
    s.cancel("1");
}

TEST_CASE("STD-05: a cancel withdraws queued notifications of a listen that are not being written yet") {
    server_under_test s;
    add_demo_resource(s);
    s.start();
    s.send(listen_line("1", R"({"resourceSubscriptions":["demo:one"]})"));
    s.seen.take();
    s.wire->stall();
    publish_and_run(s, "demo:one");
    s.cancel("1");
    s.wire->resume();
    s.advance(10s);
    CHECK(s.seen.take().empty());
}

TEST_CASE("I11: a connection that breaks with open listens leaves nothing behind") {
    server_under_test s;
    add_demo_resource(s);
    s.start();
    for (int i = 0; i < 10; ++i) {
        s.send(listen_line(std::to_string(i), R"({"toolsListChanged":true,"resourceSubscriptions":["demo:one"]})"));
    }
    CHECK(s.seen.take().size() == 10);  // acknowledged
    CHECK(s.in_flight() == 0);          // a listen is not counted as a running call
    SUBCASE("reading fails") {
        s.wire->fail_read(ECONNRESET);
        s.loop->run();
    }
    SUBCASE("a resource notification fails to be written") {
        s.wire->fail_write_after(200, EPIPE);
        publish_and_run(s, "demo:one");
    }
    SUBCASE("a list notification fails to be written") {
        s.wire->fail_write_after(200, EPIPE);
        change_list(s, list_kind::tools);
    }
    SUBCASE("the end of the listens fails to be written") {
        s.wire->fail_write_after(200, EPIPE);
        s.close();
    }
    CHECK(s.ends.size() == 1);
    CHECK(s.in_flight() == 0);
    CHECK(s.core->topics.size() == 0);
    CHECK(s.loop->timers() == 0);
    publish_and_run(s, "demo:one");
    for (list_kind which : all_list_kinds) change_list(s, which);
    s.advance(10s);
}
