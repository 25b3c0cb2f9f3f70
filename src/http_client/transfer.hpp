#pragma once

// One HTTP request of ours and its response, over a pool of connections that are kept alive. Knows nothing of MCP.

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
    std::string path;     // of the URL, with its query: "/mcp"; "" is the pool's own
    header_list headers;  // without Host, Content-Length, Connection
    std::string body;
    bool lasting = false;  // a stream, which is one connection more for as long as it is open
    bool urgent = false;   // before those that are not, and on one of a few connections beyond the bound if need be
};

/// Good during the call.
struct response_view {
    int status = 0;
    const header_list* headers = nullptr;  // names in lower case
    /// The first of that name; "" when there is none.
    std::string_view header(std::string_view lower_case_name) const noexcept;
    bool has(std::string_view lower_case_name) const noexcept;
};

/// Why a transfer failed.
enum class transfer_failure : unsigned char {
    not_sent,   // no connection could be had (name, refusal, TLS, proxy, time): the server has seen nothing
    lost,       // the connection ended or broke after the request began to leave, before its response was complete
    malformed,  // what came is no HTTP, or too large
};

/// Who hears of a transfer, on the loop. Not called from inside start or cancel, and not after on_end, on_failure or cancel.
class transfer_user {
public:
    /// The status line and headers, once; not of 1xx, and not of redirections that are followed.
    virtual void on_response(const response_view&) = 0;
    virtual void on_body(std::string_view bytes) = 0;
    /// The response is complete.
    virtual void on_end() = 0;
    virtual void on_failure(transfer_failure what, std::string_view why) = 0;

protected:
    ~transfer_user() = default;
};

struct pool_options {
    std::string url = {};  // "http://127.0.0.1:8848/mcp"; throws std::invalid_argument when it is none
    std::string ca_file = {};
    std::optional<std::string> proxy = {};  // see keel::url
    std::size_t max_connections = 64;
    unsigned max_redirects = 5;
    std::size_t max_head = 64 * 1024;
    duration connect_timeout = std::chrono::seconds(30);  // name, TCP, proxy, TLS together
    duration idle_timeout = std::chrono::seconds(4);      // an idle connection is not used again after this
    duration write_stall = std::chrono::seconds(30);
    /// The environment, for the proxy; getenv by default.
    std::function<std::optional<std::string>(const char*)> environment = {};
    std::function<void(std::string_view)> report = {};  // for the log
};

/// The connections to one server. Everything on the loop. Destroying it ends every transfer without a word.
class transfer_pool {
public:
    using id = std::uint64_t;  // 0 is none

    /// Throws std::invalid_argument for a URL that cannot be used.
    static std::unique_ptr<transfer_pool> create(std::shared_ptr<loop> on, pool_options options);
    virtual ~transfer_pool() = default;

    /// Never fails at once: what is wrong is told to the user later.
    virtual id start(transfer_request what, transfer_user& user) = 0;
    /// The user hears no more. What has not begun to leave never leaves; else the connection is closed, which the server sees. An
    /// unknown or finished one is fine.
    virtual void cancel(id which) noexcept = 0;
    /// True while nothing of it has been handed to the system.
    virtual bool unsent(id which) const noexcept = 0;
    /// For a stream that is being read too slowly by its user: stops reading it for a while.
    virtual void pause(id which, bool yes) = 0;
    /// Idle connections are closed; transfers go on.
    virtual void close_idle() noexcept = 0;

    struct counts {
        std::size_t connections = 0;  // open ones
        std::size_t idle = 0;
        std::size_t waiting = 0;  // transfers without a connection yet
        std::size_t active = 0;
        std::size_t opened = 0;  // connections made since the beginning
    };
    virtual counts count() const noexcept = 0;
    /// "http://127.0.0.1:8848", in lower case, without a port that is the usual one.
    virtual const std::string& origin() const noexcept = 0;
    /// The path and query of the URL.
    virtual const std::string& path() const noexcept = 0;
};

}  // namespace keel::http_client
