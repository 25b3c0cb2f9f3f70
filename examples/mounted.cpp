// self-test
// Keel's endpoint inside a program that has its own HTTP server. The program accepts connections and parses HTTP; requests for /mcp
// go to Keel, all others are its own. To show that it works, clients of both eras call a tool through the program's server, and a
// client that disconnects cancels its call.

#include <keel/blocking_client.hpp>
#include <keel/http_server.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

// ---- the program's own HTTP server: one thread and one request per connection ----

static bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Reads a request with Content-Length. (A real server has limits, timeouts and a strict parser.)
static bool read_request(int socket, keel::mounted_request& out) {
    std::string text;
    std::size_t head = std::string::npos;
    std::size_t length = 0;
    while (head == std::string::npos || text.size() < head + length) {
        char piece[4096];
        ssize_t n = ::recv(socket, piece, sizeof piece, 0);
        if (n <= 0) return false;
        text.append(piece, static_cast<std::size_t>(n));
        if (head != std::string::npos || text.find("\r\n\r\n") == std::string::npos) continue;
        head = text.find("\r\n\r\n") + 4;
        out.method = text.substr(0, text.find(' '));
        out.target = text.substr(out.method.size() + 1, text.find(' ', out.method.size() + 1) - out.method.size() - 1);
        for (std::size_t at = text.find("\r\n") + 2; at < head - 2;) {
            std::size_t end = text.find("\r\n", at);
            std::size_t colon = text.find(':', at);
            std::string name = text.substr(at, colon - at);
            std::size_t value = text.find_first_not_of(' ', colon + 1);
            out.headers.emplace_back(name, text.substr(value, end - value));
            if (::strcasecmp(name.c_str(), "Content-Length") == 0) length = std::stoul(out.headers.back().second);
            at = end + 2;
        }
    }
    out.body = text.substr(head, length);
    return true;
}

/// Writes what Keel answers to the socket. Keel calls it on its own thread.
class socket_response final : public keel::mounted_response {
public:
    explicit socket_response(int socket) : socket_(socket) {}

    void on_head(int status, const keel::http_headers& headers) override {
        std::string text = "HTTP/1.1 " + std::to_string(status) + " Status\r\nConnection: close\r\n";
        for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
        send(text + "\r\n");
    }
    bool on_body(std::string_view part) override {
        send(part);  // a real server queues it, and returns false if the queue is full
        return true;
    }
    void on_end() override { finish(); }
    void on_abort() override { finish(); }

    /// Waits until the response has ended or the client has disconnected. Returns false for the latter. The socket is not used
    /// afterwards.
    bool wait() {
        pollfd one{socket_, POLLRDHUP, 0};
        while (::poll(&one, 1, -1) != 1) {
        }
        std::lock_guard lock(mutex_);
        open_ = false;
        return ended_;
    }

private:
    void send(std::string_view bytes) {
        std::lock_guard lock(mutex_);
        if (open_) send_all(socket_, bytes);
    }
    void finish() {
        std::lock_guard lock(mutex_);
        ended_ = true;
        if (open_) ::shutdown(socket_, SHUT_RDWR);  // wakes wait()
    }

    const int socket_;
    std::mutex mutex_;
    bool open_ = true;
    bool ended_ = false;
};

class program_server {
public:
    explicit program_server(keel::http_server& mcp) : mcp_(mcp), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 16) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
            std::perror("listen");
            std::exit(1);
        }
        port_ = ntohs(at.sin_port);
        acceptor_ = std::jthread([this] { accept_all(); });
    }
    ~program_server() {
        ::shutdown(listener_, SHUT_RDWR);
        acceptor_.join();
        connections_.clear();
        ::close(listener_);
    }
    std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
    int port() const { return port_; }

private:
    void accept_all() {
        for (int socket = 0; (socket = ::accept(listener_, nullptr, nullptr)) >= 0;) {
            connections_.emplace_back([this, socket] { serve(socket); });
        }
    }
    void serve(int socket) {
        keel::mounted_request request;
        if (read_request(socket, request)) {
            if (request.target == "/mcp") {
                request.remote_address = "127.0.0.1";
                auto response = std::make_shared<socket_response>(socket);
                std::shared_ptr<keel::mounted_call> call = mcp_.handle(request, response);
                if (!response->wait()) call->disconnect();  // the client has left: cancels its call
            } else {
                send_all(socket, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nmy page.\n");
            }
        }
        ::close(socket);
    }

    keel::http_server& mcp_;
    const int listener_;
    int port_ = 0;
    std::vector<std::jthread> connections_;
    std::jthread acceptor_;
};

// ---- clients ----

static std::string call_hello(const std::string& url, keel::protocol_mode mode) {
    keel::client_options options;
    options.mode = mode;
    keel::blocking_client client(keel::url{.address = url}, options);
    client.connect();
    return client.call_tool<std::string>("hello");
}

/// Sends a call and disconnects when `started` is ready.
static void call_and_leave(int port, std::future<void> started) {
    const std::string body =
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{)"
        R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
        send_all(socket,
                 "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                 "Mcp-Method: tools/call\r\nMcp-Name: wait\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body)) {
        started.wait();
    }
    ::close(socket);
}

int main() {
    try {
        keel::server server({.name = "mounted", .version = "1.0.0"});
        server.add_tool("hello", "Says hello", [] { return "hello from /mcp"; });
        std::promise<void> started;
        std::promise<void> cancelled;
        server.add_tool("wait", "Waits until it is cancelled", [&](keel::context& ctx) -> keel::task<std::string> {
            started.set_value();
            try {
                co_await ctx.sleep(std::chrono::hours(1));
            } catch (const keel::cancelled&) {
                cancelled.set_value();
                throw;
            }
            co_return "waited";
        });

        keel::http_options options;
        options.allow_hosts = {"localhost", "127.0.0.1"};
        keel::http_server mcp(server, options);
        mcp.start_mounted();
        std::string modern;
        std::string legacy;
        {
            program_server web(mcp);
            modern = call_hello(web.url("/mcp"), keel::protocol_mode::modern);
            legacy = call_hello(web.url("/mcp"), keel::protocol_mode::legacy);
            call_and_leave(web.port(), started.get_future());
            cancelled.get_future().wait();
            mcp.stop();
        }
        std::printf("modern: %s\nlegacy: %s\ncancelled\n", modern.c_str(), legacy.c_str());
        return modern == "hello from /mcp" && legacy == modern ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "mounted: %s\n", e.what());
        return 1;
    }
}
