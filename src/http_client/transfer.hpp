#pragma once

// HTTP requests and responses over a pool of keep-alive connections. Independent of MCP.

#include <keel/loop.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

using header_list = std::vector<std::pair<std::string, std::string>>;

struct transfer_request {
    std::string method = "POST";
    std::string path;     // path and query: "/mcp"; "": the path of the pool's URL
    header_list headers;  // excluding Host, Content-Length, Connection
    std::string body;
    bool lasting = false;  // a stream: raises the connection limit by one while it is open
    bool urgent = false;   // sent before other requests, if necessary on one of a few connections beyond the limit
};

/// Valid during the callback only.
struct response_view {
    int status = 0;
    const header_list* headers = nullptr;  // names in lower case
    /// The first header with that name, or "".
    std::string_view header(std::string_view lower_case_name) const noexcept;
    bool has(std::string_view lower_case_name) const noexcept;
};

/// Why a transfer failed.
enum class transfer_failure : unsigned char {
    not_sent,  // connecting failed (name, refused, TLS, proxy, timeout): the server has received nothing
    lost,      // the connection closed or failed after a part of the request was sent, before the response was complete
    malformed,  // the response is not valid HTTP, or too large
};

/// Callbacks of a transfer. Called on the loop; not from inside start or cancel, and not after on_end, on_failure or cancel.
class transfer_user {
public:
    /// The status line and headers, once; not for 1xx and for redirects that are followed.
    virtual void on_response(const response_view&) = 0;
    virtual void on_body(std::string_view bytes) = 0;
    /// The response is complete.
    virtual void on_end() = 0;
    virtual void on_failure(transfer_failure what, std::string_view why) = 0;

protected:
    ~transfer_user() = default;
};

struct pool_options {
    std::string url = {};  // "http://127.0.0.1:8848/mcp"; create() throws std::invalid_argument if it is invalid
    std::string ca_file = {};
    std::optional<std::string> proxy = {};  // see keel::url
    std::size_t max_connections = 64;
    unsigned max_redirects = 5;
    std::size_t max_head = 64 * 1024;
    duration connect_timeout = std::chrono::seconds(30);  // for name resolution, TCP, proxy and TLS together
    duration idle_timeout = std::chrono::seconds(4);      // an idle connection is not reused after this
    duration write_stall = std::chrono::seconds(30);
    /// Reads environment variables for the proxy; std::getenv by default.
    std::function<std::optional<std::string>(const char*)> environment = {};
    std::function<void(std::string_view)> report = {};  // for the log
};

/// The connections to one server. Used on the loop only. Destroying it ends all transfers without callbacks.
class transfer_pool {
public:
    using id = std::uint64_t;  // 0: no transfer

    /// Throws std::invalid_argument if the URL or the proxy is invalid.
    static std::unique_ptr<transfer_pool> create(std::shared_ptr<loop> on, pool_options options);
    virtual ~transfer_pool() = default;

    /// Does not fail immediately: errors are reported by on_failure later.
    virtual id start(transfer_request what, transfer_user& user) = 0;
    /// Ends a transfer without further callbacks. An unsent request is not sent; otherwise the connection is closed. Ignores unknown
    /// and finished transfers.
    virtual void cancel(id which) noexcept = 0;
    /// True while no byte of it has been passed to the kernel.
    virtual bool unsent(id which) const noexcept = 0;
    /// Backpressure: stops or resumes reading the response.
    virtual void pause(id which, bool yes) = 0;
    /// Closes idle connections; transfers continue.
    virtual void close_idle() noexcept = 0;

    struct counts {
        std::size_t connections = 0;  // open connections
        std::size_t idle = 0;
        std::size_t waiting = 0;  // transfers without a connection yet
        std::size_t active = 0;
        std::size_t opened = 0;  // connections opened so far
    };
    virtual counts count() const noexcept = 0;
    /// "http://127.0.0.1:8848", in lower case, without the default port.
    virtual const std::string& origin() const noexcept = 0;
    /// The path and query of the URL.
    virtual const std::string& path() const noexcept = 0;
};

}  // namespace keel::http_client
