// The options and the address of an accepted socket.

#include "support/real_loops.hpp"
#include "transport/sockets.hpp"

#include <keel/transport.hpp>

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

using namespace keel;
using namespace keel::test;

namespace {

/// A client socket that is connected, or about to be, to a port of `host`.
transport::descriptor dial(const std::string& host, std::uint16_t port) {
    auto found = transport::resolve({host, port}, AI_NUMERICHOST);
    transport::descriptor socket = transport::open_socket(found->ai_family);
    const int result = ::connect(socket.get(), found->ai_addr, found->ai_addrlen);
    CHECK((result == 0 || errno == EINPROGRESS));
    return socket;
}

/// Accepts one connection on `host`. An empty descriptor if the machine has no such address.
transport::descriptor accept_on(on_epoll& on, const std::string& host, transport::descriptor& client) {
    transport::descriptor accepted;
    std::unique_ptr<listener> at;
    try {
        at = transport::listen_tcp_sockets(
            on.loop(), {host, 0},
            [&](transport::descriptor socket, const std::string&) { accepted = std::move(socket); }, "full");
    } catch (const std::system_error&) {
        return {};
    }
    client = dial(host, at->port());
    on.until([&] { return static_cast<bool>(accepted); });
    return accepted;
}

int option(const transport::descriptor& socket, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    CHECK(::getsockopt(socket.get(), level, name, &value, &size) == 0);
    return value;
}

}  // namespace

TEST_CASE("an accepted TCP socket notices within two minutes that its client has vanished") {
    on_epoll on;
    transport::descriptor client;
    transport::descriptor accepted = accept_on(on, "127.0.0.1", client);
    CHECK(option(accepted, SOL_SOCKET, SO_KEEPALIVE) == 1);
    const int idle = option(accepted, IPPROTO_TCP, TCP_KEEPIDLE);
    const int interval = option(accepted, IPPROTO_TCP, TCP_KEEPINTVL);
    const int probes = option(accepted, IPPROTO_TCP, TCP_KEEPCNT);
    CHECK(idle + interval * probes == 120);                                // without output to send
    CHECK(option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT) == 120 * 1000);  // with output that is not acknowledged
}

TEST_CASE("the address of the other end of a socket has no port and no zone") {
    on_epoll on;
    transport::descriptor client;
    transport::descriptor accepted = accept_on(on, "127.0.0.1", client);
    CHECK(transport::remote_host(accepted.get()) == "127.0.0.1");
    if (transport::descriptor v6 = accept_on(on, "::1", client)) CHECK(transport::remote_host(v6.get()) == "::1");
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    transport::descriptor one(pair[0]);
    transport::descriptor other(pair[1]);
    CHECK(transport::remote_host(one.get()) == "");
    CHECK(transport::remote_host(-1) == "");
}
