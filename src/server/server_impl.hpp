#pragma once

// The implementation of keel::server: sessions, listeners, hooks, and the background thread.

#include "async/epoll_loop.hpp"
#include "server/server_core.hpp"
#include "server/server_session.hpp"

#include <keel/server.hpp>
#include <keel/transport.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace keel::inline KEEL_ABI {

/// A transport with its own listener and connections, such as HTTP, that stops together with the server.
class server_transport {
public:
    server_transport() = default;
    server_transport(const server_transport&) = delete;
    server_transport& operator=(const server_transport&) = delete;
    virtual ~server_transport() = default;
    /// Starts a graceful shutdown, after the server's own sessions were closed. Reports its end with `transport_ended`. Safe to call
    /// from any thread.
    virtual void stop(duration drain) = 0;
};

/// Thread-safe: add, stop and wait may be called from any thread. No callback is called while `mutex` is held.
struct server::impl : std::enable_shared_from_this<server::impl> {
    impl(implementation about, server_options options);
    ~impl();

    /// Serves one connection on a loop. Safe to call from any thread.
    void serve(std::shared_ptr<keel::loop> on, std::unique_ptr<connection> wire, const limits& bounds,
               std::function<void(const connection_end&)> ended, std::string principal = {});
    /// Creates a session without a connection, for transports with their own framing. The caller starts it on its loop. Returns null
    /// while the server is stopping. `ended` is called on that loop.
    std::shared_ptr<server_side::server_session> attach(std::shared_ptr<keel::loop> on,
                                                        std::function<void(const connection_end&)> ended);
    /// Returns false if the server is stopping.
    bool add_transport(std::shared_ptr<server_transport> s);
    void transport_ended(const server_transport* s);

    /// Opens an endpoint on a loop; must be called on its thread. Throws if the address is invalid or in use.
    /// `stdio_ended` is called when the client on standard input and output has disconnected.
    void open(const std::shared_ptr<async::epoll_loop>& on, const endpoint& where, limits bounds, bool drain_is_given,
              std::function<void()> stdio_ended = {});

    /// `keep` is kept alive until all sessions have ended.
    void request_stop(duration drain, std::shared_ptr<void> keep = {});
    connection_end wait();
    void end_background();
    /// Stops the worker threads. Returns the number that did not stop in time.
    std::size_t end_workers();
    void tell_list_changed(list_kind which);
    /// Runs the start hooks if they have not run. Rethrows their exceptions.
    void begin();
    /// Like `begin`, and restarts a stopped server.
    void begin_serving();
    /// Throws std::logic_error once serving has begun.
    void refuse_while_serving(const char* what);
    /// Runs the stop hooks and releases the state that the start hooks returned. Idempotent.
    void finish();
    /// Calls `finish` unless sessions on the caller's loops are still open; the last of these then calls it.
    void finish_if_idle();
    /// Throws std::logic_error if called in a hook, where `what` would wait for itself.
    void refuse_in_hook(const char* what) const;
    bool in_handler() const;
    bool on_background() const;
    void refuse_in_handler(const char* what) const;
    /// Blocks until the background thread has no sessions.
    void wait_for_background();
    static void tell(const server_side::server_core& core, const std::function<void(const connection_end&)>& ended,
                     const connection_end& end);

    std::shared_ptr<server_side::server_core> core;

    struct served {
        std::shared_ptr<server_side::server_session> session;
        std::shared_ptr<keel::loop> loop;
        bool own_streams = false;
        /// One bit per list_kind. At most one message to the loop is pending for all changes.
        std::shared_ptr<std::atomic<unsigned>> changes = std::make_shared<std::atomic<unsigned>>(0);
    };

    struct listening {
        std::shared_ptr<listener> at;
        std::shared_ptr<keel::loop> loop;
    };

    mutable std::mutex mutex;
    std::condition_variable changed;
    std::map<std::uint64_t, served> sessions;
    std::uint64_t next_session = 1;
    std::size_t wired = 0;  // sessions with their own connection
    std::vector<listening> listeners;
    std::vector<std::shared_ptr<server_transport>> transports;
    std::string address;
    bool stopping = false;
    connection_end last;
    std::function<void()> when_idle;  // foreground serving: called when there is nothing left to serve

    std::mutex hook_mutex;  // serializes begin and finish; never held together with `mutex`
    bool begun = false;
    std::uint64_t abandoned_before = 0;          // number of abandoned handlers at the start
    std::atomic<bool> lost_some = false;         // a loop ended before its sessions: their handlers may still run
    std::atomic<std::thread::id> hook_thread{};  // the thread that runs hooks
    std::vector<std::function<detail::started_state()>> start_hooks;
    std::vector<std::function<void()>> stop_hooks;

    std::shared_ptr<async::epoll_loop> background;
    std::thread background_thread;

private:
    bool idle() const noexcept { return sessions.empty() && listeners.empty() && transports.empty(); }
    std::shared_ptr<server_side::server_session> make_session(std::shared_ptr<keel::loop> on,
                                                              std::function<void(const connection_end&)> ended,
                                                              std::string principal, bool own_streams,
                                                              std::uint64_t& key);
    void session_ended(std::uint64_t key, const connection_end& end);
    void check_idle();
};

/// Access to server::impl for src/http and src/program.
struct server_access {
    using impl = server::impl;
    static const std::shared_ptr<impl>& of(server& s) noexcept { return s.impl_; }
};

}  // namespace keel
