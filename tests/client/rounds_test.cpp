// A call that needs several rounds (2026-07-28), from the first to the last.

#include "revisions.hpp"

#include <keel/async.hpp>

using namespace keel;
using namespace keel::test;

namespace {

constexpr const char* integer_form = R"({"method":"elicitation/create","params":{"mode":"form","message":"?",
    "requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}})";

std::string asking(std::string_view keys) {
    std::string all = "{";
    for (char key : keys) all += (all.size() > 1 ? ",\"" : "\"") + std::string(1, key) + "\":" + integer_form;
    return all + "}";
}

/// Forms wait until the test releases them.
struct desk {
    event open;
    int asked = 0;
    int answered = 0;
    std::vector<std::stop_token> tokens;

    client_options options() {
        client_options o;
        o.on_form = [this](asked_by who, form_question) -> task<form_answer> {
            int n = asked++;
            tokens.push_back(who.stop_token());
            co_await open;
            ++answered;
            co_return form_answer(json::object({{"n", n}}));
        };
        o.roots.emplace();
        return o;
    }
};

client_options with_roots() {
    client_options o;
    o.roots.emplace();
    return o;
}

}  // namespace

TEST_CASE(
    "MRTR-09, MRTR-12: all input requests of a round run concurrently, and the retry waits for the last "
    "answer, with a new id") {
    desk d;
    client_under_test t(d.options());
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x", json::object({{"a", 1}})));
    json::value first = t.expect("tools/call");
    t.answer(first, questions(asking("abc"), "s"));
    CHECK(d.asked == 3);
    CHECK(t.silent());
    CHECK(!o.done());
    d.open.set();
    t.loop->run();
    json::value second = t.expect("tools/call");
    CHECK(second["id"] != first["id"]);
    CHECK(second["params"]["name"] == first["params"]["name"]);
    CHECK(second["params"]["arguments"] == first["params"]["arguments"]);
    CHECK(
        json::to_string(second["params"]["inputResponses"]) ==
        R"({"a":{"action":"accept","content":{"n":0}},"b":{"action":"accept","content":{"n":1}},"c":{"action":"accept","content":{"n":2}}})");
    CHECK(second["params"]["requestState"].if_string() == "s");
    t.answer(second, text_result(modern, "ok"));
    CHECK(o.text == "ok");
    CHECK(t.silent());
}

TEST_CASE("MRTR-10, MRTR-11, BASE-19: the requestState is returned unchanged, and not at all if there was none") {
    for (const std::string& state :
         {std::string(" "), std::string("{\"a\":1}"), std::string("\"quoted\\"), std::string("a\0b", 3),
          std::string("\n\r\t\x01\x1f\x7f"), std::string("\xE2\x80\xA8\xE2\x80\xA9\xF0\x9F\x98\x80"),
          std::string("null"), std::string("1e400"), std::string(1 << 20, 'x')}) {
        client_under_test t(with_roots());
        t.connect(modern);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        json::value first = t.expect("tools/call");
        CHECK(!first["params"].contains("requestState"));
        json::value asked = questions(R"({"r":{"method":"roots/list"}})");
        asked.set("requestState", state);
        t.answer(first, asked);
        json::value second = t.expect("tools/call");
        CHECK(second["params"]["requestState"].if_string() == state);
        t.answer(second, questions(R"({"r":{"method":"roots/list"}})"));
        json::value third = t.expect("tools/call");
        CHECK(!third["params"].contains("requestState"));
        t.answer(third, text_result(modern, "ok"));
        CHECK(o.text == "ok");
    }
}

TEST_CASE("MRTR-10: an empty requestState is valid, and so is one written with escapes") {
    client_under_test t(with_roots());
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    std::string id = json::to_string(t.expect("tools/call")["id"]);
    t.send_text(
        R"({"jsonrpc":"2.0","id":)" + id +
        R"(,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":""}})");
    json::value second = t.expect("tools/call");
    CHECK(second["params"]["requestState"].if_string() == "");
    id = json::to_string(second["id"]);
    t.send_text(
        R"({"jsonrpc":"2.0","id":)" + id +
        R"(,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"\u00e9\/\ud83d\ude00"}})");
    json::value third = t.expect("tools/call");
    CHECK(third["params"]["requestState"].if_string() == "\xC3\xA9/\xF0\x9F\x98\x80");
    t.answer(third, text_result(modern, "ok"));
    CHECK(o.text == "ok");
}

TEST_CASE("MRTR-13: answers and state of one call are in no other request, nor in its own later rounds") {
    desk d;
    client_under_test t(d.options());
    t.connect(modern);
    outcome_of_task& one = t.run(t.client->call_tool("one"));
    outcome_of_task& two = t.run(t.client->call_tool("one"));
    json::value first = t.expect("tools/call");
    json::value other = t.expect("tools/call");
    t.answer(first, questions(asking("a"), "state of one"));
    outcome_of_task& meanwhile = t.run(t.client->read_resource("a:b"), count_of);
    json::value read = t.expect("resources/read");
    CHECK(!read["params"].contains("requestState"));
    CHECK(!read["params"].contains("inputResponses"));
    t.answer(read, result_in(modern, R"({"contents":[]})"));
    CHECK(meanwhile.done());
    t.answer(other, questions(R"({"r":{"method":"roots/list"}})", "state of two"));
    json::value of_two = t.expect("tools/call");
    CHECK(of_two["params"]["requestState"].if_string() == "state of two");
    CHECK(json::to_string(of_two["params"]["inputResponses"]) == R"({"r":{"roots":[]}})");
    d.open.set();
    t.loop->run();
    json::value of_one = t.expect("tools/call");
    CHECK(of_one["params"]["requestState"].if_string() == "state of one");
    CHECK(!of_one["params"]["inputResponses"].contains("r"));
    t.answer(of_one, questions(R"({"z":{"method":"roots/list"}})"));
    json::value later = t.expect("tools/call");
    CHECK(json::to_string(later["params"]["inputResponses"]) == R"({"z":{"roots":[]}})");
    t.answer(later, text_result(modern, "1"));
    t.answer(of_two, text_result(modern, "2"));
    CHECK(one.text == "1");
    CHECK(two.text == "2");
}

TEST_CASE("MRTR-09: prompts and reads have rounds as well, with their original parameters") {
    client_under_test t(with_roots());
    t.connect(modern);
    outcome_of_task& read = t.run(t.client->read_resource("a:b"), count_of);
    t.answer(t.expect("resources/read"), questions(R"({"r":{"method":"roots/list"}})"));
    json::value again = t.expect("resources/read");
    CHECK(again["params"]["uri"].if_string() == "a:b");
    CHECK(again["params"]["inputResponses"]["r"]["roots"].is_array());
    t.answer(again, result_in(modern, R"({"contents":[{"uri":"a:b","text":"x"}]})"));
    CHECK(read.text == "1");
    outcome_of_task& got =
        t.run(t.client->get_prompt("p", {{"k", "v"}}), [](const prompt_result& r) { return r.description; });
    t.answer(t.expect("prompts/get"), questions("", "later"));
    t.advance(1s);
    json::value prompt = t.expect("prompts/get");
    CHECK(prompt["params"]["arguments"]["k"].if_string() == "v");
    CHECK(prompt["params"]["requestState"].if_string() == "later");
    t.answer(prompt, result_in(modern, R"({"messages":[],"description":"d"})"));
    CHECK(got.text == "d");
}

TEST_CASE("MRTR-10: a result with only a requestState is retried after a delay, each time with the newest state") {
    client_under_test t;
    t.connect(modern);
    outcome_of_task& o = t.run(t.client->call_tool("x"));
    json::value call = t.expect("tools/call");
    duration longest{};
    for (int round = 0; round < 5; ++round) {
        t.answer(call, questions("", "s" + std::to_string(round)));
        CHECK(t.silent());  // not immediately
        time_point before = t.loop->now();
        t.advance(t.loop->next_timer() - before);
        for (int tries = 0; t.silent() && tries < 10; ++tries) t.advance(t.loop->next_timer() - t.loop->now());
        duration waited = t.loop->now() - before;
        CHECK(waited >= 50ms);
        CHECK(waited <= 250ms);
        CHECK(waited >= longest);
        longest = waited;
        call = t.expect("tools/call");
        CHECK(call["params"]["requestState"].if_string() == "s" + std::to_string(round));
        CHECK(!call["params"].contains("inputResponses"));
    }
    t.answer(call, text_result(modern, "ok"));
    CHECK(o.text == "ok");
}

TEST_CASE("MRTR-08: endless rounds of input requests end with an error") {
    for (unsigned most : {1u, 3u, 10u}) {
        client_options options = with_roots();
        options.max_rounds = most;
        client_under_test t(options);
        t.connect(modern);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        for (unsigned round = 0; round < most; ++round) {
            CHECK(!o.done());
            t.answer(t.expect("tools/call"), questions(R"({"r":{"method":"roots/list"}})"));
        }
        CHECK(o.kind == error_kind::unavailable);
        CHECK(t.silent());
    }
}

TEST_CASE("MRTR-03: invalid or unreadable input requests are a bad message") {
    for (const char* result :
         {R"({"resultType":"input_required"})", R"({"resultType":"input_required","inputRequests":{}})",
          R"({"resultType":"input_required","inputRequests":[]})",
          R"({"resultType":"input_required","requestState":7})",
          R"({"resultType":"input_required","inputRequests":{"r":{"params":{}}}})",
          R"({"resultType":"input_required","inputRequests":{"r":7}})"}) {
        client_under_test t(with_roots());
        t.connect(modern);
        outcome_of_task& o = t.run(t.client->call_tool("x"));
        t.answer(t.expect("tools/call"), json::parse(result));
        INFO(result);
        CHECK_MESSAGE(o.kind == error_kind::bad_message, o.text);
        CHECK(t.silent());
    }
}
