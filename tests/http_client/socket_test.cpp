#include "http_client/exchange.hpp"
#include "http_client/local_server.hpp"
#include "support/real_loops.hpp"

#include <keel/client.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>

using namespace keel;
using keel::test::exchange;
using keel::test::heard;
using keel::test::local_server;

namespace {

template <class Loop>
struct world {
    Loop on;
    http_client::pool_options options;
    std::unique_ptr<http_client::transfer_pool> pool;

    void open(std::string url) {
        options.url = std::move(url);
        options.environment = [](const char*) { return std::optional<std::string>(); };
        pool = http_client::transfer_pool::create(on.shared, options);
    }
    void finish(heard& h) {
        on.until([&] { return !h.outcome.empty(); });
    }
    ~world() {
        pool.reset();
        on.poll();
    }
};

/// Answers "hi" to every request with an empty body.
void polite(local_server::visit& v) {
    while (v.input.find("\r\n\r\n") != std::string::npos) {
        v.input.erase(0, v.input.find("\r\n\r\n") + 4);
        v.say(exchange::ok("hi"));
    }
}

/// The descriptors of this process that are connected to that local port.
std::vector<int> sockets_to(std::uint16_t port) {
    std::vector<int> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(each.path().filename().string());
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sin_family != AF_INET) continue;
        if (ntohs(peer.sin_port) == port) found.push_back(fd);
    }
    return found;
}

int option_of(int socket, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    REQUIRE(::getsockopt(socket, level, name, &value, &size) == 0);
    return value;
}

}  // namespace

TEST_CASE_TEMPLATE("requests over a socket reuse one connection", Loop, KEEL_TEST_LOOPS) {
    world<Loop> w;
    local_server server(w.on.loop(), polite);
    w.open("http://127.0.0.1:" + server.port() + "/mcp");
    for (int i = 0; i != 10; ++i) {
        heard h;
        w.pool->start(exchange::get(), h);
        w.finish(h);
        CHECK(h.outcome == "end");
        CHECK(h.body == "hi");
    }
    CHECK(server.visits.size() == 1);
    CHECK(w.pool->count().opened == 1);
}

TEST_CASE("a host name is resolved") {
    world<test::on_epoll> w;
    local_server server(w.on.loop(), polite);
    w.open("http://localhost:" + server.port() + "/mcp");
    heard h;
    w.pool->start(exchange::get(), h);
    w.finish(h);
    CHECK(h.outcome == "end");
}

TEST_CASE("a refused connection is not_sent, with the reason") {
    world<test::on_epoll> w;
    std::string port;
    {
        local_server gone(w.on.loop(), polite);
        port = gone.port();
    }
    w.open("http://127.0.0.1:" + port + "/mcp");
    heard h;
    w.pool->start(exchange::get(), h);
    w.finish(h);
    CHECK(h.outcome == "not_sent");
    CHECK(h.why.find("refused") != std::string::npos);
}

TEST_CASE("after a server restart the idle connection is dropped, and the next request opens a new one") {
    world<test::on_epoll> w;
    local_server server(w.on.loop(), polite);
    w.open("http://127.0.0.1:" + server.port() + "/mcp");
    heard first;
    w.pool->start(exchange::get(), first);
    w.finish(first);
    server.visits[0]->close();
    w.on.until([&] { return w.pool->count().connections == 0; });
    heard second;
    w.pool->start(exchange::get(), second);
    w.finish(second);
    CHECK(second.outcome == "end");
    CHECK(server.visits.size() == 2);
}

TEST_CASE("an early rejection of a large request is received, though the server stops reading") {
    world<test::on_epoll> w;
    bool told = false;
    local_server server(w.on.loop(), [&](local_server::visit& v) {
        if (std::exchange(told, true)) return;
        v.say("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
        v.close();
    });
    w.open("http://127.0.0.1:" + server.port() + "/mcp");
    heard h;
    w.pool->start(exchange::post(std::string(64 << 20, 'x')), h);
    w.finish(h);
    CHECK(h.outcome == "end");
    CHECK(h.status == 413);
    CHECK(h.body == "big");
}

TEST_CASE("a large request and a large response, with pauses in between") {
    world<test::on_epoll> w;
    const std::size_t size = 8 << 20;
    local_server server(w.on.loop(), [&](local_server::visit& v) {
        const std::size_t head = v.input.find("\r\n\r\n");
        if (head == v.input.npos || v.input.size() < head + 4 + size) return;
        v.say(exchange::ok(v.input.substr(head + 4)));
        v.input.clear();
    });
    w.open("http://127.0.0.1:" + server.port() + "/mcp");
    std::string body(size, 'x');
    for (std::size_t i = 0; i < size; i += 4096) body[i] = static_cast<char>('a' + i / 4096 % 26);
    heard h;
    http_client::transfer_pool::id id = 0;
    h.at_body = [&] {
        if (h.pieces % 5 != 0) return;
        w.pool->pause(id, true);
        w.on.shared->post([&] { w.pool->pause(id, false); });
    };
    id = w.pool->start(exchange::post(body), h);
    w.finish(h);
    CHECK(h.outcome == "end");
    CHECK(h.body == body);
    CHECK(w.pool->count().idle == 1);
}

TEST_CASE("a cancelled transfer is visible to the server") {
    world<test::on_epoll> w;
    local_server server(w.on.loop(), [](local_server::visit& v) {
        v.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    });
    w.open("http://127.0.0.1:" + server.port() + "/mcp");
    heard h;
    auto id = w.pool->start(exchange::get(), h);
    w.on.until([&] { return h.body == "hi"; });
    w.pool->cancel(id);
    w.on.until([&] { return server.visits[0]->ended || server.visits[0]->broken; });
    CHECK(h.outcome.empty());
}

TEST_CASE_TEMPLATE("https connections are reused", Loop, KEEL_TEST_LOOPS) {
    test::scratch_folder folder;
    const tls::tls_files files = test::make_server_certificate(folder, "DNS:localhost");
    world<Loop> w;
    local_server server(w.on.loop(), polite, &files);
    w.options.ca_file = files.certificate_chain;
    w.open("https://localhost:" + server.port() + "/mcp");
    std::array<heard, 3> together;
    for (heard& each : together) w.pool->start(exchange::get(), each);
    for (heard& each : together) {
        w.finish(each);
        CHECK(each.outcome == "end");
        CHECK(each.why == "");
    }
    for (int i = 0; i != 5; ++i) {
        heard h;
        w.pool->start(exchange::get(), h);
        w.finish(h);
        CHECK(h.body == "hi");
    }
    // One that is free early may serve requests that still wait for theirs.
    CHECK(server.visits.size() <= 3);
    CHECK(w.pool->count().opened <= 3);
}

TEST_CASE("an untrusted https server is not_sent: the server has received no request") {
    test::scratch_folder folder;
    std::string host = "DNS:localhost";
    std::string reason;
    bool trusts = true;
    SUBCASE("another host") {
        host = "DNS:example.com";
        reason = "localhost";
    }
    SUBCASE("an unknown authority") {
        trusts = false;
        reason = "certificate";
    }
    const tls::tls_files files = test::make_server_certificate(folder, host);
    world<test::on_epoll> w;
    local_server server(w.on.loop(), polite, &files);
    if (trusts) w.options.ca_file = files.certificate_chain;
    w.open("https://localhost:" + server.port() + "/mcp");
    heard h;
    w.pool->start(exchange::get(), h);
    w.finish(h);
    CHECK(h.outcome == "not_sent");
    CAPTURE(h.why);
    CHECK(h.why.find(reason) != std::string::npos);
    for (auto& each : server.visits) CHECK(each->input.empty());
}

TEST_CASE("https to a port with plain HTTP, and vice versa") {
    test::scratch_folder folder;
    const tls::tls_files files = test::make_server_certificate(folder, "DNS:localhost");
    world<test::on_epoll> w;
    heard h;
    SUBCASE("plain") {
        local_server server(w.on.loop(), [](local_server::visit& v) {
            v.say("HTTP/1.1 400 Bad Request\r\n\r\n");
            v.close();
        });
        w.open("https://127.0.0.1:" + server.port() + "/mcp");
        w.pool->start(exchange::get(), h);
        w.finish(h);
        CHECK(h.outcome == "not_sent");
    }
    SUBCASE("TLS") {
        local_server server(w.on.loop(), polite, &files);
        w.open("http://127.0.0.1:" + server.port() + "/mcp");
        w.pool->start(exchange::get(), h);
        w.finish(h);
        CHECK(h.status == 400);
        CHECK(h.outcome == "end");
    }
}

TEST_CASE("https through a proxy") {
    test::scratch_folder folder;
    const tls::tls_files files = test::make_server_certificate(folder, "DNS:example.com");
    world<test::on_epoll> w;
    local_server server(w.on.loop(), polite, &files);
    test::local_proxy proxy(w.on.loop(), static_cast<std::uint16_t>(std::stoi(server.port())));
    w.options.ca_file = files.certificate_chain;
    w.options.proxy = "http://127.0.0.1:" + std::to_string(proxy.port());
    w.open("https://example.com/mcp");
    for (int i = 0; i != 5; ++i) {
        heard h;
        w.pool->start(exchange::get(), h);
        w.finish(h);
        CHECK(h.body == "hi");
        CHECK(h.why == "");
    }
    CHECK(proxy.asked == std::vector<std::string>{"CONNECT example.com:443 HTTP/1.1"});
    CHECK(server.visits.size() == 1);
}

TEST_CASE("from http to https of the same host, with real sockets") {
    test::scratch_folder folder;
    const tls::tls_files files = test::make_server_certificate(folder, "DNS:localhost");
    world<test::on_epoll> w;
    std::string seen;
    local_server secure(
        w.on.loop(),
        [&](local_server::visit& v) {
            seen = v.input;
            polite(v);
        },
        &files);
    local_server plain(w.on.loop(), [&](local_server::visit& v) {
        v.input.clear();
        v.say("HTTP/1.1 308 Moved\r\nLocation: https://localhost:" + secure.port() +
              "/new\r\nContent-Length: 0\r\n\r\n");
    });
    w.options.ca_file = files.certificate_chain;
    w.open("http://localhost:" + plain.port() + "/mcp");
    heard h;
    http_client::transfer_request what = exchange::get();
    what.headers = {{"Authorization", "Bearer secret"}, {"Accept", "x"}};
    w.pool->start(std::move(what), h);
    w.finish(h);
    CHECK(h.outcome == "end");
    CHECK(h.body == "hi");
    CHECK(seen == "GET /new HTTP/1.1\r\nHost: localhost:" + secure.port() + "\r\nAccept: x\r\n\r\n");
    CHECK(w.pool->count().idle == 2);
}

TEST_CASE_TEMPLATE("a connection on which only the server sends detects that the server is gone", Loop,
                   KEEL_TEST_LOOPS) {
    world<Loop> w;
    local_server server(w.on.loop(), [](local_server::visit& v) {
        v.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    });
    w.open("http://127.0.0.1:" + server.port() + "/mcp");
    heard h;
    auto id = w.pool->start(exchange::get(), h);
    w.on.until([&] { return h.body == "hi"; });
    const std::vector<int> ours = sockets_to(static_cast<std::uint16_t>(std::stoi(server.port())));
    REQUIRE(ours.size() == 1);
    CHECK(option_of(ours[0], SOL_SOCKET, SO_KEEPALIVE) == 1);
    // Within a few minutes; the system's default takes hours.
    const int idle = option_of(ours[0], IPPROTO_TCP, TCP_KEEPIDLE);
    const int every = option_of(ours[0], IPPROTO_TCP, TCP_KEEPINTVL);
    const int count = option_of(ours[0], IPPROTO_TCP, TCP_KEEPCNT);
    CHECK(idle + every * count <= 180);
    w.pool->cancel(id);
}

TEST_CASE("a client with a limit of one connection has another one for calls beside the server's stream") {
    test::on_epoll on;
    bool streaming = false;
    local_server server(on.loop(), [&](local_server::visit& v) {
        const std::size_t head = v.input.find("\r\n\r\n");
        if (head == v.input.npos) return;
        auto answer = [&](std::string_view result) {
            const std::size_t at = v.input.find("\"id\":") + 5;
            const std::string id = v.input.substr(at, v.input.find_first_of(",}", at) - at);
            v.say(exchange::ok(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + std::string(result) + "}",
                               "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n"));
        };
        auto says = [&](const char* text) { return v.input.find(text) != v.input.npos; };
        if (v.input.starts_with("GET ")) {
            streaming = true;
            v.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        } else if (v.input.starts_with("DELETE ")) {
            v.say(exchange::ok(""));
        } else if (!v.input.ends_with("}")) {
            return;  // more data follows
        } else if (says("\"initialize\"")) {
            answer(
                R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})");
        } else if (says("\"tools/call\"")) {
            answer(R"({"content":[{"type":"text","text":"hi"}]})");
        } else {
            v.say("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        }
        v.input.clear();
    });
    url where;
    where.address = "http://127.0.0.1:" + server.port() + "/mcp";
    where.max_connections = 1;
    where.proxy = "";
    client_options options;
    options.mode = protocol_mode::legacy;
    options.limits.request_idle = std::chrono::seconds(5);  // without a connection it would fail, not hang
    std::optional<keel::client> client;
    client.emplace(on.shared, server_target(where), options);
    detail::activity line(on.loop());
    std::string outcome;
    auto whole = [&]() -> task<std::string> {
        co_await client->connect();
        CHECK(streaming);
        tool_result r = co_await client->call_tool("x");
        std::string said = r.content.at(0).text();
        co_await client->close();
        co_return said;
    };
    detail::start(line, whole(), [&](detail::outcome<std::string> o) {
        if (o.index() == 1) {
            outcome = std::get<1>(o);
            return;
        }
        try {
            std::rethrow_exception(std::get<0>(o));
        } catch (const std::exception& e) {
            outcome = e.what();
        }
    });
    on.until([&] { return !outcome.empty(); });
    CHECK(outcome == "hi");
    client.reset();
    on.poll();
}
