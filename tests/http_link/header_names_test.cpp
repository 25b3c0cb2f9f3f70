// The link over a pool with scripted connections: header names in any case.

#include "http_client/exchange.hpp"
#include "link_under_test.hpp"

#include <cctype>
#include <sstream>

using namespace keel;
using namespace keel::test;

namespace {

std::string in_capitals(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string in_small_letters(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

struct nobody final : client_side::link_user {
    void on_request(rpc::peer&, rpc::serial, std::string_view, const json::value*) override {}
    void on_notification(rpc::peer&, std::string_view, const json::value*) override {}
    void on_report(std::string_view text) override { reports.emplace_back(text); }
    void on_closed(std::string_view, std::size_t) override {}
    void on_session_lost() override {}
    std::vector<std::string> reports;
};

/// Writes header names as `spell` does, and sends two requests: for a plain response and for a stream.
void asks_a_server_that_spells(std::string (*spell)(std::string)) {
    exchange x;
    nobody user;
    http_client::http_link link(x.loop, std::move(x.pool), {});
    auto peer = link.open(x.loop, limits{}, user);
    link.speak(true, modern_version);
    auto ask = [&] {
        auto call = std::make_unique<asked>(*x.loop);
        detail::start(call->line, rpc::peer::ask(peer, nullptr, "tools/list", json::object({}), {}),
                      [made = call.get()](detail::outcome<json::value> what) { made->end(std::move(what)); });
        x.loop->run();
        return call;
    };
    auto header = [&](const char* name, std::string_view value) {
        return spell(name) + ": " + std::string(value) + "\r\n";
    };
    const std::string ok = "HTTP/1.1 200 OK\r\n";

    auto plain = ask();
    std::string body = R"({"jsonrpc":"2.0","id":1,"result":{"Case":"Kept"}})";
    x.feed(0, ok + header("Content-Type", "application/json") + header("Content-Length", std::to_string(body.size())) +
                  "\r\n" + body);
    CHECK(plain->outcome == R"({"Case":"Kept"})");

    auto streamed = ask();
    body = "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"n\":2}}\n\n";
    std::ostringstream size;
    size << std::hex << body.size();
    x.feed(0, ok + header("Content-Type", "text/event-stream") + header("Transfer-Encoding", "chunked") +
                  header("Connection", "close") + "\r\n" + size.str() + "\r\n" + body + "\r\n0\r\n\r\n");
    CHECK(streamed->outcome == R"({"n":2})");
    CHECK(x.wires.size() == 1);
    CHECK(x.wires[0]->closed());  // as its header requested
    CHECK(user.reports.empty());
    spoke(modern_version);
    peer->close();
    x.loop->advance(10s);
}

}  // namespace

TEST_CASE("HDR-06: response header names are case-insensitive") {
    for (auto* spell : {+[](std::string text) { return text; }, &in_small_letters, &in_capitals}) {
        asks_a_server_that_spells(spell);
    }
}

TEST_CASE("HDR-06: request headers are case-insensitive, and their values are sent unchanged") {
    link_settings_for_test how;
    how.options.headers = {{"X-Team", "Blue"}, {"X-Other", "Kept"}};
    link_under_test t(how);
    http_client::header_list extra = {{"x-TEAM", "bLUE"}, {"MCP-METHOD", "other"}, {"mcp-protocol-VERSION", "other"}};
    rpc::peer::call_options_with_progress options;
    options.attributes = &extra;
    auto call = t.ask("tools/list", "{}", options);
    CHECK(t.on->last().header("X-Team") == "bLUE");
    CHECK(t.on->last().header("X-Other") == "Kept");
    CHECK(t.on->last().header("Mcp-Method") == "tools/list");
    CHECK(t.on->last().header("MCP-Protocol-Version") == modern_version);
    t.on->answer(t.on->last());
    CHECK(call->outcome == "{}");
}
