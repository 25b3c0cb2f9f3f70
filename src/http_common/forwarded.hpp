#pragma once

// Which client is behind a proxy: the headers X-Forwarded-For and Forwarded (RFC 7239). No I/O.

#include "http_common/head_parser.hpp"
#include "http_common/ip_address.hpp"

#include <span>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::http {

/// Proxies whose headers are believed.
class trusted_proxies {
public:
    trusted_proxies() = default;
    /// Addresses, networks ("10.0.0.0/8") and "unix" for clients of Unix sockets. Throws std::invalid_argument.
    explicit trusted_proxies(std::span<const std::string> entries);

    bool empty() const noexcept { return networks_.empty() && !unix_; }
    /// `a` without an address is a client of a Unix socket.
    bool contains(const ip_address& a) const noexcept;

private:
    std::vector<ip_network> networks_;
    bool unix_ = false;
};

/// The address of the client that sent a request over a connection from `peer`. Each proxy appends the address that it saw, so the last
/// address that is not a trusted proxy is the client; everything before it may be forged. If all are trusted, it is the first one.
///
/// Returns `peer` if it is not trusted, if there is no such header, if the client is not given as an IP address ("unknown", "_hidden",
/// garbage), and if both headers are present and disagree: the proxy then passes one of them on as the client sent it.
ip_address client_address(const ip_address& peer, std::span<const header> headers,
                          const trusted_proxies& trusted) noexcept;

}  // namespace keel::http
