// http_server::handle: requests of the program's own HTTP server.

#include "http/mounted_connection.hpp"
#include "http/web.hpp"

#include <keel/http_mount.hpp>

#include <stdexcept>

using namespace keel;
using namespace keel::test;

namespace {

/// Records the response.
struct recorder final : mounted_response {
    int status = 0;
    http_headers headers;
    std::string body;
    std::string end;  // "end", "abort" or "" so far
    bool room = true;
    std::function<void()> on_part;

    void on_head(int s, const http_headers& h) override {
        CHECK(status == 0);
        status = s;
        headers = h;
    }
    bool on_body(std::string_view part) override {
        CHECK(status != 0);
        CHECK(end.empty());
        body += part;
        if (on_part) on_part();
        return room;
    }
    void on_end() override { end += "end"; }
    void on_abort() override { end += "abort"; }

    std::string header(std::string_view name) const {
        for (const auto& [key, value] : headers) {
            if (key == name) return value;
        }
        return "";
    }
};

/// A request in text form, as the program's HTTP server would parse it.
mounted_request parsed(const std::string& text) {
    mounted_request r;
    r.method = text.substr(0, text.find(' '));
    r.target = text.substr(r.method.size() + 1, text.find(' ', r.method.size() + 1) - r.method.size() - 1);
    std::size_t at = text.find("\r\n") + 2;
    for (std::size_t end = text.find("\r\n", at); end != at; end = text.find("\r\n", at)) {
        std::size_t colon = text.find(": ", at);
        r.headers.emplace_back(text.substr(at, colon - at), text.substr(colon + 2, end - colon - 2));
        at = end + 2;
    }
    r.body = text.substr(at + 2);
    return r;
}

struct mounted {
    std::shared_ptr<recorder> to = std::make_shared<recorder>();
    std::shared_ptr<mounted_call> call;

    mounted(web& w, const std::string& text, std::string_view from = {}) {
        mounted_request r = parsed(text);
        r.remote_address = from;
        call = w.core->handle(r, to);
        CHECK(to->status == 0);  // nothing is called before handle has returned
        w.run();
    }
};

}  // namespace

TEST_CASE("a mounted request is answered with status, headers and body, in both eras") {
    web w;
    mounted modern(w, modern_call("1", "echo", R"({"at":"hello"})"));
    CHECK(modern.to->status == 200);
    CHECK(modern.to->header("Content-Type") == "application/json");
    CHECK(modern.to->header("Content-Length") == std::to_string(modern.to->body.size()));
    CHECK(modern.to->header("Connection").empty());
    CHECK(modern.to->body.find(R"("text":"hello")") != std::string::npos);
    CHECK(modern.to->end == "end");

    mounted opened(w, http_post(initialize_body("2025-11-25")));
    CHECK(opened.to->status == 200);
    http_session s{opened.to->header("Mcp-Session-Id"), "2025-11-25"};
    REQUIRE(!s.id.empty());
    mounted ready(w, s.post(notification_line("notifications/initialized")));
    CHECK(ready.to->status == 202);
    CHECK(ready.to->end == "end");
    CHECK(mounted(w, s.call("1", "echo", R"({"at":"hello"})")).to->body.find("hello") != std::string::npos);
    CHECK(mounted(w, s.end()).to->status == 200);
    CHECK(mounted(w, s.call("2", "echo")).to->status == 404);
    CHECK(mounted(w, "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").to->body.find("ok") != std::string::npos);
    mounted head(w, "HEAD /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    CHECK(head.to->status == 200);
    CHECK(head.to->body.empty());
    CHECK(head.to->end == "end");
    CHECK(w.core->counters.connections == 0);
}

TEST_CASE("the body of a mounted stream arrives in parts, without chunk framing") {
    web w;
    mounted m(w, modern_call("1", "talk", R"({"at":"a"})", "7"));
    CHECK(m.to->status == 200);
    CHECK(m.to->header("Content-Type") == "text/event-stream");
    CHECK(m.to->header("Transfer-Encoding").empty());
    CHECK(m.to->body.find(R"("progress":1)") != std::string::npos);
    CHECK(m.to->end.empty());
    w.open("a");
    CHECK(m.to->body.find(R"("progress":2)") != std::string::npos);
    CHECK(m.to->body.find("\r\n") == std::string::npos);
    CHECK(m.to->body.ends_with("\n\n"));
    CHECK(m.to->end == "end");
}

TEST_CASE("HTTP-11 H6: a lost connection of a mounted request cancels a modern call, and not an older one") {
    web w;
    mounted modern(w, modern_call("1", "hold", R"({"at":"modern"})"));
    modern.call->disconnect();
    w.run();
    CHECK(w.at("modern").cancelled == 1);
    CHECK(modern.to->status == 0);
    CHECK(modern.to->end.empty());
    modern.call->disconnect();  // idempotent
    modern.call->resume();

    http_session s = w.open_session();
    mounted legacy(w, s.call("1", "hold", R"({"at":"legacy"})"));
    legacy.call->disconnect();
    w.run();
    CHECK(w.at("legacy").cancelled == 0);
    w.open("legacy");
    CHECK(legacy.to->end.empty());
    CHECK(w.core->counters.connections == 0);
}

TEST_CASE("a request whose client has left before it was read is not served") {
    web w;
    auto to = std::make_shared<recorder>();
    auto call = w.core->handle(parsed(modern_call("1", "hold", R"({"at":"a"})")), to);
    call->disconnect();
    w.run();
    CHECK(w.at("a").came == w.at("a").cancelled);
    CHECK(to->status == 0);
    CHECK(to->end.empty());
}

TEST_CASE("the response may disconnect while it is called") {
    web w;
    auto to = std::make_shared<recorder>();
    std::shared_ptr<mounted_call> call;
    to->on_part = [&] { call->disconnect(); };
    call = w.core->handle(parsed(modern_call("1", "talk", R"({"at":"a"})", "7")), to);
    std::weak_ptr<recorder> left = to;
    to = nullptr;  // Keel has the last reference
    w.run();
    CHECK(left.expired());
    CHECK(w.at("a").cancelled == 1);
}

TEST_CASE("a mounted response that is full gets nothing more until resume") {
    web w;
    SUBCASE("a stream") {
        auto to = std::make_shared<recorder>();
        to->room = false;
        auto call = w.core->handle(parsed(modern_call("1", "talk", R"({"at":"a"})", "7")), to);
        w.run();
        w.open("a");
        const std::string before = to->body;
        CHECK(before.find(R"("progress":2)") == std::string::npos);
        CHECK(to->end.empty());
        to->room = true;
        call->resume();
        w.run();
        CHECK(to->body.find("talked") != std::string::npos);
        CHECK(to->end == "end");
    }
    SUBCASE("the last part needs no resume") {
        auto to = std::make_shared<recorder>();
        to->room = false;
        w.core->handle(parsed(modern_call("1", "echo", R"({"at":"hello"})")), to);
        w.run();
        CHECK(to->body.find("hello") != std::string::npos);
        CHECK(to->end == "end");
    }
}

TEST_CASE("a mounted request cannot smuggle a second one, and is refused if a part of it is invalid") {
    mounted_request good;
    good.method = "POST";
    good.target = "/mcp";
    good.headers = {
        {"Host", "x"}, {"Transfer-Encoding", "chunked"}, {"content-length", "999"}, {"Connection", "keep-alive"}};
    good.body = "abc";
    CHECK(http::request_text(good) ==
          "POST /mcp HTTP/1.1\r\nConnection: close\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    for (auto break_it : std::vector<std::function<void(mounted_request&)>>{
             [](mounted_request& r) { r.method = "GET /x"; }, [](mounted_request& r) { r.target = "/a b"; },
             [](mounted_request& r) { r.target = "/a\r\nX: y"; }, [](mounted_request& r) { r.target = ""; },
             [](mounted_request& r) { r.headers.emplace_back("A: b", "c"); },
             [](mounted_request& r) { r.headers.emplace_back("A", "b\r\nContent-Length: 0"); }}) {
        mounted_request bad = good;
        break_it(bad);
        CHECK_FALSE(http::request_text(bad));
    }
    web w;
    auto to = std::make_shared<recorder>();
    good.target = "/a b";
    w.core->handle(good, to);
    w.run();
    CHECK(to->status == 400);
    CHECK(to->end == "end");
}

TEST_CASE("refused mounted requests: too large, wrong media type, shutting down") {
    web_settings how;
    how.http.limits.max_body = 1000;
    web w(how);
    mounted large(w, http_post(std::string(2000, 'x')));
    CHECK(large.to->status == 413);
    CHECK(large.to->end == "end");
    std::string text = http_post("{}");
    text.replace(text.find("application/json\r\nContent-Length"), 16, "text/plain");
    CHECK(mounted(w, text).to->status == 415);
    mounted held(w, modern_call("1", "hold", R"({"at":"a"})"));
    w.stop(std::chrono::minutes(1));
    CHECK(mounted(w, modern_call("2", "echo")).to->status == 503);
    w.open("a");
    CHECK(held.to->end == "end");
}

TEST_CASE("F8: mounted requests are counted for the client at remote_address") {
    web_settings how;
    how.http.limits.max_connections_per_client = 1;
    web w(how);
    mounted held(w, modern_call("1", "hold", R"({"at":"a"})"), "192.0.2.1");
    mounted second(w, modern_call("2", "echo"), "192.0.2.1");
    CHECK(second.to->status == 429);
    CHECK(second.to->header("Retry-After") == "5");
    CHECK(second.to->body.find("too many connections of this client") != std::string::npos);
    CHECK(second.to->end == "end");
    CHECK(w.core->counters.refused == 1);
    CHECK(w.core->counters.connections == 1);
    CHECK(mounted(w, modern_call("3", "echo"), "192.0.2.2").to->status == 200);
    CHECK(mounted(w, modern_call("4", "echo")).to->status == 200);  // an unknown address has no quota
    w.open("a");
    w.run();
    CHECK(held.to->end == "end");
    CHECK(mounted(w, modern_call("5", "echo"), "192.0.2.1").to->status == 200);
    CHECK(w.core->counters.connections == 0);
}

TEST_CASE("behind a trusted proxy, mounted requests are counted for the forwarded address") {
    web_settings how;
    how.http.limits.max_connections_per_client = 1;
    how.http.trusted_proxies = {"192.0.2.9"};
    web w(how);
    auto from = [](std::string_view client, std::string request) {
        return request.insert(request.find("\r\n") + 2, "X-Forwarded-For: " + std::string(client) + "\r\n");
    };
    mounted held(w, from("198.51.100.1", modern_call("1", "hold", R"({"at":"a"})")), "192.0.2.9");
    CHECK(mounted(w, from("198.51.100.1", modern_call("2", "echo")), "192.0.2.9").to->status == 429);
    CHECK(mounted(w, from("198.51.100.2", modern_call("3", "echo")), "192.0.2.9").to->status == 200);
    w.open("a");
}

TEST_CASE("mounted requests are refused while memory is short, and when max_connections is reached") {
    constexpr std::size_t mebibyte = 1024 * 1024;
    web_settings how;
    how.http.limits.max_buffered = 64 * mebibyte;
    how.http.limits.max_connections = 1;
    web w(how);
    w.core->budget.change(0, 56 * mebibyte);
    CHECK(mounted(w, modern_call("1", "echo")).to->status == 503);
    w.core->budget.change(56 * mebibyte, 0);
    mounted held(w, modern_call("2", "hold", R"({"at":"a"})"));
    CHECK(mounted(w, modern_call("3", "echo")).to->status == 503);
    CHECK(w.core->counters.refused == 2);
    w.open("a");
    w.run();
    CHECK(mounted(w, modern_call("4", "echo")).to->status == 200);
}

TEST_CASE("mounted requests are in the access log") {
    lines entries;
    web_settings how;
    how.http.access_log = [&](const access_entry& e) {
        entries.push_back(std::string(e.address) + " " + std::string(e.path) + " " + std::to_string(e.status) + " " +
                          std::string(e.method) + " " + std::string(e.tool));
    };
    web w(how);
    mounted(w, modern_call("1", "echo"), "192.0.2.1");
    CHECK(entries == lines{"192.0.2.1 /mcp 200 tools/call echo"});
    mounted held(w, modern_call("2", "hold", R"({"at":"a"})"), "192.0.2.1");
    held.call->disconnect();
    w.run();
    CHECK(entries.back() == "192.0.2.1 /mcp 0 tools/call hold");
    CHECK(entries.size() == 2);
    w.open("a");
}

TEST_CASE("http_server: handle needs start_mounted, which needs allow_hosts") {
    server s({.name = "x", .version = "1"});
    http_server without(s);
    CHECK_THROWS_AS(without.start_mounted(), std::invalid_argument);
    CHECK_THROWS_AS(without.handle({}, std::make_shared<recorder>()), std::logic_error);
    http_options o;
    o.allow_hosts = {"*"};
    o.threads = 2;
    http_server web(s, o);
    web.start_mounted();
    CHECK_THROWS_AS(web.handle({}, nullptr), std::invalid_argument);
    CHECK(web.url().empty());
    web.stop();
}
