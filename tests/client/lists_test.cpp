// Lists: all pages, single pages, and servers with invalid cursors.

#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

json::value page_of(const std::string& revision, std::string_view tool_name, const json::value& next = {}) {
    json::value tool = json::parse(R"({"inputSchema":{"type":"object"}})");
    tool.set("name", tool_name);
    json::value r = result_in(revision, "{}");
    r.set("tools", json::array({tool}));
    if (!next.is_null()) r.set("nextCursor", next);
    return r;
}

}  // namespace

TEST_CASE("PAG-01, PAG-02: cursors are sent back unchanged, and only a missing cursor ends the list") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        outcome_of_task& o = t.run(t.client->list_tools(), joined_names);
        json::value first = t.expect("tools/list");
        CHECK(!first["params"].contains("cursor"));
        t.answer(first, page_of(revision, "a", ""));
        std::string sofar = "";
        for (const char* cursor : {"{\"page\":2}", " ", "\"\\\n\x01", "0", "null", "\xE2\x80\xA8"}) {
            json::value next = t.expect("tools/list");
            CHECK(next["params"]["cursor"].if_string() == sofar);
            t.answer(next, page_of(revision, "b", cursor));
            sofar = cursor;
        }
        json::value last = t.expect("tools/list");
        CHECK(last["params"]["cursor"].if_string() == sofar);
        t.answer(last, page_of(revision, "c"));
        CHECK(o.text == "abbbbbbc");
    }
}

TEST_CASE("PAG-01, PAG-02: page by page, an empty cursor is valid, and pages may have any size") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        auto show = [](const page<resource>& p) {
            return std::to_string(p.items.size()) + (p.next ? "<" + *p.next + ">" : ".");
        };
        outcome_of_task& one = t.run(t.client->list_resources_page({}), show);
        t.answer(t.expect("resources/list"), result_in(revision, R"({"resources":[],"nextCursor":""})"));
        CHECK(one.text == "0<>");
        outcome_of_task& two = t.run(t.client->list_resources_page(""), show);
        json::value request = t.expect("resources/list");
        CHECK(request["params"]["cursor"].if_string() == "");
        t.answer(request, result_in(revision, R"({"resources":[{"uri":"a:b","name":"n"}]})"));
        CHECK(two.text == "1.");
    }
}

TEST_CASE("PAG-01: circular and endless pages end the list with an error") {
    for (const std::string& revision : every_revision) {
        client_options options;
        options.max_pages = 5;
        client_under_test t(options);
        t.connect(revision);
        outcome_of_task& round = t.run(t.client->list_tools(), joined_names);
        t.answer(t.expect("tools/list"), page_of(revision, "a", "x"));
        t.answer(t.expect("tools/list"), page_of(revision, "a", "y"));
        t.answer(t.expect("tools/list"), page_of(revision, "a", "x"));
        CHECK(round.kind == error_kind::bad_message);
        CHECK(t.silent());
        outcome_of_task& endless = t.run(t.client->list_tools(), joined_names);
        for (int i = 0; i < 5; ++i) t.answer(t.expect("tools/list"), page_of(revision, "a", std::to_string(i)));
        CHECK(endless.kind == error_kind::unavailable);
        CHECK(t.silent());
    }
}

TEST_CASE("CACHE-10, PAG-03: a rejected cursor restarts the list once") {
    for (const std::string& revision : every_revision) {
        client_under_test t;
        t.connect(revision);
        outcome_of_task& o = t.run(t.client->list_tools(), joined_names);
        t.answer(t.expect("tools/list"), page_of(revision, "old", "gone"));
        t.refuse(t.expect("tools/list"), -32602, "unknown cursor");
        json::value again = t.expect("tools/list");
        CHECK(!again["params"].contains("cursor"));
        t.answer(again, page_of(revision, "new"));
        CHECK(o.text == "new");
        outcome_of_task& twice = t.run(t.client->list_tools(), joined_names);
        t.answer(t.expect("tools/list"), page_of(revision, "old", "gone"));
        t.refuse(t.expect("tools/list"), -32602, "unknown cursor");
        t.answer(t.expect("tools/list"), page_of(revision, "old", "gone"));
        t.refuse(t.expect("tools/list"), -32602, "unknown cursor");
        CHECK(twice.kind == error_kind::rejected);
        CHECK(t.silent());
    }
}

TEST_CASE("icons and annotations in lists are passed on, and nothing is fetched") {
    for (const std::string& revision : revisions_from("2025-03-26")) {
        client_under_test t;
        t.connect(revision);
        std::string seen;
        outcome_of_task& o = t.run(t.client->list_tools(), [&](const std::vector<tool>& tools) {
            for (const icon& each : tools.at(0).icons) seen += each.source + " ";
            return std::to_string(tools.at(0).annotations->destructive == false);
        });
        t.answer(t.expect("tools/list"), result_in(revision, R"({"tools":[{"name":"x","inputSchema":{"type":"object"},
            "annotations":{"destructiveHint":false,"readOnlyHint":true},
            "icons":[{"src":"javascript:evil"},{"src":"https://evil.example/x.png","sizes":["48x48"]}]}]})"));
        CHECK(o.text == "1");
        CHECK(seen == "javascript:evil https://evil.example/x.png ");
        CHECK(t.silent());
        CHECK(t.connector->wires.size() == 1);
    }
}
