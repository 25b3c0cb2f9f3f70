// The response cache (2026-07-28) through the public API.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

json::value listed(std::string_view name, int ttl, std::string_view next = {}) {
    json::value r =
        json::parse(R"({"resultType":"complete","cacheScope":"private","tools":[{"inputSchema":{"type":"object"}}]})");
    json::value tool = json::parse(R"({"inputSchema":{"type":"object"}})");
    tool.set("name", name);
    r.set("tools", json::array({tool}));
    r.set("ttlMs", ttl);
    if (!next.empty()) r.set("nextCursor", next);
    return r;
}

json::value contents(std::string_view text, int ttl) {
    json::value r = json::parse(R"({"resultType":"complete","cacheScope":"public"})");
    json::value c = json::object({{"uri", "a:b"}});
    c.set("text", text);
    r.set("contents", json::array({c}));
    r.set("ttlMs", ttl);
    return r;
}

auto first_text = [](const std::vector<resource_contents>& all) { return *all.at(0).text; };

}  // namespace

TEST_CASE("CACHE-07: a result is reused until it expires, and requested again at its next use") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& first = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("a", 1000));
    CHECK(first.text == "a");
    t.advance(999ms);
    CHECK(t.run(t.client->list_tools(), joined_names).text == "a");
    CHECK(t.silent());
    t.advance(1ms);
    CHECK(t.silent());  // CACHE-08: no request before the next call
    outcome_of_task& third = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("b", 0));
    CHECK(third.text == "b");
    outcome_of_task& fourth = t.run(t.client->list_tools(), joined_names);
    json::value without = listed("c", 0);
    without.erase("ttlMs");
    t.answer(t.expect("tools/list"), without);
    CHECK(fourth.text == "c");
    outcome_of_task& fifth = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("d", -5));
    CHECK(fifth.text == "d");
    outcome_of_task& sixth = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("e", 0));
    CHECK(sixth.text == "e");
}

TEST_CASE("CACHE-08: an expired result causes no request by itself") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("a", 10));
    CHECK(o.done());
    t.advance(1h);
    CHECK(t.silent());
}

TEST_CASE("CACHE-03: a result is valid for its method and parameters only, and a caller can bypass the cache") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& one = t.run(t.client->read_resource("a:b"), first_text);
    t.answer(t.expect("resources/read"), contents("1", 100000));
    CHECK(one.text == "1");
    outcome_of_task& other = t.run(t.client->read_resource("a:c"), first_text);
    t.answer(t.expect("resources/read"), contents("2", 100000));
    CHECK(other.text == "2");
    CHECK(t.run(t.client->read_resource("a:b"), first_text).text == "1");
    CHECK(t.silent());
    call_options fresh;
    fresh.from_cache = false;
    outcome_of_task& anew = t.run(t.client->read_resource("a:b", fresh), first_text);
    t.answer(t.expect("resources/read"), contents("3", 100000));
    CHECK(anew.text == "3");
    CHECK(t.run(t.client->read_resource("a:b"), first_text).text == "3");
    outcome_of_task& pages = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("a", 100000, "n"));
    t.answer(t.expect("tools/list"), listed("b", 100000));
    CHECK(pages.text == "ab");
    CHECK(t.run(t.client->list_tools(), joined_names).text == "ab");
    CHECK(t.silent());
}

TEST_CASE("CACHE-03: requests with _meta entries of the caller bypass the cache") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& one = t.run(t.client->read_resource("a:b"), first_text);
    t.answer(t.expect("resources/read"), contents("1", 100000));
    CHECK(one.text == "1");
    call_options how;
    how.meta = json::object({{"com.example/language", "de"}});
    outcome_of_task& two = t.run(t.client->read_resource("a:b", how), first_text);
    t.answer(t.expect("resources/read"), contents("eins", 100000));
    CHECK(two.text == "eins");
    CHECK(t.run(t.client->read_resource("a:b"), first_text).text == "1");
    CHECK(t.silent());
}

TEST_CASE("CACHE-04: a read with input responses or state is not cached") {
    client_options options;
    options.roots.emplace();
    client_under_test t(options);
    t.connect(modern);
    for (const char* asked : {R"({"r":{"method":"roots/list"}})", ""}) {
        for (int i = 0; i < 2; ++i) {
            outcome_of_task& o = t.run(t.client->read_resource("a:b"), first_text);
            t.answer(t.expect("resources/read"), questions(asked, *asked ? "" : "state"));
            t.advance(1s);
            t.answer(t.expect("resources/read"), contents("1", 100000));
            CHECK(o.text == "1");
        }
    }
    // The same with request_once.
    for (int i = 0; i < 2; ++i) {
        round_answers with;
        with.state = "s";
        outcome_of_task& o = t.run(t.client->request_once("resources/read", json::object({{"uri", "a:b"}}), with),
                                   [](const request_round& r) { return std::string(r.result ? "result" : ""); });
        t.answer(t.expect("resources/read"), contents("1", 100000));
        CHECK(o.text == "result");
    }
    outcome_of_task& plain = t.run(t.client->read_resource("a:b"), first_text);
    t.answer(t.expect("resources/read"), contents("2", 100000));
    CHECK(plain.text == "2");
}

TEST_CASE("CACHE-05: a result is not shared between callers with different headers") {
    client_under_test t;
    t.connect(modern);
    for (const char* who : {"Bearer a", "Bearer b", ""}) {
        call_options how;
        if (*who) how.headers.emplace_back("Authorization", who);
        outcome_of_task& o = t.run(t.client->read_resource("a:b", how), first_text);
        t.answer(t.expect("resources/read"), contents(who, 100000));
        CHECK(o.text == who);
        CHECK(t.run(t.client->read_resource("a:b", how), first_text).text == who);
        CHECK(t.silent());
    }
}

TEST_CASE("CACHE-09: a notification invalidates the results it refers to, including one that is in transit") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& one = t.run(t.client->read_resource("a:b"), first_text);
    t.answer(t.expect("resources/read"), contents("1", 100000));
    CHECK(one.text == "1");
    t.notify("notifications/resources/updated", json::object({{"uri", "a:b"}}));
    outcome_of_task& two = t.run(t.client->read_resource("a:b"), first_text);
    json::value request = t.expect("resources/read");
    t.notify("notifications/resources/updated", json::object({{"uri", "a:b"}}));
    t.answer(request, contents("2", 100000));
    CHECK(two.text == "2");
    outcome_of_task& three = t.run(t.client->read_resource("a:b"), first_text);
    t.answer(t.expect("resources/read"), contents("3", 100000));
    CHECK(three.text == "3");
    outcome_of_task& list = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("a", 100000));
    CHECK(list.text == "a");
    t.notify("notifications/tools/list_changed");
    outcome_of_task& again = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("b", 100000));
    CHECK(again.text == "b");
    CHECK(t.run(t.client->read_resource("a:b"), first_text).text == "3");
}

TEST_CASE("CACHE-10: a rejected cursor drops the cached pages") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& one = t.run(t.client->list_tools(), joined_names);
    t.answer(t.expect("tools/list"), listed("a", 100000, "n"));
    t.answer(t.expect("tools/list"), listed("b", 10));
    CHECK(one.text == "ab");
    t.advance(10ms);
    outcome_of_task& two = t.run(t.client->list_tools(), joined_names);
    json::value second = t.expect("tools/list");
    CHECK(second["params"]["cursor"].if_string() == "n");
    t.refuse(second, -32602, "unknown cursor");
    json::value anew = t.expect("tools/list");
    CHECK(!anew["params"].contains("cursor"));
    t.answer(anew, listed("c", 0));
    CHECK(two.text == "c");
}

TEST_CASE("revisions before 2026-07-28 have no cache times: nothing is cached") {
    for (const std::string& revision : older_revisions) {
        client_under_test t;
        t.connect(revision);
        for (int i = 0; i < 2; ++i) {
            outcome_of_task& o = t.run(t.client->list_tools(), joined_names);
            t.answer(t.expect("tools/list"), listed("a", 100000));
            CHECK(o.text == "a");
        }
    }
}

TEST_CASE("CACHE-07: a result with invalid cache hints is delivered and not cached; the log has one line about it") {
    const std::vector<std::pair<const char*, const char*>> hints = {
        {"1.5", R"("public")"},    {"null", R"("public")"},      {"-5", R"("private")"},
        {R"("60000")", "null"},    {"9223372036854775808", "1"}, {"1e300", R"("public")"},
        {"true", R"("private")"},  {"60000", R"("shared")"},     {"60000", "null"},
        {"[60000]", R"("public")"}};
    for (const auto& [ttl, scope] : hints) {
        INFO(ttl << " " << scope);
        const std::string hint = R"("resultType":"complete","ttlMs":)" + std::string(ttl) + R"(,"cacheScope":)" + scope;
        client_under_test t;
        outcome_of_task& connected = t.run(t.client->connect());
        t.answer(t.expect("server/discover"), json::parse("{" + hint + R"(,"supportedVersions":["2026-07-28"],
            "capabilities":{"tools":{},"resources":{},"prompts":{}}})"));
        REQUIRE(connected.text == "done");
        CHECK(t.client->server().modern);
        spoke(modern);
        for (int i = 0; i < 2; ++i) {
            outcome_of_task& tools = t.run(t.client->list_tools(), count_of);
            t.answer(t.expect("tools/list"), json::parse("{" + hint + R"(,"tools":[]})"));
            CHECK(tools.text == "0");
            outcome_of_task& resources = t.run(t.client->list_resources(), count_of);
            t.answer(t.expect("resources/list"), json::parse("{" + hint + R"(,"resources":[]})"));
            CHECK(resources.text == "0");
            outcome_of_task& templates = t.run(t.client->list_resource_templates(), count_of);
            t.answer(t.expect("resources/templates/list"), json::parse("{" + hint + R"(,"resourceTemplates":[]})"));
            CHECK(templates.text == "0");
            outcome_of_task& prompts = t.run(t.client->list_prompts(), count_of);
            t.answer(t.expect("prompts/list"), json::parse("{" + hint + R"(,"prompts":[]})"));
            CHECK(prompts.text == "0");
            outcome_of_task& read = t.run(t.client->read_resource("a:b"), first_text);
            t.answer(t.expect("resources/read"),
                     json::parse("{" + hint + R"(,"contents":[{"uri":"a:b","text":"hello"}]})"));
            CHECK(read.text == "hello");
        }
        CHECK(t.log.size() == 1);
        CHECK(t.log.at(0) ==
              "info: a script: tools/list: result not cached: invalid ttlMs or cacheScope (further ones "
              "are not logged)");
    }
}
