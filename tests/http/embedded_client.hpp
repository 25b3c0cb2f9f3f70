#pragma once

// A blocking client for tests with real sockets.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace keel::test {

inline bool shows(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A connection to the port of a URL on 127.0.0.1.
class socket_client {
public:
    explicit socket_client(const std::string& url) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    socket_client(const socket_client&) = delete;
    socket_client& operator=(const socket_client&) = delete;
    ~socket_client() { ::close(fd_); }

    bool send(const std::string& bytes) {
        return connected_ &&
               ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    }
    /// Everything until the server closes the connection.
    std::string read_all() {
        std::string all;
        char piece[4096];
        for (ssize_t n = 0; (n = ::recv(fd_, piece, sizeof piece, 0)) > 0;)
            all.append(piece, static_cast<std::size_t>(n));
        return all;
    }
    /// Sends a request; returns the beginning of its response.
    std::string ask(const std::string& request) {
        char piece[4096];
        if (!send(request)) return {};
        const ssize_t n = ::recv(fd_, piece, sizeof piece, 0);
        return {piece, n > 0 ? static_cast<std::size_t>(n) : 0};
    }
    int fd() const noexcept { return fd_; }

private:
    int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected_ = false;
};

/// Sends one request on a new connection; returns the whole output.
inline std::string exchange_all(const std::string& url, const std::string& request) {
    socket_client c(url);
    return c.send(request) ? c.read_all() : std::string();
}

}  // namespace keel::test
