#pragma once

// Functions shared by listening and connecting.

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

/// Throws std::invalid_argument if the path is empty or too long.
sockaddr_un unix_address(const std::string& path);

struct free_addresses {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using addresses = std::unique_ptr<addrinfo, free_addresses>;

/// Blocks if the host is a name. `flags` as for getaddrinfo. Throws std::system_error.
addresses resolve(const tcp_address&, int flags);

/// The address of either end of a socket. The host is empty if the socket has no address.
tcp_address address_of(const sockaddr_storage&, socklen_t size);
/// The IP address of the other end of a connected socket, without port and zone. "" if it has none (Unix sockets, or it is gone).
std::string remote_host(int socket);

/// Passes accepted sockets to a callback instead of creating connections. If the process has no descriptors left, new
/// connections receive `no_room` and are closed.
std::unique_ptr<listener> listen_tcp_sockets(loop&, const tcp_address&,
                                             std::function<void(descriptor, std::string name)> taken,
                                             std::string no_room);
/// The same on a Unix socket. The file is created with `mode`; a stale socket file is replaced.
std::unique_ptr<listener> listen_unix_sockets(loop&, const std::string& path, unsigned mode,
                                              std::function<void(descriptor, std::string name)> taken,
                                              std::string no_room);
/// The same on a listening socket that this process has inherited. The listener owns the descriptor, but not the file of a Unix socket.
std::unique_ptr<listener> listen_inherited_sockets(loop&, int listening,
                                                   std::function<void(descriptor, std::string name)> taken,
                                                   std::string no_room);
/// Like listen_tcp, on a listening socket that this process has inherited.
std::unique_ptr<listener> listen_inherited(loop&, int listening, listener::accepted, listen_options);
/// Writes `words`, then discards pending input and closes: unread input would cause a TCP reset that overtakes the words.
void say_and_close(descriptor socket, std::string_view words) noexcept;

descriptor open_socket(int family);
void send_at_once(int tcp_socket) noexcept;
/// Acknowledges the received data now (TCP_QUICKACK).
void acknowledge_input(int tcp_socket) noexcept;
/// Enables TCP keep-alive, so that an end that only reads detects a dead connection after two minutes.
void watch_for_silence(int tcp_socket) noexcept;

}  // namespace keel::transport
