// A connection of the HTTP load generator: its target, one request and one response at a time.
#pragma once

#include "http_answer.hpp"
#include "http_requests.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

[[noreturn]] inline void fail(const std::string& what, std::string_view bytes = {}) {
    throw std::runtime_error(bytes.empty() ? what : what + ": " + std::string(bytes.substr(0, 400)));
}

[[noreturn]] inline void fail_errno(const char* what) {
    fail(std::string(what) + ": " + (errno == EINTR ? "timeout" : std::strerror(errno)));
}

class server_address {
public:
    explicit server_address(std::string_view url) {
        if (!url.starts_with("http://")) throw std::invalid_argument("invalid --url: expected http://");
        url.remove_prefix(7);
        const auto slash = std::min(url.find('/'), url.size());
        to.host = url.substr(0, slash);
        to.path = slash < url.size() ? url.substr(slash) : "/";
        const auto colon = to.host.rfind(':');
        if (colon == std::string::npos) throw std::invalid_argument("invalid --url: missing port");
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        const auto name = to.host.substr(0, colon);
        if (getaddrinfo(name.c_str(), to.host.c_str() + colon + 1, &hints, &found) != 0 || found == nullptr) {
            throw std::invalid_argument("cannot resolve " + to.host);
        }
        std::memcpy(&address_, found->ai_addr, found->ai_addrlen);
        size_ = found->ai_addrlen;
        freeaddrinfo(found);
    }

    int connect() const {
        const int fd = ::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) fail_errno("socket");
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(fd, reinterpret_cast<const sockaddr*>(&address_), size_) != 0) {
            ::close(fd);
            fail_errno("connect");
        }
        return fd;
    }

    target to;

private:
    sockaddr_storage address_{};
    socklen_t size_ = 0;
};

class connection {
public:
    explicit connection(const server_address& server) : fd_(server.connect()), input_(4096, '\0') {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { ::close(fd_); }

    int fd() const { return fd_; }

    /// Never blocks: a request is far smaller than the socket buffer, and a connection has only one pending.
    void send(std::string_view bytes) const {
        const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) fail_errno("send");
        if (static_cast<std::size_t>(sent) != bytes.size()) fail("a request did not fit into the socket");
    }

    /// One read. Returns the response so far, or nothing if its head is incomplete.
    std::optional<answer> receive(int flags) {
        if (held_ == input_.size()) input_.resize(input_.size() * 2);
        const auto got = ::recv(fd_, input_.data() + held_, input_.size() - held_, flags);
        if (got == 0) fail("the server closed a connection", held());
        if (got < 0) {
            if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) return std::nullopt;
            fail_errno("recv");
        }
        held_ += static_cast<std::size_t>(got);
        return read_answer(held(), scratch_);
    }

    /// Called after a complete response: no further bytes may have arrived.
    void finish(const answer& what) {
        if (what.size != held_) fail("more than one answer", held());
        held_ = 0;
    }

    /// Sends a request and waits for its response. The views are valid until the next request.
    answer exchange(std::string_view request) {
        send(request);
        for (;;) {
            if (const auto got = receive(0); got && got->whole) {
                finish(*got);
                return *got;
            }
        }
    }

    /// True if unexpected bytes have arrived.
    bool has_surplus() const {
        char byte = 0;
        return held_ != 0 || ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    }

    bool is_closed() const {
        char byte = 0;
        const auto got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return got == 0 || (got < 0 && errno != EAGAIN);
    }

private:
    std::string_view held() const { return std::string_view(input_).substr(0, held_); }

    int fd_;
    std::string input_;
    std::size_t held_ = 0;
    std::string scratch_;
};

/// Initializes a session. Returns its id, or an empty string if the server has none.
inline std::string open_session(connection& over, const target& to) {
    const auto opened = over.exchange(post(to, "", initialize_body));
    if (opened.status != 200 || find(opened.body, "\"result\"") == std::string_view::npos) {
        fail("initialize was refused", std::string(opened.head) + std::string(opened.body));
    }
    std::string id(header_of(opened.head, "mcp-session-id"));
    const auto noted = over.exchange(post(to, session_headers(id), initialized_body));
    if (noted.status != 202) fail("initialized was refused", noted.head);
    return id;
}

}  // namespace bench
