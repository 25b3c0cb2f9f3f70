// The era memory: its keys, and the errors of servers that refuse.

#include "http_client_under_test.hpp"
#include "revisions.hpp"

#include <keel/child_process.hpp>
#include <keel/server.hpp>

#include <set>

using namespace keel;
using namespace keel::test;

TEST_CASE("1.1, VER-16: an unreachable or failing server keeps its remembered era") {
    client_options o;
    o.eras = std::make_shared<era_memory>();
    o.eras->remember("script", false);
    client_under_test t(o);
    outcome_of_task& connecting = t.run(t.client->connect());
    t.expect("initialize");
    t.wire().eof();
    t.advance(3s);
    CHECK(connecting.kind == error_kind::closed);
    CHECK(o.eras->is_modern("script") == false);
    CHECK(t.connector->wires.size() == 1);
    CHECK(t.silent());
}

TEST_CASE("1.1: in modern mode, the server's reason for a rejection is reported") {
    client_options o;
    o.mode = protocol_mode::modern;
    client_under_test t(o);
    outcome_of_task& connecting = t.run(t.client->connect());
    t.refuse(t.expect("server/discover"), error_code::internal, "the licence has run out");
    CHECK(connecting.kind == error_kind::unavailable);
    CHECK(connecting.code == error_code::internal);
    CHECK(connecting.text.find("the licence has run out") != std::string::npos);
}

TEST_CASE("VER-16: child processes that differ in any setting are different servers") {
    std::vector<child_process> all(8);
    for (child_process& each : all) each.command = "serve";
    all[1].arguments = {"a b"};
    all[2].arguments = {"a", "b"};
    all[3].directory = "/somewhere";
    all[4].environment = {{"WHO", "me"}};
    all[5].environment = {{"WHO", "you"}};
    all[6].environment = {{"WHOm", "e"}};
    all[7].inherit_environment = true;
    std::set<std::string> names;
    for (const child_process& each : all) {
        std::string name = server_target(each).identity();
        CHECK(name == server_target(each).identity());
        CHECK(name.find("you") == std::string::npos);  // may be a password
        names.insert(std::move(name));
    }
    CHECK(names.size() == all.size());
}

TEST_CASE("VER-16: two servers of one name in this process are different servers") {
    implementation named;
    named.name = "twin";
    named.version = "1";
    server one(named);
    server other(named);
    CHECK(server_target(one).identity() != server_target(other).identity());
    CHECK(server_target(one).identity() == server_target(one).identity());
}

TEST_CASE("1.1, VER-16: clients of one origin share the detected era, unless configured otherwise") {
    auto first_request = [](std::shared_ptr<era_memory> eras, bool legacy) {
        auto loop = std::make_shared<manual_loop>();
        auto connector = std::make_shared<web_connector>();
        connector->origin = "http://shared.example:1";
        client_options options;
        options.eras = std::move(eras);
        std::optional<keel::client> c;
        c.emplace(loop, server_target(std::shared_ptr<client_side::connector>(connector)), options);
        detail::activity line(*loop);
        bool ended = false;
        loop->post([&] { detail::start(line, c->connect(), [&](detail::outcome<void>) { ended = true; }); });
        loop->run();
        std::string shown = connector->requests->last().shown();
        if (legacy) {
            seen_request& asked = connector->requests->last();
            connector->requests->reply(
                asked, 400, "application/json",
                R"({"jsonrpc":"2.0","id":)" + asked.id() + R"(,"error":{"code":-32601,"message":"no such method"}})");
            loop->run();
            seen_request& hands = connector->requests->last();
            CHECK(hands.shown() == "POST initialize");
            connector->requests->answer(hands, R"({"protocolVersion":"2025-11-25","capabilities":{},
                "serverInfo":{"name":"s","version":"1"}})");
            loop->advance(1s);
            CHECK(ended);
        }
        detail::activity closing(*loop);
        bool closed = false;
        loop->post([&] { detail::start(closing, c->close(), [&](detail::outcome<void>) { closed = true; }); });
        loop->advance(60s);
        CHECK(closed);
        CHECK(ended);
        c.reset();
        loop->advance(1s);
        CHECK(loop->timers() == 0);
        return shown;
    };
    CHECK(first_request(nullptr, true) == "POST server/discover");
    CHECK(first_request(nullptr, false) == "POST initialize");
    CHECK(first_request(std::make_shared<era_memory>(), false) == "POST server/discover");
}
