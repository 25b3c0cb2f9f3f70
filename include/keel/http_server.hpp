#pragma once

// Serves a keel::server over HTTP: the Streamable HTTP transport of all protocol revisions on one path.
//
//     keel::http_server web(server);
//     web.start("127.0.0.1:8848");        // http://127.0.0.1:8848/mcp
//     server.wait();

#include <keel/access_log.hpp>
#include <keel/http_mount.hpp>
#include <keel/limits.hpp>
#include <keel/loop.hpp>
#include <keel/server.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// One HTTP request, as passed to `route` and `identify`. Valid during the call only.
class KEEL_API http_request {
public:
    virtual std::string_view method() const noexcept = 0;
    virtual std::string_view path() const noexcept = 0;
    virtual std::string_view query() const noexcept = 0;
    virtual std::string_view body() const noexcept = 0;
    /// The first header with this name (case-insensitive), or nullopt.
    virtual std::optional<std::string_view> header(std::string_view name) const = 0;
    /// The IP address of the client, without a port: the one that a proxy in http_options::trusted_proxies has forwarded, otherwise the
    /// other end of the connection. "" on a Unix socket.
    virtual std::string_view remote_address() const noexcept = 0;

protected:
    ~http_request() = default;
};

struct KEEL_API http_answer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Limits on the memory and time that clients can use. The status is the answer to a request that exceeds the limit.
/// keel::limits has the limits for messages and handlers.
struct KEEL_API http_limits {
    std::size_t max_head = 16 * 1024;        // bytes of request line and headers: 431
    std::size_t max_headers = 100;           // 431
    std::size_t max_body = 4 * 1024 * 1024;  // 413
    /// Timeouts: from the first byte of a request to the end of its headers, and from there to the end of its body: 408.
    duration head_time = std::chrono::seconds(10);
    duration body_time = std::chrono::seconds(30);
    /// Minimum rates in bytes per second. A body may take longer than body_time if it arrives at this rate, a response longer than
    /// keel::limits::write_stall if the client reads it at this rate. 0: any progress within these times is enough.
    std::size_t min_body_rate = 1024;
    std::size_t min_read_rate = 1024;
    /// Idle connections are closed after this time.
    duration idle_time = std::chrono::seconds(75);
    std::size_t max_connections = 16 * 1024;  // 503
    std::size_t max_sessions = 10000;         // sessions of revisions before 2026-07-28: 503
    std::size_t max_streams = 16 * 1024;      // open event streams, including subscriptions: 503
    /// Quotas for each client, so that one client cannot use up the limits of the server: 429. A client is an IP address (IPv6: the first
    /// 64 bits; behind a trusted proxy, the forwarded address), and also the principal that `identify` returns, unless it is empty; each
    /// has the whole quota. 0: no quota.
    std::size_t max_connections_per_client = 2048;
    std::size_t max_sessions_per_client = 1000;
    std::size_t max_in_flight_per_client =
        1024;  // running handlers; those of a session count for the client that opened it
    /// Servers that http_options::server_for has created for principals. When it is reached, the one that was unused longest is released;
    /// if all are in use: 503. A server that is unused for `server_idle` is released.
    std::size_t max_servers = 1000;
    duration server_idle = std::chrono::minutes(10);
    /// Idle sessions end after this time.
    duration session_idle = std::chrono::minutes(30);
    /// Sessions whose client has sent nothing since `initialize` end after this time. When max_sessions or max_sessions_per_client is
    /// reached, the oldest of these (of that client) ends at once to make room for a new session.
    duration unused_session = std::chrono::minutes(1);
    /// Events that each session keeps for clients that reconnect (Last-Event-ID). 0: none.
    std::size_t max_events = 1000;
    std::size_t max_event_bytes = 8 * 1024 * 1024;
    /// Bytes that the server keeps for all clients together: request bodies, output that clients have not read, stored events.
    /// 0: a quarter of the machine's memory or of the limit of the control group, whichever is lower. Above three quarters of it, new
    /// requests are refused: 503. Above it, stored events are evicted, then the connections with the most unread output are closed.
    std::size_t max_buffered = 0;
    /// How long a client can still fetch the rest of a stream that has ended.
    duration ended_stream = std::chrono::seconds(60);
    /// Idle streams get a comment line at this interval, so that proxies keep them open.
    duration keep_alive = std::chrono::seconds(15);
};

/// What http_options::server_for creates a server for.
struct KEEL_API server_request {
    std::string principal = {};  // from `identify`; "" without it
    /// True: for one session (revisions before 2026-07-28). False: for all requests of this principal without a session.
    bool session = false;
};

struct KEEL_API http_options {
    std::string path = "/mcp";
    /// Number of loops, each with a thread. 0: one for each processor. A connection or session stays on one loop.
    unsigned threads = 0;
    enum class answer_form : unsigned char { as_needed, json, events };
    /// as_needed: JSON, or an event stream if the handler sends a notification or request before its result, or
    /// after http_limits::keep_alive without a result. json: always JSON;
    /// notifications of the handler are dropped. events: always an event stream.
    answer_form answers = answer_form::as_needed;
    /// Clients of revisions before 2026-07-28 get no session: handlers cannot send them requests.
    bool stateless = false;

    /// Host names that are accepted ("mcp.example.com", with or without a port), as protection against DNS rebinding. A server on a
    /// loopback address accepts loopback names too. On any other address the list must not be empty; "*" accepts every name.
    std::vector<std::string> allow_hosts = {};
    /// Origins of web pages that may use this server ("https://app.example.com", "*"); also enables CORS for them.
    std::vector<std::string> allow_origins = {};
    /// Proxies whose X-Forwarded-For and Forwarded headers name the client: addresses, networks ("10.0.0.0/8", "fd00::/8"), or "unix" for
    /// every client of a Unix socket. The headers of other clients are ignored.
    std::vector<std::string> trusted_proxies = {};

    /// PEM files; set both or neither. They are reloaded when they change: a renewed certificate needs no restart.
    std::string tls_certificate = {};
    std::string tls_key = {};

    /// Serves the deprecated HTTP+SSE transport of 2024-11-05 too: a stream at `sse_path`, messages to `message_path`.
    bool old_sse = false;
    std::string sse_path = "/sse";
    std::string message_path = "/messages";

    std::string health_path = "/health";  // "": none
    /// Answers 200 while the server takes new work, otherwise 503: for load balancers. "": none.
    std::string ready_path = "/ready";
    std::string metrics_path = "/metrics";  // "": none; Prometheus text
    /// Address (as for start()) on which only the three pages above are served, with any Host; the MCP address then does not serve
    /// them. "": none.
    std::string monitor_address = {};
    /// The three pages require `identify` too.
    bool identify_monitor = false;
    /// Answers requests to paths that Keel does not serve. nullopt: 404. Called on any of the loops; must not block.
    std::function<std::optional<http_answer>(const http_request&)> route = {};
    /// Authenticates a request. Returns the name for context::principal(), or nullopt to answer 401. Called for every request to
    /// the protocol's paths before its body is read (body() is empty), on any of the loops; must not block. A session can only be
    /// used by the principal that opened it.
    std::function<std::optional<std::string>(const http_request&)> identify = {};

    /// The first phase of stop() and request_stop(): for this time `ready_path` answers 503, so that load balancers choose another
    /// server, while new connections and requests are still served. server::stop() has no such phase.
    duration unready_time = duration::zero();
    /// Permissions of the file of a Unix socket. 0600: only processes of the same user can connect, 0660: also those of its group.
    unsigned socket_mode = 0600;
    /// Receives an entry for each HTTP request; see keel::access_log_to. Empty: none.
    keel::access_log access_log = {};
    /// Creates a server for each session, and for each principal that uses requests without a session (revision 2026-07-28, or
    /// `stateless`), for programs with several tenants. Without it the server of the http_server serves everybody. Keel releases the
    /// server when the session has ended, the principal was idle (http_limits::server_idle), or HTTP has stopped; the server stops when
    /// the program has released it too. An exception: 500. Null: 503. Called on any of the loops; must not block.
    std::function<std::shared_ptr<server>(const server_request&)> server_for = {};

    http_limits limits = {};
};

/// Thread-safe. The `server` must outlive this object.
class KEEL_API http_server {
public:
    /// Throws std::invalid_argument if the options are invalid, std::runtime_error if the certificate cannot be used.
    explicit http_server(server& s, http_options options = {});
    /// Stops, like stop(). Connections on a loop of the caller end later, on that loop.
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// Starts serving in the background, on its own threads. `address` is one of
    ///   HOST:PORT, or a port on 127.0.0.1; port 0 lets the system choose
    ///   unix:PATH, a Unix socket for a proxy on the same machine; a stale socket file is replaced
    ///   fd:N, a listening socket that this process has inherited; this object closes it
    /// Throws std::system_error if the address cannot be used, std::invalid_argument if it is malformed, or if other machines can reach
    /// it and allow_hosts is empty.
    void start(const std::string& address);
    /// Same, but the first loop is `on` (keel::loop_on for an io_context). Must be called on that loop. With options.threads > 1
    /// the other loops have their own threads.
    void start(const std::string& address, std::shared_ptr<loop> on);
    /// Starts without an address, for requests of the program's own HTTP server: see handle(). Requires allow_hosts: the names of the
    /// program's server, or "*" if it checks Host itself. With `on`, the first loop is `on`, as above. Throws std::invalid_argument.
    void start_mounted();
    void start_mounted(std::shared_ptr<loop> on);
    /// Serves a request that the program's own HTTP server has received; see keel/http_mount.hpp. `to` is not called before this
    /// function returns. TLS and timeouts of connections are left to the program, and monitor_address is not used; all other options
    /// apply. A request counts as a connection of mounted_request::remote_address until its response has ended: 429 or 503 if there are
    /// too many. Throws std::logic_error before start_mounted() or start().
    std::shared_ptr<mounted_call> handle(const mounted_request& r, std::shared_ptr<mounted_response> to);

    /// "http://127.0.0.1:8848/mcp" with the actual port, or "http://unix:/run/x.sock:/mcp"; "" before start().
    std::string url() const;
    /// "http://127.0.0.1:9090" with the actual port of monitor_address; "" without one and before start().
    std::string monitor_url() const;

    /// Whether `ready_path` answers 200 (the default) or 503. Changes nothing else: requests are served in both cases.
    void set_ready(bool on);

    /// Starts a graceful shutdown and returns immediately; see stop().
    void request_stop(duration drain = {});
    /// Graceful shutdown: waits for http_options::unready_time, closes the listener, gives running calls `drain` to finish, then answers them with an error. Blocks until
    /// all connections are closed, at most for the time that keel::limits allows. The `server` itself continues; server::stop()
    /// stops both. Must not be called from a handler (it would wait for itself), nor on a loop of the caller that it serves on.
    void stop(duration drain = {});
    /// Reloads the certificate now. Throws std::runtime_error if it cannot be used; the old one then stays in use.
    void reload_certificate();

private:
    struct impl;
    std::shared_ptr<impl> impl_;
};

}  // namespace keel
