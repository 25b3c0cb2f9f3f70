#pragma once

// The addresses that an HTTP server can listen on, as text.

#include <keel/transport.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::transport {

/// "HOST:PORT", a port on 127.0.0.1, "unix:PATH", or "fd:N" for a listening socket that this process has inherited.
struct listen_address {
    enum class kind : std::uint8_t { tcp, unix_socket };

    kind what = kind::tcp;
    tcp_address tcp = {};   // of kind::tcp
    std::string path = {};  // of kind::unix_socket; "@name" if it is abstract
    int inherited = -1;     // the descriptor of "fd:N"; `what` and the address are those of the socket

    /// Throws std::invalid_argument if the text is invalid, or if the descriptor is not a listening stream socket.
    static listen_address parse(std::string_view text);
    /// "127.0.0.1:80", "unix:/run/x.sock"
    std::string text() const;
    /// Only processes on this machine can connect.
    bool is_local() const noexcept;
};

/// Returns the number in "fd:N", or -1 if the text is not of this form. Throws std::invalid_argument if the number is invalid.
int inherited_descriptor(std::string_view text);
/// The address of an inherited socket. Throws std::invalid_argument if it is not a listening stream socket.
listen_address address_of_listener(int descriptor);

}  // namespace keel::transport
