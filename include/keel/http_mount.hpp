#pragma once

// Keel's endpoint inside the program's own HTTP server: the program reads requests from its clients, passes them to
// http_server::handle, and writes the responses back. See docs/embedding.md.

#include <keel/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

using http_headers = std::vector<std::pair<std::string, std::string>>;

/// A request that the program's HTTP server has received.
struct KEEL_API mounted_request {
    std::string method = {};
    std::string target = {};  // as it was sent, with the path that http_options::path names: "/mcp"
    /// All headers, `Host` included. Headers about the connection and the length of the body are ignored.
    http_headers headers = {};
    std::string body = {};  // without transfer coding
    /// IP address of the client without a port, for quotas, logs and trusted_proxies. "": unknown; like a client on a Unix socket.
    std::string remote_address = {};
};

/// Writes the response to one request. The program implements it. Called on the loop of Keel's worker that serves the request, never
/// after on_end or on_abort, nor after mounted_call::disconnect has taken effect there. Must not block or throw.
class KEEL_API mounted_response {
public:
    mounted_response() = default;
    mounted_response(const mounted_response&) = delete;
    mounted_response& operator=(const mounted_response&) = delete;
    virtual ~mounted_response() = default;

    /// `headers` contains Content-Length if the length is known, otherwise the body is a stream: send it as it arrives. Contains no
    /// headers about the connection.
    virtual void on_head(int status, const http_headers& headers) = 0;
    /// A part of the body, which the program must take. If it returns false, its buffer is full: no more parts follow until
    /// mounted_call::resume.
    virtual bool on_body(std::string_view part) = 0;
    /// The response is complete.
    virtual void on_end() = 0;
    /// The response ends here, incomplete: close the client's connection. on_head may not have been called.
    virtual void on_abort() = 0;
};

/// The program's reference to a request that Keel is serving. Thread-safe. Destroying it has no effect on the request.
class KEEL_API mounted_call {
public:
    mounted_call() = default;
    mounted_call(const mounted_call&) = delete;
    mounted_call& operator=(const mounted_call&) = delete;
    virtual ~mounted_call() = default;

    /// The client has disconnected: a call of revision 2026-07-28 is cancelled; an older one continues, and its client may fetch the
    /// answer later. No function of the response is called afterwards.
    virtual void disconnect() = 0;
    /// After on_body returned false: there is room again.
    virtual void resume() = 0;
};

}  // namespace keel
