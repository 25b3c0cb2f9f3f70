// Only the client that was asked can answer a question.

#include "line_client.hpp"

#include <keel/server.hpp>

namespace {

namespace json = keel::json;

struct place {
    std::string city;
};
KEEL_DESCRIBE(place, city)

keel::task<std::string> ask_where(keel::context& ctx) {
    auto answer = co_await ctx.elicit<place>("where", "Where to?");
    co_return answer ? answer->city : "nowhere";
}

void open(line_client& c, const char* version) {
    json::value answer =
        c.ask(std::string(R"({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":")") +
              version + R"(","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}})");
    REQUIRE(answer["result"]["protocolVersion"] == json::value(version));
    c.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
}

std::string accept(const json::value& id, const char* city) {
    return R"({"jsonrpc":"2.0","id":)" + json::to_string(id) + R"(,"result":{"action":"accept","content":{"city":")" +
           city + R"("}}})";
}

}  // namespace

TEST_CASE("ELI-12: only the client that was asked can answer, whatever id another client uses") {
    for (const char* version : {"2025-06-18", "2025-11-25"}) {
        CAPTURE(version);
        keel::server server({.name = "test", .version = "1"});
        server.add_tool("ask", "", &ask_where);
        const std::string path = fresh_socket_path();
        server.start(keel::endpoint::unix_socket(path));
        line_client ada(path), eve(path);
        open(ada, version);
        open(eve, version);
        ada.start_call(1, "ask");
        json::value question = ada.receive();
        REQUIRE(question["method"] == json::value("elicitation/create"));

        // Before the client was asked anything, then instead of its own answer.
        eve.send(accept(question["id"], "Elsewhere"));
        CHECK(eve.ask(R"({"jsonrpc":"2.0","id":2,"method":"ping"})")["id"] == json::value(2));
        eve.start_call(1, "ask");
        json::value other = eve.receive();
        REQUIRE(other["method"] == json::value("elicitation/create"));
        eve.send(accept(other["id"], "Bergen"));
        CHECK(text_of(eve.receive()) == "Bergen");

        ada.send(accept(question["id"], "Oslo"));
        CHECK(text_of(ada.receive()) == "Oslo");
    }
}
