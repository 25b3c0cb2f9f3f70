// Invalid input to a client (docs/rules/lifecycle.md, E, third column). A client never replies to input that it cannot
// parse.

#include "client/lifecycle_messages.hpp"

using namespace keel;
using namespace keel::test;

namespace {

/// Feeds invalid input while a call waits, then checks that nothing was written and that the connection still works.
struct with_bad_input {
    explicit with_bad_input(const char* version, client_options options = {}) : t(std::move(options)) {
        t.connect(version);
        call = &t.run(t.client->call_tool("x"));
        request = t.expect("tools/call");
        before = t.log.size();
    }
    void check_unmoved() {
        CHECK(t.silent());
        CHECK(t.client->connected());
        CHECK(!call->done());
        t.answer(request, text_result("fine"));
        CHECK(call->text == "fine");
        outcome_of_task& next = t.run(t.client->call_tool("y"));
        t.answer(t.expect("tools/call"), text_result("also"));
        CHECK(next.text == "also");
    }

    client_under_test t;
    outcome_of_task* call = nullptr;
    json::value request;
    std::size_t before = 0;
};

}  // namespace

TEST_CASE("E0, E1: input that is not JSON is skipped with a diagnostic and gets no reply") {
    std::string deep(100000, '[');
    for (const char* version : both_eras) {
        for (const std::string& line :
             {std::string("{oops"), std::string("}"), std::string("{\"jsonrpc\":\"2.0\",\"id\":1,"),
              std::string("\xff\xfe"), std::string("{\"jsonrpc\":\"2.0\",\"method\":\"\xc3\x28\"}"), deep}) {
            with_bad_input b(version);
            b.t.send_text(line);
            CHECK(b.t.log.size() > b.before);
            b.check_unmoved();
        }
    }
}

TEST_CASE("E2: empty lines, blanks, a carriage return and a byte order mark are ignored") {
    for (const char* version : both_eras) {
        with_bad_input b(version);
        for (const char* line : {"", " ", "\t ", "\r"}) b.t.send_text(line);
        CHECK(b.t.log.size() == b.before);
        b.t.send_text(json::to_string(response(b.request, text_result("fine"))) + "\r");
        CHECK(b.call->text == "fine");
    }
    std::vector<std::string> heard;
    client_options options;
    options.on_notification = [&](std::string_view method, const json::value&) { heard.emplace_back(method); };
    client_under_test t(options);
    outcome_of_task& o = t.run(t.client->connect());
    t.wire().feed("\xef\xbb\xbf" + line_of("x/first", {}));
    t.loop->run();
    CHECK(heard == std::vector<std::string>{"x/first"});
    t.play_opening("2025-11-25");
    CHECK(o.text == "done");
}

TEST_CASE("E3: a message above the size limit is skipped; if it was the response to a call, that call fails") {
    for (const char* version : both_eras) {
        client_options options;
        options.limits.max_message = 10000;
        with_bad_input b(version, options);
        b.t.send_text(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"x":")" + std::string(20000, 'x') +
                      "\"}}");
        CHECK(b.t.log.size() > b.before);
        b.check_unmoved();
        outcome_of_task& big = b.t.run(b.t.client->call_tool("big"));
        outcome_of_task& small = b.t.run(b.t.client->call_tool("small"));
        json::value first = b.t.expect("tools/call");
        json::value second = b.t.expect("tools/call");
        b.t.send_text(R"({"jsonrpc":"2.0","id":)" + json::to_string(first["id"]) + R"(,"result":{"x":")" +
                      std::string(20000, 'x') + "\"}}");
        CHECK(big.kind == error_kind::bad_message);
        CHECK(!small.done());
        b.t.answer(second, text_result("small"));
        CHECK(small.text == "small");
        CHECK(b.t.silent());
    }
}

TEST_CASE("E4, E5: input that is not an object is skipped; arrays too, if the revision has no batches") {
    for (const char* version : {"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        for (const char* line :
             {"7", "\"x\"", "null", "true", "[]", "[1,2]", R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])"}) {
            with_bad_input b(version);
            b.t.send_text(line);
            b.check_unmoved();
        }
        with_bad_input b(version);
        b.t.send_text("[" + json::to_string(response(b.request, text_result("in an array"))) + "]");
        b.check_unmoved();
    }
}

TEST_CASE(
    "E5, BASE-08: under 2025-03-26 a batch of responses and notifications is processed, and invalid items in "
    "it are skipped") {
    std::vector<std::string> heard;
    client_options options;
    options.on_notification = [&](std::string_view method, const json::value&) { heard.emplace_back(method); };
    with_bad_input b("2025-03-26", options);
    b.t.send_text("[" + json::to_string(response(b.request, text_result("in an array"))) +
                  R"(,{"jsonrpc":"2.0","method":"x/y"},7])");
    CHECK(b.call->text == "in an array");
    CHECK(heard == std::vector<std::string>{"x/y"});
    CHECK(b.t.silent());
}

TEST_CASE("E6, E7, A6: invalid messages and invalid ids are skipped") {
    for (const char* version : both_eras) {
        for (const char* line :
             {R"({})", R"({"id":1,"method":"ping"})", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
              R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":""})",
              R"({"jsonrpc":"2.0","id":1,"method":7})", R"({"jsonrpc":"2.0","id":"z","method":"ping","result":{}})",
              R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","id":true,"method":"ping"})",
              R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", R"({"jsonrpc":"2.0","id":[],"method":"ping"})",
              R"({"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"})",
              R"({"jsonrpc":"2.0","id":null,"result":{}})", R"({"jsonrpc":"2.0","id":{},"result":{}})"}) {
            INFO(line);
            with_bad_input b(version);
            b.t.send_text(line);
            b.check_unmoved();
        }
    }
}

TEST_CASE("E8, E10: an older server that sends an unknown or invalid request gets an error") {
    client_options options;
    options.on_form = [](form_question) -> task<form_answer> { co_return json::object(); };
    options.roots.emplace();
    struct sample {
        const char* method;
        const char* params;
        int code;
    };
    for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        bool elicits = std::string_view(version) >= "2025-06-18";
        for (sample s :
             {sample{"x/y", "{}", -32601}, sample{"tools/list", "{}", -32601},
              sample{"sampling/createMessage", "{}", -32601}, sample{"elicitation/create", "[]", -32602},
              sample{"elicitation/create", "7", -32602}, sample{"elicitation/create", "{}", elicits ? -32602 : -32601},
              sample{"elicitation/create", R"({"message":7,"requestedSchema":{}})", elicits ? -32602 : -32601},
              sample{"roots/list", "[]", -32602}}) {
            INFO(version << " " << s.method << " " << s.params);
            with_bad_input b(version, options);
            b.t.send_text(R"({"jsonrpc":"2.0","id":"q","method":")" + std::string(s.method) + R"(","params":)" +
                          s.params + "}");
            json::value m = b.t.next();
            CHECK(m["id"].if_string() == "q");
            CHECK(m["error"]["code"].if_int() == s.code);
            b.check_unmoved();
        }
    }
}

TEST_CASE("E9, A11: unknown and malformed notifications are ignored") {
    for (const char* version : both_eras) {
        with_bad_input b(version);
        for (const char* members :
             {R"("x/y")", R"("x/y","params":[])", R"("x/y","params":7)",
              R"("notifications/message","params":{"level":7})", R"("notifications/resources/updated","params":{})",
              R"("notifications/progress")", R"("notifications/cancelled","params":[1])",
              R"("notifications/elicitation/complete","params":{})",
              R"("notifications/subscriptions/acknowledged","params":{"_meta":7})", R"("ping")"}) {
            b.t.send_text(R"({"jsonrpc":"2.0","method":)" + std::string(members) + "}");
        }
        b.check_unmoved();
    }
}

TEST_CASE("E8, E10, E13, BASE-17: requests of a modern server are ignored with a diagnostic") {
    client_options options;
    bool asked = false;
    options.on_form = [&](form_question) -> task<form_answer> {
        asked = true;
        co_return json::object();
    };
    for (const char* line :
         {R"({"jsonrpc":"2.0","id":"q","method":"ping"})", R"({"jsonrpc":"2.0","id":"q","method":"x/y"})",
          R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":[]})",
          R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?",
                                "requestedSchema":{"type":"object","properties":{}}}})"}) {
        with_bad_input b("2026-07-28", options);
        std::string one_line(line);
        std::erase(one_line, '\n');
        b.t.send_text(one_line);
        CHECK(b.t.log.size() > b.before);
        CHECK(!asked);
        b.check_unmoved();
    }
}

TEST_CASE("E0, J6: ten thousand invalid lines get no reply, and logging is rate-limited") {
    for (const char* version : both_eras) {
        with_bad_input b(version);
        std::string line = "{\"\x01\x1b[31m" + std::string(5000, 'x');
        for (int i = 0; i < 10000; ++i) b.t.wire().feed(line + "\n");
        b.t.loop->run();
        CHECK(b.t.log.size() - b.before < 1000);
        for (std::size_t i = b.before; i < b.t.log.size(); ++i) {
            CHECK(b.t.log[i].size() < 2000);
            CHECK(b.t.log[i].find('\x1b') == std::string::npos);
        }
        b.check_unmoved();
    }
}
