#pragma once

// A server over HTTP: the Streamable HTTP transport of every revision on one path, at once.
//
//     keel::http_server web(server);
//     web.start("127.0.0.1:8848");        // http://127.0.0.1:8848/mcp
//     server.wait();

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

/// One HTTP request, as routes and `identify` see it. Good during the call.
class KEEL_API http_request {
public:
    virtual std::string_view method() const noexcept = 0;
    virtual std::string_view path() const noexcept = 0;
    virtual std::string_view query() const noexcept = 0;
    virtual std::string_view body() const noexcept = 0;
    /// The first header of this name (any case); nothing when there is none.
    virtual std::optional<std::string_view> header(std::string_view name) const = 0;

protected:
    ~http_request() = default;
};

struct KEEL_API http_answer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Bounds of what clients can make an HTTP server keep or wait for; those of messages and handlers are keel::limits.
struct KEEL_API http_limits {
    std::size_t max_head = 16 * 1024;        // bytes of request line and headers: 431
    std::size_t max_headers = 100;           // 431
    std::size_t max_body = 4 * 1024 * 1024;  // 413
    /// From the first byte of a request to the end of its headers, and from there to the end of its body: 408.
    duration head_time = std::chrono::seconds(10);
    duration body_time = std::chrono::seconds(30);
    /// A connection on which nothing happens is closed.
    duration idle_time = std::chrono::seconds(75);
    std::size_t max_connections = 16 * 1024;  // 503
    std::size_t max_sessions = 10000;         // of the older revisions: 503
    std::size_t max_streams = 16 * 1024;      // event streams that are open, listens among them: 503
    duration session_idle = std::chrono::minutes(30);
    /// Events kept for clients that come back (Last-Event-ID), for each session; 0 events: none.
    std::size_t max_events = 1000;
    std::size_t max_event_bytes = 8 * 1024 * 1024;
    /// How long a stream that has ended can still be fetched.
    duration ended_stream = std::chrono::seconds(60);
    /// A comment is sent on a stream that has been quiet for this long.
    duration keep_alive = std::chrono::seconds(15);
};

struct KEEL_API http_options {
    std::string path = "/mcp";
    /// Loops, each with a thread; 0: one for each processor. A connection stays on its loop, and so does a session.
    unsigned threads = 0;
    enum class answer_form : unsigned char { as_needed, json, events };
    /// as_needed: JSON when the handler said nothing before its answer, an event stream as soon as it does. json: always JSON,
    /// and what is said on the way is dropped. events: always a stream.
    answer_form answers = answer_form::as_needed;
    /// Older clients get no session: each of their requests stands alone, and they cannot be asked anything.
    bool stateless = false;

    /// Further names under which clients may reach us ("mcp.example.com", with a port or without). A server on a loopback
    /// address answers to the names of loopback only unless they are listed here: a web page cannot be made to talk to it by DNS.
    std::vector<std::string> allow_hosts = {};
    /// Web pages that may use this server ("https://app.example.com", "*"): they are allowed, and told so (CORS).
    std::vector<std::string> allow_origins = {};

    /// PEM files; both or none. Looked at again now and then: a renewed certificate needs no restart.
    std::string tls_certificate = {};
    std::string tls_key = {};

    /// The transport of 2024-11-05, deprecated since: a stream at `sse_path`, messages to `message_path`.
    bool old_sse = false;
    std::string sse_path = "/sse";
    std::string message_path = "/messages";

    std::string health_path = "/health";    // "": none
    std::string metrics_path = "/metrics";  // "": none; Prometheus text
    /// The embedding program's own pages: asked for every path that is not ours. Called on any of the loops; must not block.
    std::function<std::optional<http_answer>(const http_request&)> route = {};
    /// Who sends this request: a name for context::principal(), or nothing, which answers 401. Called for every request to the
    /// protocol's paths, on any of the loops; must not block. A session belongs to who has opened it.
    std::function<std::optional<std::string>(const http_request&)> identify = {};

    http_limits limits = {};
};

/// Threads: everything may be called from any thread. Outlive it with the server.
class KEEL_API http_server {
public:
    /// Throws std::invalid_argument for options that cannot be, std::runtime_error for a certificate that cannot be used.
    explicit http_server(server& s, http_options options = {});
    /// Stops. What is served on a loop of the caller's ends there, in its own time.
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// Serves in the background, on threads of its own. `address` is HOST:PORT, or a port alone, which is
    /// one of 127.0.0.1; port 0 lets the system choose. Throws
    /// std::system_error when it cannot be used.
    void start(const std::string& address);
    /// The first loop is one of the caller's (keel::loop_on for an io_context), who calls this there; with options.threads > 1
    /// the others have threads of their own.
    void start(const std::string& address, std::shared_ptr<loop> on);
    /// "http://127.0.0.1:8848/mcp", with the port that was chosen; "" before start.
    std::string url() const;

    /// Begins to stop and returns.
    void request_stop(duration drain = {});
    /// Listens no more; running calls get `drain`, then they are answered with an error; returns when all of it has ended, within
    /// the bounds of keel::limits whatever clients do. The server itself goes on. server::stop does this too. Not in a
    /// handler; with a loop of the caller's, on another thread, while that loop runs.
    void stop(duration drain = {});
    /// The certificate is read again, now. Throws when it cannot be used; the old one then stays.
    void reload_certificate();

private:
    struct impl;
    std::shared_ptr<impl> impl_;
};

}  // namespace keel
