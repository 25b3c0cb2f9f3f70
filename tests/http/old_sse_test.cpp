// The HTTP+SSE transport of 2024-11-05, in memory. tests/drive/test_http_old_sse.py has the rest.

#include "http/web.hpp"

using namespace keel;
using namespace keel::test;

TEST_CASE("HTTP+SSE: a GET opens a session, and answers to POSTs arrive on its stream") {
    web_settings how;
    how.http.old_sse = true;
    web w(how);
    web_client& stream = w.connect();
    stream.send("GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n");
    REQUIRE(stream.status() == 200);
    REQUIRE(stream.last().events.size() == 1);
    CHECK(stream.last().events[0].event == "endpoint");
    const std::string where = stream.last().events[0].data;
    CHECK(w.sessions() == 1);
    web_client& c = w.connect(stream.talk);
    auto post = [&](std::string_view body) {
        std::string request = http_post(body);
        c.send(request.replace(request.find("/mcp"), 4, where));
        return c.status();
    };
    CHECK(post(initialize_body("2024-11-05")) == 202);
    CHECK(post(notification_line("notifications/initialized")) == 202);
    CHECK(post(call_line("1", "echo", R"({"at":"x"})")) == 202);
    CHECK(stream.said() == "x");
    stream.gone();
    CHECK(w.sessions() == 0);
}

TEST_CASE("HTTP+SSE: its paths exist only if it is enabled, and it does not affect other paths") {
    for (bool enabled : {false, true}) {
        CAPTURE(enabled);
        web_settings how;
        how.http.old_sse = enabled;
        web w(how);
        auto status = [&](std::string_view method, std::string_view path) {
            web_client& c = w.connect();
            c.send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
            return c.status();
        };
        CHECK(status("DELETE", "/sse") == (enabled ? 405 : 404));
        CHECK(status("DELETE", "/messages") == (enabled ? 405 : 404));
        CHECK(status("DELETE", "/unknown") == 404);
        CHECK(status("GET", "/unknown") == 404);
    }
}
