#pragma once

// What listening and connecting share.

#include "transport/descriptor.hpp"

#include <keel/transport.hpp>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::transport {

/// Throws std::invalid_argument when the path does not fit.
sockaddr_un unix_address(const std::string& path);

struct free_addresses {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using addresses = std::unique_ptr<addrinfo, free_addresses>;

/// Blocks when the host is a name. `flags` as for getaddrinfo. Throws std::system_error.
addresses resolve(const tcp_address&, int flags);

/// Of either end of a socket; empty host when it has none.
tcp_address address_of(const sockaddr_storage&, socklen_t size);

/// Sockets as they are accepted, for those who make something of their own of them. When the process has no descriptor left,
/// whoever comes is told `no_room` and sent away.
std::unique_ptr<listener> listen_tcp_sockets(loop&, const tcp_address&,
                                             std::function<void(descriptor, std::string name)> taken,
                                             std::string no_room);
/// Politely: what the peer has sent is taken, so that no reset overtakes our words.
void say_and_close(descriptor socket, std::string_view words) noexcept;

descriptor open_socket(int family);
void send_at_once(int tcp_socket) noexcept;
/// Whoever only reads finds out, after two minutes, that nobody is there any more.
void watch_for_silence(int tcp_socket) noexcept;

}  // namespace keel::transport
