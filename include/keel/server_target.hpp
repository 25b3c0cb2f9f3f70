#pragma once

// Where a client finds its server.

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

/// A socket with one JSON message per line, as over stdio.
struct KEEL_API unix_socket {
    std::string path = {};
};
struct KEEL_API tcp {
    std::string address = {};  // HOST:PORT
};

/// A server over HTTP. (Needs the library keel::http.)
struct KEEL_API url {
    std::string address = {};  // "https://example.com/mcp"
    /// Sent with every request, for example Authorization. Never sent to another server, not even after a redirect.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// PEM file with the certificates to trust instead of the system's.
    std::string ca_file = {};
    /// "http://proxy:3128"; "": no proxy; nullopt: from the environment (http_proxy, https_proxy, all_proxy, no_proxy).
    std::optional<std::string> proxy = {};
    /// Whether to fall back to the HTTP+SSE transport of 2024-11-05.
    bool allow_old_transport = true;
    /// Maximum number of open connections; further calls wait.
    std::size_t max_connections = 64;
    /// Maximum number of redirects to follow. Only redirects to the same origin, or from http to https on the
    /// same host, are followed.
    unsigned max_redirects = 5;
    /// Maximum size of one answer or one event, in bytes.
    std::size_t max_body = 64 * 1024 * 1024;
};

namespace detail {
/// Throws std::invalid_argument unless `text` begins with http:// or https://.
KEEL_API url url_of_text(std::string_view text);

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

/// The address of a server. Constructed from any of the types above, or from a server in this process.
class KEEL_API server_target {
public:
    server_target(child_process);
    server_target(unix_socket);
    server_target(tcp);
    server_target(url);
    /// A URL: "https://example.com/mcp". Throws std::invalid_argument for other text, which is never treated as a command.
    server_target(const char* text) : server_target(detail::url_of_text(text)) {}
    server_target(const std::string& text) : server_target(detail::url_of_text(text)) {}
    server_target(std::string_view text) : server_target(detail::url_of_text(text)) {}
    /// A keel::server in this process. The server must outlive the client.
    template <detail::accepts_connections Server>
    server_target(Server& s) : server_target(detail::local_server{&s, s.about().name, serve_by(s)}) {}
    explicit server_target(detail::local_server);
    explicit server_target(std::shared_ptr<client_side::connector> c) noexcept : connector_(std::move(c)) {}

    /// Text for the user: "./calculator", "unix /run/x.sock", "https://example.com/mcp".
    std::string describe() const;
    /// The key for era_memory: the origin of a URL, the command of a child process, …
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
