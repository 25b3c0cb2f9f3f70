// Limits of a whole call: its time over pages, rounds and connecting, its memory; and lists that change meanwhile.

#include "lifecycle_slow_link.hpp"
#include "revisions.hpp"

using namespace keel;
using namespace keel::test;

namespace {

auto counted = [](const std::vector<tool>& all) { return std::to_string(all.size()); };

call_options in_all(duration total) {
    call_options how;
    how.total = total;
    return how;
}

}  // namespace

TEST_CASE("D4, D12: the total timeout of a call covers all pages of a list") {
    client_under_test t;
    t.connect("2025-11-25");
    outcome_of_task& o = t.run(t.client->list_tools(in_all(1s)), counted);
    for (int i = 0; i < 2; ++i) {
        json::value asked = t.expect("tools/list");
        t.advance(400ms);
        json::value page = json::object({{"tools", json::array()}});
        page.set("nextCursor", std::to_string(i));
        t.answer(asked, std::move(page));
    }
    t.expect("tools/list");
    CHECK_FALSE(o.done());
    t.advance(200ms);
    CHECK(o.text == "timed out: the test: tools/list: no answer within 1 s (call_options::total)");
    t.expect("notifications/cancelled");
}

TEST_CASE("D4: the total timeout of a call covers all rounds, without the time of the client's own handlers") {
    event answered;
    client_options options;
    options.on_form = [&](asked_by, form_question) -> task<form_answer> {
        co_await answered;
        co_return form_answer(elicit_action::decline);
    };
    client_under_test t(options);
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x", {}, in_all(1s)));
    json::value asked = t.expect("tools/call");
    t.advance(600ms);
    t.answer(asked, questions(R"({"a":{"method":"elicitation/create","params":{"mode":"form","message":"?",
        "requestedSchema":{"type":"object","properties":{}}}}})",
                              "s"));
    t.advance(1h);
    CHECK_FALSE(o.done());
    t.loop->post([&] { answered.set(); });
    t.loop->run();
    t.expect("tools/call");
    t.advance(399ms);
    CHECK_FALSE(o.done());
    t.advance(1ms);
    CHECK(o.kind == error_kind::timed_out);
    t.expect("notifications/cancelled");
}

TEST_CASE("D4: the total timeout of a call includes connecting") {
    client_options options;
    options.restart.attempts = 2;
    client_under_test t(options);
    auto slow = make_slow(t, options);
    t.connect("2025-11-25");
    t.wire().eof();
    t.loop->run();
    slow->slow_to_come = true;
    outcome_of_task& impatient = t.run(t.client->call_tool("x", {}, in_all(1s)));
    outcome_of_task& patient = t.run(t.client->call_tool("y", {}, in_all(10s)));
    t.advance(1s);
    CHECK(impatient.text == "timed out: the test: tools/call \"x\": no connection within 1 s (call_options::total)");
    CHECK_FALSE(patient.done());
    t.loop->post([&] { slow->come->set(); });
    t.loop->run();
    t.play_opening("2025-11-25");
    json::value asked = t.expect("tools/call");
    CHECK(asked["params"]["name"].if_string() == "y");
    t.advance(9s);
    CHECK(patient.kind == error_kind::timed_out);
    t.expect("notifications/cancelled");
}

TEST_CASE("J4: a list whose pages need too much memory is aborted") {
    client_under_test t;
    t.connect("2025-11-25");
    outcome_of_task& o = t.run(t.client->list_tools(), counted);
    // Small on the wire, large in memory.
    json::value numbers = json::array();
    for (int i = 0; i < 1'000'000; ++i) numbers.push_back(1);
    json::value schema = json::object({{"type", "object"}});
    schema.set("x", std::move(numbers));
    json::value tool = json::object({{"name", "x"}});
    tool.set("inputSchema", std::move(schema));
    json::value page = json::object();
    page.set("tools", json::array({tool}));
    int pages = 0;
    while (!o.done() && pages < 20) {
        page.set("nextCursor", std::to_string(pages++));
        t.answer(t.expect("tools/list"), page);
    }
    CHECK(o.kind == error_kind::unavailable);
    CHECK(o.text.find("request its pages one at a time") != std::string::npos);
    CHECK(pages > 1);
    CHECK(pages < 20);
    CHECK(t.silent());
}

TEST_CASE("TOOL-10: a list that changed in transit is returned, but not used to validate results") {
    client_under_test t;
    t.connect("2025-11-25");
    outcome_of_task& list = t.run(t.client->list_tools(), counted);
    json::value asked = t.expect("tools/list");
    t.notify("notifications/tools/list_changed");
    t.answer(asked, json::parse(R"({"tools":[{"name":"x","inputSchema":{"type":"object"},
        "outputSchema":{"type":"object","required":["old"]}}]})"));
    CHECK(list.text == "1");
    outcome_of_task& call = t.run(t.client->call_tool("x"));
    t.answer(t.expect("tools/call"), json::parse(R"({"content":[],"structuredContent":{"new":1}})"));
    CHECK_FALSE(call.failed);
}
