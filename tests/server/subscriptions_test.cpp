// Subscriptions of both eras, also through the public class `server`.

#include "subscription_lines.hpp"

#include "line_client.hpp"

#include <keel/server.hpp>

#include <atomic>
#include <string>
#include <thread>

using namespace keel;
using namespace keel::test;

TEST_CASE("J4: the number of subscriptions is limited, and unsubscribing frees one") {
    limits bounds;
    bounds.max_subscriptions = 3;
    SUBCASE("older revisions") {
        server_under_test s({.bounds = bounds});
        add_demo_resource(s);
        s.start("2025-11-25");
        for (int i = 0; i < 3; ++i) s.send(subscribe_line(std::to_string(i), "demo:" + std::to_string(i)));
        s.send(subscribe_line("3", "demo:3"));
        CHECK(s.answer("3") == "error -32602 too many subscriptions: at most 3");
        s.send(subscribe_line("4", "demo:1"));  // already subscribed
        CHECK(s.answer("4") == "{}");
        s.send(subscribe_line("5", "demo:1", "resources/unsubscribe"));
        s.send(subscribe_line("6", "demo:3"));
        CHECK(s.answer("6") == "{}");
        CHECK(s.core->topics.size() == 3);
    }
    SUBCASE("2026-07-28") {
        server_under_test s({.bounds = bounds});
        add_demo_resource(s);
        s.start();
        s.send(listen_line("1", R"({"resourceSubscriptions":["demo:1","demo:2"]})"));
        s.send(listen_line("2", R"({"resourceSubscriptions":["demo:1","demo:2"]})"));
        CHECK(s.answer("2") == "error -32602 too many subscriptions: at most 3");
        s.send(listen_line("3", R"({"resourceSubscriptions":["demo:1","demo:1"]})"));  // a duplicate counts once
        CHECK(s.answers_to("3") == 0);
        s.cancel("1");
        s.send(listen_line("4", R"({"resourceSubscriptions":["demo:1","demo:2"]})"));
        CHECK(s.answers_to("4") == 0);
    }
}

TEST_CASE("subscription methods of other revisions are unknown") {
    server_under_test s;
    add_demo_resource(s);
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
    CHECK(json::to_string(older.receive()) == updated_line("demo:one"));
    CHECK(json::to_string(modern.receive()) == updated_line("0", "demo:one"));
    std::thread([&] { server.add_tool("new", "", [] { return ""; }); }).join();
    CHECK(older.receive()["method"].if_string() == "notifications/tools/list_changed");
    CHECK(json::to_string(modern.receive()) == changed_line("0", list_kind::tools));
    server.add_prompt("new", "", [](const prompt_arguments&) { return ""; });
    CHECK(older.receive()["method"].if_string() == "notifications/prompts/list_changed");
    CHECK(json::to_string(modern.receive()) == changed_line("0", list_kind::prompts));
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

    CHECK(json::to_string(client.receive()) == updated_line("1", "sensor:kitchen"));
    json::value answer = client.ask(modern_line("2", "resources/read", R"("uri":"sensor:kitchen")"));
    CHECK(answer["result"]["contents"].at(0)["text"].if_string() == "21.500000");
}
