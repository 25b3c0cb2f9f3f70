#pragma once

// The ways to reach a server.

#include <keel/child_process.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

namespace client_side {
class connector;  // src/client/link.hpp
}

/// A socket with the framing of stdio.
struct unix_socket {
    std::string path = {};
};
struct tcp {
    std::string address = {};  // HOST:PORT
};

/// A server over HTTP. (In the library keel::http.)
struct url {
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
url url_of_text(std::string_view text);

/// A server in this process, as a client uses it.
struct local_server {
    const void* address = nullptr;  // tells servers with the same name apart
    std::string name = {};
    /// Serves a connection on a loop, and calls `ended` there afterwards.
    std::function<void(std::shared_ptr<loop> on, std::unique_ptr<connection> wire, std::function<void()> ended)> serve =
        {};
};
/// keel::server. A concept, so that clients need no header of the server.
template <class T>
concept accepts_connections = requires(T& s, std::shared_ptr<loop> on, std::unique_ptr<connection> wire) {
    { s.about().name } -> std::convertible_to<std::string>;
    s.serve(std::move(on), std::move(wire));
};
}  // namespace detail

/// Where a server is. Made from any of the above, or from a server in this process.
class server_target {
public:
    server_target(child_process);
    server_target(unix_socket);
    server_target(tcp);
    server_target(url);
    /// A text is a URL: "https://example.com/mcp". Any other throws std::invalid_argument; it is not taken for a command.
    server_target(const char* text) : server_target(detail::url_of_text(text)) {}
    server_target(const std::string& text) : server_target(detail::url_of_text(text)) {}
    server_target(std::string_view text) : server_target(detail::url_of_text(text)) {}
    /// A keel::server in this process. It must outlive the client.
    template <detail::accepts_connections Server>
    server_target(Server& s) : server_target(detail::local_server{&s, s.about().name, serve_by(s)}) {}
    explicit server_target(detail::local_server);
    explicit server_target(std::shared_ptr<client_side::connector> c) noexcept : connector_(std::move(c)) {}

    /// For people: "./calculator", "unix /run/x.sock", "https://example.com/mcp".
    std::string describe() const;
    /// What the era of a server is remembered by: the origin of a URL, the command of a child, …
    std::string identity() const;

private:
    template <class Server>
    static auto serve_by(Server& s) {
        return [&s](std::shared_ptr<loop> on, std::unique_ptr<connection> wire, std::function<void()> ended) {
            s.serve(std::move(on), std::move(wire), [ended = std::move(ended)](const auto&) { ended(); });
        };
    }

    friend struct client_access;
    std::shared_ptr<client_side::connector> connector_;
};

}  // namespace keel
