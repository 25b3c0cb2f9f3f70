// Sampling requests of a server.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

json::value question(std::string_view more = {}) {
    return json::parse(R"({"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":50)" +
                       std::string(more) + "}");
}

client_options answering(std::function<sampling_result(const sampling_request&)> f, bool with_tools = false) {
    client_options options;
    options.sampling_with_tools = with_tools;
    options.on_sampling = [f](sampling_request r) -> task<sampling_result> { co_return f(r); };
    return options;
}

sampling_result hello(const sampling_request&) { return sampling_result(content("hello"), "model-1", "endTurn"); }

}  // namespace

TEST_CASE("SAM-01: sampling is declared if there is a handler, with tools if it supports them") {
    for (const std::string& revision : every_revision) {
        CHECK(declared_first({}, revision, "sampling") == "none");
        CHECK(declared_first(answering(hello), revision, "sampling") == "{}");
        std::string with_tools = declared_first(answering(hello, true), revision, "sampling");
        if (revision >= "2025-11-25") CHECK(with_tools == R"({"tools":{}})");
    }
}

TEST_CASE("SAM-01: a sampling request is answered in the format of each revision") {
    for (const std::string& revision : every_revision) {
        sampling_request seen;
        client_under_test t(answering([&](const sampling_request& r) {
            seen = r;
            return hello(r);
        }));
        t.connect(revision);
        json::value said = ask_client(
            t, revision, "sampling/createMessage",
            question(R"(,"systemPrompt":"be brief","temperature":0.5,"stopSequences":["."],"metadata":{"a":1})"));
        CHECK(said["result"]["role"].if_string() == "assistant");
        CHECK(said["result"]["content"]["text"].if_string() == "hello");
        CHECK(said["result"]["model"].if_string() == "model-1");
        CHECK(said["result"]["stopReason"].if_string() == "endTurn");
        CHECK(seen.max_tokens == 50);  // SAM-06: the handler must respect it
        CHECK(seen.system_prompt == "be brief");
        CHECK(seen.messages.at(0).content.at(0).text() == "hi");
    }
}

TEST_CASE("SAM-01, LIFE-04: an answer with several blocks, or with kinds unknown to a revision, is sent unchanged") {
    for (const std::string& revision : every_revision) {
        client_under_test t(answering([](const sampling_request&) {
            sampling_result r(content("one"), "m");
            r.content.push_back(content::audio("AAAA", "audio/wav"));
            return r;
        }));
        t.connect(revision);
        json::value said = ask_client(t, revision, "sampling/createMessage", question());
        INFO(revision << ": " << json::to_string(said));
        // client_check checks that it is valid; here, that dropped content is logged.
        const json::value& blocks = said["result"]["content"];
        CHECK(blocks.is_array() == (revision >= "2025-11-25"));
        std::string text = json::to_string(blocks);
        CHECK(text.find("one") != std::string::npos);
        CHECK(text.find("audio/wav") != std::string::npos);
    }
}

TEST_CASE("SAM-03: undeclared tools are an error") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        for (const char* more : {R"(,"tools":[])", R"(,"toolChoice":{"mode":"auto"})"}) {
            client_under_test t(answering(hello));
            t.connect(revision);
            json::value said = ask_client(t, revision, "sampling/createMessage", question(more));
            if (revision == modern) CHECK(said["failed"].is_string());
            else CHECK(said["error"]["code"].if_int() == -32602);
        }
    }
}

TEST_CASE(
    "SAM-04, SAM-05, SAM-09: conversations with mixed or missing tool results are rejected, valid ones are "
    "not") {
    constexpr const char* use =
        R"({"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]})";
    constexpr const char* answer = R"({"type":"tool_result","toolUseId":"1","content":[]})";
    auto conversation = [&](const std::string& last) {
        return json::parse(R"({"maxTokens":1,"tools":[{"name":"t","inputSchema":{"type":"object"}}],
            "messages":[{"role":"user","content":{"type":"text","text":"hi"}},)" +
                           std::string(use) + "," + last + "]}");
    };
    const std::string mixed = R"({"role":"user","content":[{"type":"text","text":"x"},)" + std::string(answer) + "]}";
    const std::string missing = R"({"role":"user","content":{"type":"text","text":"x"}})";
    const std::string good = R"({"role":"user","content":[)" + std::string(answer) + "]}";
    for (const std::string& revision : revisions_from("2025-11-25")) {
        for (const std::string& last : {mixed, missing}) {
            client_under_test t(answering(hello, true));
            t.connect(revision);
            json::value said = ask_client(t, revision, "sampling/createMessage", conversation(last));
            if (revision == modern) CHECK(said["failed"].is_string());
            else CHECK(said["error"]["code"].if_int() == -32602);
        }
        client_under_test t(answering(hello, true));
        t.connect(revision);
        CHECK(ask_client(t, revision, "sampling/createMessage", conversation(good)).contains("result"));
    }
}

TEST_CASE("hints reach the handler in order") {
    for (const std::string& revision : every_revision) {
        std::string seen;
        client_under_test t(answering([&](const sampling_request& r) {
            for (const auto& each : r.model_preferences->hints) seen += each.name + " ";
            return hello(r);
        }));
        t.connect(revision);
        ask_client(t, revision, "sampling/createMessage",
                   question(R"(,"modelPreferences":{"hints":[{"name":"b"},{},{"name":"a"},{"name":"b"}]})"));
        CHECK(seen == "b  a b ");
    }
}

TEST_CASE("SAM-09: a sampling request that the user declines is answered with -1") {
    for (const std::string& revision : older_revisions) {
        client_under_test t(answering([](const sampling_request&) -> sampling_result {
            throw keel::error(-1, "User rejected sampling request");
        }));
        t.connect(revision);
        json::value said = ask_client(t, revision, "sampling/createMessage", question());
        CHECK(json::to_string(said["error"]) == R"({"code":-1,"message":"User rejected sampling request"})");
    }
}

TEST_CASE("sampling requests are independent of each other") {
    std::vector<std::size_t> sizes;
    client_under_test t(answering([&](const sampling_request& r) {
        sizes.push_back(r.messages.size());
        return hello(r);
    }));
    t.connect(modern);
    for (int i = 0; i < 3; ++i) ask_client(t, modern, "sampling/createMessage", question());
    CHECK(sizes == std::vector<std::size_t>{1, 1, 1});
}

TEST_CASE("SAM-13: the _meta of tool uses and their results is kept in both directions") {
    for (const std::string& revision : revisions_from("2025-11-25")) {
        std::string seen;
        client_under_test t(answering(
            [&](const sampling_request& r) {
                for (const auto& m : r.messages) {
                    for (const content& c : m.content) seen += json::to_string(c.as_block()["_meta"]);
                }
                sampling_result result(r.messages.at(1).content.at(0), "m", "toolUse");
                return result;
            },
            true));
        t.connect(revision);
        json::value said = ask_client(t, revision, "sampling/createMessage", json::parse(R"({"maxTokens":1,
            "tools":[{"name":"t","inputSchema":{"type":"object"}}],"messages":[{"role":"user","content":{"type":"text","text":"hi"}},
            {"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{},"_meta":{"a.b/c":1}}},
            {"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[],"_meta":{"a.b/d":2}}}]})"));
        CHECK(seen == R"(null{"a.b/c":1}{"a.b/d":2})");
        CHECK(json::to_string(said["result"]["content"]["_meta"]) == R"({"a.b/c":1})");
    }
}
