// Large messages: their memory is released before the answer is written, and is used for it. Whatever runs the handler, the answers are
// right, also those to messages that follow in the same read.

#include "line_client.hpp"

#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <map>
#include <stdexcept>

namespace json = keel::json;

namespace {

struct text_args {
    std::string text;
};
KEEL_DESCRIBE(text_args, text)

/// With escapes, which are decoded where they are.
std::string long_text(char c) {
    std::string text;
    while (text.size() < 150'000) text += std::string(40, c) + "\n\"é\t";
    return text;
}

std::string arguments_with(const std::string& text) { return json::to_string(json::object({{"text", text}})); }

std::string call_line(int id, const std::string& tool, const std::string& text) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" + tool +
           R"(","arguments":)" + arguments_with(text) + "}}";
}

struct echo_server {
    keel::server s{{.name = "test", .version = "1"}};
    std::string path = fresh_socket_path();

    echo_server() {
        s.add_tool("quick", "", [](text_args in) { return std::move(in.text); }, {.quick = true});
        s.add_tool("worker", "", [](text_args in) { return std::move(in.text); });
        s.add_tool("task", "", [](text_args in) -> keel::task<std::string> { co_return std::move(in.text); });
        s.add_tool("context", "", [](keel::context&, text_args in) { return in.text; }, {.quick = true});
        s.add_tool("json", "", [](json::value in) { return in; }, {.quick = true});
        s.add_tool("fails", "", [](text_args) -> std::string { throw std::runtime_error("no"); }, {.quick = true});
        s.add_tool("invalid", "", [](text_args) { return std::string("\xff"); }, {.quick = true});
    }
    void start() { s.start(keel::endpoint::unix_socket(path)); }
};

}  // namespace

TEST_CASE("large texts come back unchanged from every kind of handler, with other messages behind them") {
    echo_server server;
    server.start();
    line_client c(server.path);
    c.open_session();
    const std::string a = long_text('a');
    const std::string b = long_text('b');
    for (const char* tool : {"quick", "worker", "task", "context"}) {
        CAPTURE(tool);
        c.send(call_line(1, tool, a) + "\n" + call_line(2, tool, "small") + "\n" + call_line(3, tool, b));
        std::map<std::int64_t, std::string> answers;
        for (int i = 0; i < 3; ++i) {
            json::value answer = c.receive();
            answers[answer["id"].as_int()] = text_of(answer);
        }
        CHECK((answers[1] == a));
        CHECK(answers[2] == "small");
        CHECK((answers[3] == b));
    }
    json::value structured = c.call(4, "json", arguments_with(a));
    CHECK((structured["result"]["structuredContent"]["text"] == json::value(a)));
    CHECK(c.call(5, "fails", arguments_with(a))["error"]["message"] == json::value("internal error"));
    CHECK(c.call(6, "invalid", arguments_with(a))["error"].is_object());
    CHECK((text_of(c.call(7, "quick", arguments_with(b))) == b));
}

TEST_CASE("the large requests of a batch share a text, which stays until all are handled") {
    echo_server server;
    server.start();
    line_client c(server.path);
    c.open_session("2025-03-26");
    const std::string a = long_text('a');
    const std::string b = long_text('b');
    json::value answers =
        c.ask("[" + call_line(1, "quick", a) + "," + call_line(2, "context", b) + "," + call_line(3, "quick", a) + "]");
    REQUIRE(answers.size() == 3);
    for (const json::value& each : answers.items()) {
        CHECK((text_of(each) == (each["id"].as_int() == 2 ? b : a)));
    }
}

TEST_CASE("middleware has the parameters of a large message after its handler has returned") {
    echo_server server;
    std::string seen;
    server.s.use([&](keel::request_call& call, keel::next_handler next) -> keel::task<json::value> {
        json::value result = co_await next(call);
        seen = call.params["arguments"]["text"].if_string().value_or("");
        co_return result;
    });
    server.start();
    line_client c(server.path);
    c.open_session();
    const std::string a = long_text('a');
    CHECK((text_of(c.call(1, "quick", arguments_with(a))) == a));
    CHECK((seen == a));
}
