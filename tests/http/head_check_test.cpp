// Requests that are refused by their head, before their body arrives.

#include "http/http_connection.hpp"
#include "http/web.hpp"
#include "support/proof.hpp"

using namespace keel;
using namespace keel::test;
using namespace std::chrono_literals;

namespace {

/// The head of a POST whose body of a megabyte does not follow.
std::string head_of_post(std::string_view headers, std::string_view path = "/mcp") {
    return "POST " + std::string(path) + " HTTP/1.1\r\n" + std::string(headers) + "Content-Length: 1000000\r\n\r\n";
}

constexpr std::string_view host = "Host: 127.0.0.1\r\n";
constexpr std::string_view both_types = "Accept: application/json, text/event-stream\r\n";
constexpr std::string_view json_body = "Content-Type: application/json\r\n";

std::string well_formed(std::string_view more = "") {
    return std::string(host) + std::string(both_types) + std::string(json_body) + std::string(more);
}

/// Sends a head alone. Returns the status of the response, or 0 if there is none.
int status_of_head(web& w, std::string head) {
    web_client& c = w.connect();
    c.feed(std::move(head));
    w.run();
    std::string out = c.wire->output();
    if (out.empty()) return 0;
    REQUIRE(out.starts_with("HTTP/1.1 "));
    CHECK(out.find("\r\nConnection: close\r\n") != std::string::npos);
    return std::stoi(out.substr(9, 3));
}

}  // namespace

TEST_CASE("a request is refused by its head, before its body arrives") {
    web_settings how;
    how.http.identify = [](const http_request& r) -> std::optional<std::string> {
        if (r.header("Authorization") != "Bearer good") return std::nullopt;
        return "someone";
    };
    web w(how);
    const std::string good = "Authorization: Bearer good\r\n";
    struct sample {
        int status;
        std::string head;
    };
    const sample samples[] = {
        {421, head_of_post("Host: evil.example\r\n" + good + std::string(both_types) + std::string(json_body))},
        {403, head_of_post(well_formed("Origin: http://evil.example\r\n" + good))},
        {401, head_of_post(well_formed())},
        {401, head_of_post(well_formed("Authorization: Bearer bad\r\n"))},
        {405, "PUT /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + good + "Content-Length: 1000000\r\n\r\n"},
        {406, head_of_post(std::string(host) + good + "Accept: application/json\r\n" + std::string(json_body))},
        {415, head_of_post(std::string(host) + good + std::string(both_types) + "Content-Type: text/plain\r\n")},
        {415, head_of_post(well_formed(good + "Content-Encoding: gzip\r\n"))},
        {404, head_of_post(std::string(host), "/unknown")},
        {0, head_of_post(well_formed(good))},
        {0, head_of_post(well_formed(good + "Content-Encoding: identity\r\n"))},
    };
    for (const sample& each : samples) {
        CAPTURE(each.head);
        CHECK(status_of_head(w, each.head) == each.status);
    }
}

TEST_CASE("the body of a request that was refused by its head is discarded") {
    web_settings how;
    how.http.identify = [](const http_request&) { return std::nullopt; };
    web w(how);
    web_client& c = w.connect();
    c.feed(head_of_post(well_formed()) + std::string(10'000, ' '));
    w.run();
    CHECK(c.wire->output().starts_with("HTTP/1.1 401 "));
    for (int i = 0; i < 20; ++i) {
        c.feed(std::string(10'000, ' '));
        w.run();
    }
    CHECK(c.wire->output().find("HTTP/1.1", 1) == std::string::npos);    // one response
    CHECK(w.core->budget.used() == http::http_connection::base_memory);  // nothing of the body was kept
    w.advance(1s + w.tick());
    CHECK(c.wire->closed());
}

TEST_CASE("100 Continue is sent only after the head was accepted") {
    web_settings how;
    bool known = false;
    how.http.identify = [&](const http_request&) -> std::optional<std::string> {
        return known ? std::optional<std::string>("someone") : std::nullopt;
    };
    web w(how);
    CHECK(status_of_head(w, head_of_post(well_formed("Expect: 100-continue\r\n"))) == 401);
    known = true;
    web_client& c = w.connect();
    const std::string body = modern_call_line("1", "echo", R"({"at":"here"})");
    const std::string head =
        "POST /mcp HTTP/1.1\r\n" +
        well_formed(
            "Expect: 100-continue\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
            "Mcp-Name: echo\r\n") +
        "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    c.expect(head + body);
    c.feed(head);
    w.run();
    CHECK(c.wire->output() == "HTTP/1.1 100 Continue\r\n\r\n");
    c.feed(body);
    w.run();
    CHECK(c.wire->output().find("HTTP/1.1 200 OK\r\n") != std::string::npos);
    CHECK(c.wire->output().find("here") != std::string::npos);
}

TEST_CASE("identify is called once per request and sees no body; route sees the body") {
    web_settings how;
    std::size_t calls = 0;
    std::string seen_by_route;
    how.http.identify = [&](const http_request& r) -> std::optional<std::string> {
        ++calls;
        CHECK(r.body().empty());
        return "someone";
    };
    how.http.route = [&](const http_request& r) -> std::optional<http_answer> {
        seen_by_route = r.body();
        return http_answer{.body = "mine"};
    };
    web w(how);
    const std::string call = modern_call("1", "echo", R"({"at":"here"})");
    SUBCASE("the request arrives in one piece") {
        web_client& c = w.connect();
        c.send(call);
        CHECK(c.said() == "here");
        CHECK(calls == 1);
    }
    SUBCASE("the body arrives later") {
        web_client& c = w.connect();
        c.expect(call);
        const std::size_t end = call.find("\r\n\r\n") + 4;
        c.wire->feed(call.substr(0, end + 3));
        w.run();
        CHECK(calls == 1);
        c.wire->feed(call.substr(end + 3));
        w.run();
        CHECK(c.said() == "here");
        CHECK(calls == 1);
    }
    SUBCASE("a path of the application") {
        web_client& c = w.connect();
        c.feed("POST /own HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nab");
        w.run();
        c.feed("cde");
        w.run();
        CHECK(seen_by_route == "abcde");
        CHECK(c.wire->output().ends_with("mine"));
        CHECK(calls == 0);
    }
}

TEST_CASE("repeated headers that have one value are refused, and several Accept lines are one list") {
    web w;
    http_session s = w.open_session();
    for (std::string_view twice :
         {"Mcp-Session-Id: x\r\nMcp-Session-Id: x\r\n", "Authorization: a\r\nAuthorization: a\r\n",
          "Content-Type: application/json\r\n", "Last-Event-ID: 1-1\r\nLast-Event-ID: 1-1\r\n",
          "Origin: http://127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"}) {
        CAPTURE(std::string(twice));
        web_client& c = w.connect();
        c.send(http_post(request_line("1", "ping", "{}"), twice));
        CHECK(c.status() == 400);
        CHECK(c.said().find("duplicate") != std::string::npos);
    }
    web_client& versions = w.connect(s);
    versions.send(http_post(call_line("2", "echo"), s.headers() + "MCP-Protocol-Version: " + s.version + "\r\n"));
    CHECK(versions.status() == 400);
    CHECK(versions.said() == "error -32600 duplicate MCP-Protocol-Version header");
    web_client& c = w.connect(s);
    const std::string body = call_line("1", "echo", R"({"at":"here"})", "");
    c.send("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nAccept: text/event-stream\r\n" +
           std::string(json_body) + s.headers() + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    CHECK(c.said() == "here");
}

TEST_CASE("HTTP-02: Origin is checked although an earlier request on the connection had the same Host") {
    web w;
    web_client& c = w.connect();
    c.send(modern_call("1", "echo"));
    CHECK(c.status() == 200);
    const std::string body = modern_call_line("2", "echo");
    c.send(http_post(body, "Origin: http://evil.example\r\n"));
    CHECK(c.status() == 403);
    c.send(modern_call("3", "echo"));
    CHECK(c.status() == 200);
}

TEST_CASE("HTTP-02: Host is checked although an earlier request on the connection had an allowed one") {
    web w;
    web_client& c = w.connect();
    c.send(modern_call("1", "echo"));
    CHECK(c.status() == 200);
    std::string other = modern_call("2", "echo");
    other.replace(other.find("127.0.0.1"), 9, "127.0.0.2");
    for (int i = 0; i < 2; ++i) {  // a refused Host is not trusted either
        c.send(other);
        CHECK(c.status() == 421);
    }
}
