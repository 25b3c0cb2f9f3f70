#pragma once

// Where requests go: a server, and the way to it.

#include "http_client/proxy_choice.hpp"
#include "http_client/transfer.hpp"
#include "http_client/url_parts.hpp"

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

/// Immutable once made. Connections and transfers refer to it; the pool owns it.
struct server_address {
    /// `context` is shared by all endpoints of a pool; none for http.
    server_address(url_parts to, std::optional<proxy_address> through,
                   std::shared_ptr<const tls::tls_client_context> context);

    const url_parts at;  // its target is not used
    const std::optional<proxy_address> proxy;
    const std::shared_ptr<const tls::tls_client_context> tls;
    std::string before_path;  // a proxy wants the whole URL, unless it is a mere tunnel
    std::string after_path;   // the rest of the first line, and Host

    /// Where to connect to.
    tcp_address first_hop() const { return proxy ? proxy->at : tcp_address{at.host, at.port}; }
};

/// connect_tcp, or what a test has in its place. Called on the loop; the task runs on it.
using dialer = std::function<task<std::unique_ptr<connection>>(loop&, tcp_address)>;

/// What cannot be sent is said in a sentence; "" when all is well. `what.path` is not empty.
std::string check_request(const transfer_request& what);
/// The request without its body.
void append_request_head(std::string& out, const transfer_request& what, const server_address& to,
                         std::size_t body_size);
/// The request for a tunnel to it.
std::string connect_request(const server_address& to);

}  // namespace keel::http_client
