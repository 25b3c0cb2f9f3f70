// The HTTP+SSE transport of 2024-11-05 beside Streamable HTTP.

#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;

namespace {

std::string message_to(const std::string& session, std::string_view body) {
    return "POST /messages?sessionId=" + session +
           " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace

TEST_CASE("a session belongs to the transport that opened it; the other one answers 404") {
    web_settings how;
    how.http.old_sse = true;
    web w(how);
    auto old_talk = std::make_shared<web_talk>();
    web_client& stream = w.connect(old_talk);
    web_client& messages = w.connect(old_talk);
    stream.send("GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    REQUIRE(stream.last().events.size() == 1);
    const std::string endpoint = stream.last().events[0].data;
    const std::string old_id = endpoint.substr(endpoint.find('=') + 1);
    const http_session as_streamable{old_id, "2025-11-25"};
    const http_session streamable = w.open_session();

    web_client& c = w.connect(streamable);
    // The session of the old transport over Streamable HTTP, before and after it is initialized.
    for (int round = 0; round < 2; ++round) {
        c.send(as_streamable.post(initialize_body("2025-11-25")));
        CHECK(c.status() == 404);
        c.send(as_streamable.call("1", "echo"));
        CHECK(c.status() == 404);
        c.send(as_streamable.get());
        CHECK(c.status() == 404);
        c.send(as_streamable.end());
        CHECK(c.status() == 404);
        if (round > 0) continue;
        messages.send(message_to(old_id, initialize_body("2024-11-05")));
        CHECK(messages.status() == 202);
    }
    messages.send(message_to(streamable.id, call_line("2", "echo")));
    CHECK(messages.status() == 404);
    // Both still work.
    messages.send(message_to(old_id, call_line("3", "echo", R"({"at":"old"})")));
    CHECK(messages.status() == 202);
    CHECK(in_short(json::parse(stream.last().messages().back())) == "old");
    c.send(streamable.call("4", "echo", R"({"at":"new"})"));
    CHECK(c.said() == "new");
    stream.gone();
}
