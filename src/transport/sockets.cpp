#include "transport/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace keel::inline KEEL_ABI::transport {

namespace {

class resolver_category_type final : public std::error_category {
public:
    const char* name() const noexcept override { return "resolver"; }
    std::string message(int code) const override { return ::gai_strerror(code); }
};

}  // namespace

sockaddr_un unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != path.npos) {
        throw std::invalid_argument("invalid Unix socket path \"" + path + "\": expected 1 to " +
                                    std::to_string(sizeof address.sun_path - 1) + " bytes");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

addresses resolve(const tcp_address& where, int flags) {
    static const resolver_category_type resolver_category;
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    int error = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
    if (error == EAI_SYSTEM) throw_errno("cannot resolve " + where.host);
    if (error != 0) throw std::system_error(error, resolver_category, "cannot resolve " + where.host);
    return addresses(found);
}

tcp_address address_of(const sockaddr_storage& address, socklen_t size) {
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return {};
    }
    return {host, static_cast<std::uint16_t>(std::stoi(port))};
}

std::string remote_host(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
    if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return {};
    std::string host = address_of(address, size).host;
    host.resize(std::min(host.find('%'), host.size()));
    return host;
}

descriptor open_socket(int family) {
    descriptor s(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!s) throw_errno("cannot create a socket");
    return s;
}

void send_at_once(int tcp_socket) noexcept {
    int on = 1;
    ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void acknowledge_input(int tcp_socket) noexcept {
    int on = 1;
    ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void watch_for_silence(int tcp_socket) noexcept {
    int on = 1, idle = 60, every = 15, count = 4;
    unsigned unacknowledged = 120'000;  // milliseconds
    ::setsockopt(tcp_socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged, sizeof unacknowledged);
}

}  // namespace keel::transport
