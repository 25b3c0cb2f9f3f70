#pragma once

// The address of a server and the route to it (direct, or through a proxy).

#include "http_client/proxy_choice.hpp"
#include "http_client/transfer.hpp"
#include "protocol/url_parts.hpp"

#include <keel/connection.hpp>
#include <keel/task.hpp>
#include <keel/transport.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace keel::inline KEEL_ABI::tls {
class tls_client_context;
}

namespace keel::inline KEEL_ABI::http_client {

/// Immutable. Connections and transfers refer to it; the pool owns it.
struct server_address {
    /// `context` is shared by all addresses of a pool; null for http.
    server_address(protocol::url_parts to, std::optional<proxy_address> through,
                   std::shared_ptr<const tls::tls_client_context> context);

    const protocol::url_parts at;  // `target` is not used
    const std::optional<proxy_address> proxy;
    const std::shared_ptr<const tls::tls_client_context> tls;
    std::string before_path;  // the origin, if a proxy needs the absolute URL; empty for a tunnel
    std::string after_path;   // the rest of the request line, and Host

    /// The address to connect to: the proxy or the server.
    tcp_address first_hop() const { return proxy ? proxy->at : tcp_address{at.host, at.port}; }
};

/// connect_tcp, or a replacement for tests. Called on the loop; the task runs on it.
using dialer = std::function<task<std::unique_ptr<connection>>(loop&, tcp_address)>;

/// Returns why a request is invalid, or "". `what.path` must not be empty.
std::string check_request(const transfer_request& what);
/// Appends the request line and headers.
void append_request_head(std::string& out, const transfer_request& what, const server_address& to,
                         std::size_t body_size);
/// The CONNECT request for a tunnel to it.
std::string connect_request(const server_address& to);

}  // namespace keel::http_client
