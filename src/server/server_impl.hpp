#pragma once

// The implementation of keel::server.

#include "async/epoll_loop.hpp"
#include "server/background_loop.hpp"
#include "server/served_set.hpp"
#include "server/server_core.hpp"
#include "server/server_hooks.hpp"

#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI {

/// Owns the parts of a server and connects them. Shared by the server, its transports, and the sessions that outlive it. Safe to call
/// from any thread unless noted.
struct server::impl : std::enable_shared_from_this<server::impl> {
    using end_handler = std::function<void(const connection_end&)>;

    impl(implementation about, server_options options);
    ~impl();

    server_side::server_core& core() const noexcept { return *core_; }
    server_side::server_hooks& hooks() noexcept { return hooks_; }

    /// Runs the start hooks if they have not run. Rethrows their exceptions.
    void begin() { hooks_.start(); }
    /// Like `begin`, and restarts a stopped server.
    void begin_serving();
    /// Opens an endpoint on the background loop. Throws if the address is invalid or in use.
    void open_in_background(const endpoint& where);
    /// Opens an endpoint on a loop; must be called on its thread. Throws if the address is invalid or in use.
    /// `stdio_ended` is called when the client on standard input and output has disconnected.
    void open(const std::shared_ptr<async::epoll_loop>& on, const endpoint& where, limits bounds, bool drain_is_given,
              std::function<void()> stdio_ended = {});
    /// Serves one connection on a loop.
    void serve(std::shared_ptr<keel::loop> on, std::unique_ptr<connection> wire, const limits& bounds,
               end_handler ended, std::string principal = {});
    /// Creates a session without a connection, for transports with their own framing. The caller starts it on its loop. Returns null
    /// while the server is stopping. `ended` is called on that loop.
    std::shared_ptr<server_side::server_session> attach(std::shared_ptr<keel::loop> on, end_handler ended);
    /// Returns false if the server is stopping.
    bool add_transport(std::shared_ptr<server_transport> t) { return served_.add_transport(std::move(t)); }
    void transport_ended(const server_transport* t) { served_.transport_ended(t); }
    bool has_transports() const { return served_.has_transports(); }

    std::string address() const { return served_.address(); }
    std::size_t sessions() const { return served_.sessions(); }
    void tell_list_changed(list_kind which) const { served_.list_changed(which); }

    /// `keep` is kept alive until all sessions have ended.
    void request_stop(duration drain, std::shared_ptr<void> keep = {});
    /// Calls `stopped` once, when all sessions have ended and the stop hooks have run.
    void request_stop_then(duration drain, std::function<void()> stopped);
    /// Blocks until nothing is served. Returns the end of the last session.
    connection_end wait() { return served_.wait(); }
    /// Calls `f` when nothing is left to serve, for serving in the foreground. Empty: no call.
    void on_idle(std::function<void()> f) { served_.on_idle(std::move(f)); }
    /// Waits, stops the background thread, and runs the stop hooks.
    void stop(duration drain);
    /// For the destructor of the server: like `stop`, but sessions on the caller's loops may still be open. The last of these then runs
    /// the stop hooks. Does not wait if it is called in a handler.
    void shut_down();
    /// Stops the worker threads. Returns the number that did not stop in time.
    std::size_t end_workers();

    bool in_handler() const;
    /// Throws std::logic_error if called in a handler, where `what` would wait for itself.
    void refuse_in_handler(const char* what) const;

private:
    void open_transport(const std::shared_ptr<keel::loop>& on, const endpoint& where);
    std::vector<std::shared_ptr<server_transport>> take_transports();
    server_side::served_set::session_maker session_maker(end_handler ended, std::string principal, bool own_streams);

    const std::shared_ptr<server_side::server_core> core_;  // shared with the sessions, which may outlive this object
    server_side::server_hooks hooks_;
    server_side::served_set served_;
    server_side::background_loop background_;
    std::mutex mutex_;  // guards transports_
    std::vector<std::shared_ptr<server_transport>>
        transports_;  // opened by `open`; they own this object too, until it is stopped
};

/// Access to server::impl for src/http and src/program.
struct server_access {
    using impl = server::impl;
    static const std::shared_ptr<impl>& of(server& s) noexcept { return s.impl_; }
};

}  // namespace keel
