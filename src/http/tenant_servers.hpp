#pragma once

// The servers that the program creates for sessions and principals (http_options::server_for).

#include "async/worker_pool.hpp"
#include "server/server_impl.hpp"

#include <keel/http_server.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

/// A server of the program, and who uses it: the cache below, sessions, and connections. When the last user releases it, the server is
/// destroyed unless the program keeps it, on a thread that may wait for its handlers.
struct tenant {
    std::shared_ptr<keel::server> owner;  // null for the server of the http_server itself
    std::shared_ptr<server_access::impl> server;
};

/// Why there is no server: the status and the text of the response. The log has the reason.
struct tenant_refusal {
    int status = 0;
    std::string_view message;
};

struct tenant_result {
    std::shared_ptr<const tenant> found;  // null: see `refused`
    tenant_refusal refused = {};
};

/// Safe to call from any thread. The function of the program is called without a lock that other principals need.
class tenant_servers {
public:
    /// `base` is the server of the http_server; without a factory it serves everybody.
    tenant_servers(std::shared_ptr<server_access::impl> base, const http_options& options);
    tenant_servers(const tenant_servers&) = delete;
    tenant_servers& operator=(const tenant_servers&) = delete;

    bool enabled() const noexcept { return static_cast<bool>(make_); }
    /// The server for a new session.
    tenant_result for_session(std::string_view principal) const;
    /// The server for requests without a session: the same one for all requests of a principal, while it is used.
    tenant_result for_principal(std::string_view principal, time_point now);
    /// Releases the servers of principals that were idle for too long.
    void check_idle(time_point now);
    /// Releases all servers, and waits at most `bound` for those that are being destroyed. Call it when nothing is served any more.
    void end(duration bound);
    /// Number of servers that exist for principals.
    std::size_t size() const;

private:
    struct entry {
        std::mutex creating;  // held while the program creates the server: others who want the same one wait
        // Guarded by the mutex of the table, except that the creator reads it.
        std::shared_ptr<const tenant> made;
        time_point used{};
        std::size_t waiting = 0;  // threads that have a reference to this entry
    };

    tenant_result create(std::string_view principal, bool session) const;
    std::shared_ptr<const tenant> release_oldest();

    const std::shared_ptr<server_access::impl> base_;
    const std::shared_ptr<const tenant> common_;
    const std::function<std::shared_ptr<keel::server>(const server_request&)> make_;
    const std::size_t most_;
    const duration idle_;
    // Destroys servers: that waits for their handlers, which a loop must not do.
    const std::shared_ptr<async::worker_pool> cleaner_ = std::make_shared<async::worker_pool>(1);

    mutable std::mutex mutex_;  // guards the table
    std::map<std::string, std::shared_ptr<entry>, std::less<>> entries_;
};

}  // namespace keel::http
