// keel::http_server inside a program: its own threads, a caller's io_context, stopping and restarting. Real sockets.

#include <doctest/doctest.h>

#ifdef KEEL_HAVE_ASIO
#include <keel/asio.hpp>
#endif
#include <keel/http_server.hpp>
#include <keel/server.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>

namespace {

struct text_args {
    std::string text;
};
KEEL_DESCRIBE(text_args, text)

constexpr const char* meta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";

/// Sends one request on a new connection; returns the whole output.
std::string talk(const std::string& url, const std::string& request) {
    std::size_t colon = url.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string answer;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
        char piece[4096];
        for (ssize_t n = 0; (n = ::recv(fd, piece, sizeof piece, 0)) > 0;)
            answer.append(piece, static_cast<std::size_t>(n));
    }
    ::close(fd);
    return answer;
}

std::string get(const std::string& url, const std::string& path, const std::string& headers = {}) {
    return talk(url, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
}

std::string call(const std::string& url, const std::string& tool, const std::string& text,
                 const std::string& headers = {}) {
    std::string body = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
                       R"(","arguments":{"text":")" + text + R"("},)" + meta + "}}";
    return talk(url,
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                "Mcp-Method: tools/call\r\nMcp-Name: " +
                    tool + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void add_echo(keel::server& s) {
    s.add_tool("echo", "Says it again", [](text_args in) { return in.text; });
    s.add_tool("who", "Says who calls", [](keel::context& ctx, text_args) { return "you are " + ctx.principal(); });
}

}  // namespace

TEST_CASE("an HTTP server in the background serves until it is stopped, and another one after it") {
    keel::server s({.name = "embedded", .version = "1"});
    add_echo(s);
    for (unsigned threads : {1U, 3U}) {
        keel::http_options options;
        options.threads = threads;
        keel::http_server web(s, options);
        CHECK(web.url().empty());
        web.start("127.0.0.1:0");
        for (int i = 0; i < 10; ++i) CHECK(has(call(web.url(), "echo", "round " + std::to_string(i)), "round"));
        CHECK_THROWS_AS(web.start("127.0.0.1:0"), std::logic_error);
        web.stop();
        CHECK(call(web.url(), "echo", "late").empty());
        web.stop();  // idempotent
    }
    // The server can be stopped while HTTP is running, and serve again.
    keel::http_server web(s);
    web.start("127.0.0.1:0");
    s.stop();
    CHECK(call(web.url(), "echo", "late").empty());
    keel::http_server again(s);
    again.start("127.0.0.1:0");
    CHECK(has(call(again.url(), "echo", "again"), "again"));
}

TEST_CASE("two HTTP servers share one server, and one of them can be destroyed") {
    keel::server s({.name = "embedded", .version = "1"});
    add_echo(s);
    keel::http_server stays(s);
    stays.start("127.0.0.1:0");
    {
        keel::http_server goes(s);
        goes.start("0");
        CHECK(has(call(goes.url(), "echo", "first"), "first"));
    }
    CHECK(has(call(stays.url(), "echo", "second"), "second"));
}

TEST_CASE("an unusable address is reported, and start can be called again") {
    keel::server s({.name = "embedded", .version = "1"});
    keel::http_server first(s);
    first.start("127.0.0.1:0");
    std::string taken = first.url().substr(7, first.url().rfind('/') - 7);
    keel::http_server second(s);
    CHECK_THROWS_AS(second.start(taken), std::system_error);
    CHECK_THROWS_AS(second.start("nonsense"), std::invalid_argument);
    second.start("127.0.0.1:0");
    CHECK(has(get(second.url(), "/health"), "\"ok\""));
    CHECK_THROWS_AS(keel::http_server(s, {.path = "mcp"}), std::invalid_argument);
    CHECK_THROWS_AS(keel::http_server(s, {.tls_certificate = "a.pem"}), std::invalid_argument);
}

TEST_CASE("endpoint::http serves like http_server, and stops with the server") {
    keel::server s({.name = "embedded", .version = "1"});
    add_echo(s);
    for (unsigned threads : {1U, 3U}) {
        keel::http_options options;
        options.threads = threads;
        options.path = "/tools";
        s.start(keel::endpoint::http("127.0.0.1:0", options));
        std::string url = s.address();
        CHECK(url.starts_with("http://127.0.0.1:"));
        CHECK(url.ends_with("/tools"));
        CHECK(has(call(url, "echo", "wrong path"), "HTTP/1.1 404"));
        CHECK(has(get(url, "/health"), "\"ok\""));
        s.stop();
        CHECK(get(url, "/health").empty());
    }
    s.start(keel::endpoint::http("0"));
    CHECK(has(call(s.address(), "echo", "default path"), "default path"));
    SUBCASE("a second endpoint beside it") {
        std::string first = s.address();
        s.start(keel::endpoint::http("127.0.0.1:0"));
        CHECK(s.address() != first);
        CHECK(has(call(s.address(), "echo", "second"), "second"));
        CHECK(has(call(first, "echo", "first"), "first"));
    }
    SUBCASE("stopped with a callback") {
        std::promise<void> stopped;
        s.request_stop({}, [&] { stopped.set_value(); });
        stopped.get_future().get();
        CHECK(get(s.address(), "/health").empty());
    }
    SUBCASE("destroyed without stop") {}
}

TEST_CASE("server::start reports an invalid HTTP endpoint, and the server continues") {
    keel::server s({.name = "embedded", .version = "1"});
    add_echo(s);
    CHECK_THROWS_AS(s.start(keel::endpoint::http("nonsense")), std::invalid_argument);
    CHECK_THROWS_AS(s.start(keel::endpoint::http("127.0.0.1:0", {.path = "mcp"})), std::invalid_argument);
    CHECK_THROWS_AS(s.start(keel::endpoint::http("0.0.0.0:0")), std::invalid_argument);  // without allow_hosts
    s.start(keel::endpoint::http("127.0.0.1:0"));
    CHECK_THROWS_AS(s.start(keel::endpoint::http(s.address().substr(7, s.address().rfind('/') - 7))),
                    std::system_error);
    CHECK(has(call(s.address(), "echo", "still here"), "still here"));
}

TEST_CASE("the route hook serves pages, and the identify hook authenticates requests") {
    keel::server s({.name = "embedded", .version = "1"});
    add_echo(s);
    keel::http_options options;
    options.threads = 1;
    options.route = [](const keel::http_request& r) -> std::optional<keel::http_answer> {
        if (r.path() == "/throws") throw 42;
        if (r.path() != "/mine") return std::nullopt;
        return keel::http_answer{
            .status = 201, .body = "mine " + std::string(r.query()), .headers = {{"X-Mine", "yes"}}};
    };
    options.identify = [](const keel::http_request& r) -> std::optional<std::string> {
        if (auto key = r.header("X-Key")) return std::string(*key);
        return std::nullopt;
    };
    keel::http_server web(s, options);
    web.start("127.0.0.1:0");
    std::string mine = get(web.url(), "/mine?a=b");
    CHECK(has(mine, "HTTP/1.1 201"));
    CHECK(has(mine, "X-Mine: yes\r\n"));
    CHECK(has(mine, "\r\n\r\nmine a=b"));
    CHECK(has(get(web.url(), "/other"), "HTTP/1.1 404"));
    CHECK(has(get(web.url(), "/throws"), "HTTP/1.1 500"));  // F11: no other effect
    CHECK(has(call(web.url(), "who", "", "x-key: ann\r\n"), "you are ann"));
    CHECK(has(call(web.url(), "who", ""), "HTTP/1.1 401"));
}

TEST_CASE("F6: a handler cannot wait for the server that runs it") {
    keel::server s({.name = "embedded", .version = "1"});
    keel::http_options options;
    options.threads = 1;
    keel::http_server web(s, options);
    keel::tool_options quick;
    quick.quick = true;
    s.add_tool(
        "stop", "Tries to stop",
        [&web](text_args) -> std::string {
            try {
                web.stop();
                return "stopped";
            } catch (const std::logic_error&) {
                web.request_stop();
                return "refused";
            }
        },
        quick);
    web.start("127.0.0.1:0");
    std::string answer = call(web.url(), "stop", "");
    CHECK((has(answer, "refused") || has(answer, "shutting down")));
    web.stop();  // allowed here
}

#ifdef KEEL_HAVE_ASIO
TEST_CASE("an HTTP server runs on the caller's io_context") {
    boost::asio::io_context io;
    keel::server s({.name = "embedded", .version = "1"});
    add_echo(s);
    keel::http_options options;
    options.threads = 1;
    auto web = std::make_unique<keel::http_server>(s, options);
    std::promise<std::string> started;
    auto guard = boost::asio::make_work_guard(io);
    auto loop = keel::loop_on(io);
    loop->post([&] {
        web->start("127.0.0.1:0", loop);
        started.set_value(web->url());
    });
    std::thread runner([&] { io.run(); });
    std::string url = started.get_future().get();
    CHECK(has(call(url, "echo", "over asio"), "over asio"));
    CHECK(has(get(url, "/health"), "\"ok\""));
    SUBCASE("stopped from another thread") { web->stop(); }
    SUBCASE("destroyed without stop") {}
    web.reset();
    s.stop();
    guard.reset();
    runner.join();
    CHECK(call(url, "echo", "late").empty());
}
#endif
