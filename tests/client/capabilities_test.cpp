// Features that were not negotiated are not used (LIFE-04), neither by the client nor by the server.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("LIFE-04, ELI-01, SAM-01, ROOT-01: only declared features are answered") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision);
        for (const char* method : {"roots/list", "sampling/createMessage", "elicitation/create", "tasks/get"}) {
            t.ask(
                1, method,
                json::parse(
                    R"({"messages":[],"maxTokens":1,"message":"?","requestedSchema":{"type":"object","properties":{}}})"));
            json::value refusal = t.next();
            CHECK(refusal["error"]["code"].if_int() == -32601);
        }
    }
}

TEST_CASE("LIFE-04: revisions without elicitation reject it") {
    client_options options;
    options.on_form = [](form_question) -> task<form_answer> { co_return form_answer(elicit_action::decline); };
    for (const char* revision : {"2024-11-05", "2025-03-26"}) {
        client_under_test t(options);
        t.connect(revision);
        t.ask(1, "elicitation/create",
              json::parse(R"({"message":"?","requestedSchema":{"type":"object","properties":{}}})"));
        CHECK(t.next()["error"]["code"].if_int() == -32601);
    }
}

TEST_CASE("LIFE-04, ROOT-02: roots that were not declared in the handshake cause no notifications") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision);
        root r;
        r.uri = "file:///tmp";
        t.client->set_roots({r});
        t.loop->run();
        CHECK(t.silent());
        // The next handshake negotiates again.
        outcome_of_task& closed = t.run(t.client->close());
        t.advance(10s);
        CHECK(closed.done());
        outcome_of_task& again = t.run(t.client->connect());
        json::value first = t.expect("initialize");
        CHECK(first["params"]["capabilities"]["roots"]["listChanged"].if_bool() == true);
        json::value result = json::parse(R"({"capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
        result.set("protocolVersion", revision);
        t.answer(first, result);
        t.expect("notifications/initialized");
        CHECK(again.text == "done");
    }
}

TEST_CASE("LIFE-04: undeclared server features are not requested") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision, json::object());
        std::vector<outcome_of_task*> all;
        all.push_back(&t.run(t.client->list_tools(), count_of));
        all.push_back(&t.run(t.client->call_tool("x")));
        all.push_back(&t.run(t.client->list_resources(), count_of));
        all.push_back(&t.run(t.client->list_resource_templates(), count_of));
        all.push_back(&t.run(t.client->read_resource("a:b"), count_of));
        all.push_back(&t.run(t.client->list_prompts(), count_of));
        all.push_back(&t.run(t.client->get_prompt("p"), [](const prompt_result&) { return std::string("got"); }));
        auto got = [](const completion&) { return std::string("got"); };
        // 2024-11-05 has no capability for completion.
        if (revision != "2024-11-05") all.push_back(&t.run(t.client->complete_prompt("p", "a", ""), got));
        all.push_back(&t.run(t.client->set_log_level(log_level::info)));
        for (outcome_of_task* each : all) {
            CHECK_MESSAGE(each->kind == error_kind::unavailable, each->text);
            CHECK(each->text.find("the server does not support ") != std::string::npos);
            CHECK(each->code == error_code::method_not_found);
        }
        CHECK(t.silent());
        outcome_of_task& own = t.run(t.client->request("com.example/do"));
        t.answer(t.expect("com.example/do"), result_in(revision, "{}"));
        CHECK_FALSE(own.failed);
    }
}

TEST_CASE("LIFE-04: the log level and subscriptions are requested only from servers that support them") {
    for (const std::string& revision : every_revision) {
        client_options options;
        options.level = log_level::warning;
        client_under_test without(options);
        without.connect(revision, json::object({{"resources", json::object()}}));
        CHECK(without.silent());
        subscription_request wanted;
        wanted.tools = true;
        wanted.uris = {"a:b"};
        subscription kept;
        outcome_of_task& o = without.run(without.client->subscribe(wanted), [&](subscription& s) {
            kept = std::move(s);
            return std::string(kept.agreed().tools ? "tools" : "") + std::to_string(kept.agreed().uris.size());
        });
        CHECK(o.text == "0");
        CHECK(without.silent());
        kept.stop();
        without.loop->run();
    }
}
