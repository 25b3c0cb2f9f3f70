#pragma once

// The ways to reach a server.

#include <keel/child_process.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

class server;
namespace client_side {
class connector;  // src/client/link.hpp
}

/// A socket with the framing of stdio.
struct KEEL_API unix_socket {
    std::string path = {};
};
struct KEEL_API tcp {
    std::string address = {};  // HOST:PORT
};

/// A server over HTTP. (In the library keel::http.)
struct KEEL_API url {
    std::string address = {};  // "https://example.com/mcp"
    /// Sent with every request: an Authorization, for instance. They stay with the server they are for.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// Certificates to trust instead of the system's: a file in PEM.
    std::string ca_file = {};
    /// "http://proxy:3128"; "" for none; unset: what the environment says (http_proxy, https_proxy, all_proxy, no_proxy).
    std::optional<std::string> proxy = {};
    /// The transport of 2024-11-05 (an event stream and a second address) is tried when nothing newer works.
    bool allow_old_transport = true;
    /// Open at the same time; a call beyond that waits for its turn.
    std::size_t max_connections = 64;
    /// Redirections to the same host, or from http to https of it, are followed so often. Others never.
    unsigned max_redirects = 5;
    /// One answer, or one event of a stream, may be so large.
    std::size_t max_body = 64 * 1024 * 1024;
};

namespace detail {
/// Throws std::invalid_argument for what does not begin with http:// or https://.
KEEL_API url url_of_text(std::string_view text);
}  // namespace detail

/// Where a server is. Made from any of the above, or from a server in this process.
class KEEL_API server_target {
public:
    server_target(child_process);
    server_target(unix_socket);
    server_target(tcp);
    server_target(url);
    /// A text is a URL: "https://example.com/mcp". Any other throws std::invalid_argument; it is not taken for a command.
    server_target(const char* text) : server_target(detail::url_of_text(text)) {}
    server_target(const std::string& text) : server_target(detail::url_of_text(text)) {}
    server_target(std::string_view text) : server_target(detail::url_of_text(text)) {}
    /// It must be there as long as the client.
    server_target(server&);
    explicit server_target(std::shared_ptr<client_side::connector> c) noexcept : connector_(std::move(c)) {}

    /// For people: "./calculator", "unix /run/x.sock", "https://example.com/mcp".
    std::string describe() const;
    /// What the era of a server is remembered by: the origin of a URL, the command of a child, …
    std::string identity() const;

private:
    friend struct client_access;
    std::shared_ptr<client_side::connector> connector_;
};

}  // namespace keel
