#pragma once

// Everything that a server has open: sessions, listeners and transports.

#include "server/session_table.hpp"

#include <keel/transport.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// A transport with its own listener and connections, such as HTTP, that stops together with the server.
class server_transport {
public:
    server_transport() = default;
    server_transport(const server_transport&) = delete;
    server_transport& operator=(const server_transport&) = delete;
    virtual ~server_transport() = default;
    /// Starts a graceful shutdown, after the server's own sessions were closed. Reports its end with
    /// `server::impl::transport_ended`. Safe to call from any thread.
    virtual void stop(duration drain) = 0;
    /// Waits until it has ended and joins its threads. Does not wait if it is called on one of these.
    virtual void wait_and_join() = 0;
};

}  // namespace keel

namespace keel::inline KEEL_ABI::server_side {

/// Accepts sessions, listeners and transports until `stop`, and reports when none is left. Owned by server::impl. Safe to call from
/// any thread; no callback is called while the mutex is held.
class served_set {
public:
    /// Creates the session with this key. Called under the mutex: it must not call this object.
    using session_maker = std::function<std::shared_ptr<server_session>(std::uint64_t key)>;
    struct admission {
        std::uint64_t key = 0;
        std::shared_ptr<server_session> session;  // null if refused
        const char* refusal = nullptr;            // the reason
    };
    /// Adds a session with its own connection, unless there are `max_connections` already.
    admission add_connection(std::shared_ptr<keel::loop> on, std::size_t max_connections, const session_maker& make);
    /// Adds a session of a transport with its own framing. Returns null if stopped.
    std::shared_ptr<server_session> add_session(std::shared_ptr<keel::loop> on, const session_maker& make);
    /// Removes the session and releases it in a later turn of its loop, because it may be on the stack. Idempotent.
    void session_ended(std::uint64_t key, const connection_end& end);

    void add_listener(std::shared_ptr<listener> l, std::shared_ptr<keel::loop> on);
    /// Returns false if stopped.
    bool add_transport(std::shared_ptr<server_transport> t);
    /// Idempotent.
    void transport_ended(const server_transport* t);

    struct listening {
        std::shared_ptr<listener> at;
        std::shared_ptr<keel::loop> loop;
    };
    /// What the caller of `stop` must close.
    struct stopped {
        std::vector<listening> listeners;
        std::vector<std::pair<std::uint64_t, session_entry>> sessions;
        std::vector<std::shared_ptr<server_transport>> transports;
    };
    /// Refuses new entries from now on, and removes the listeners.
    stopped stop();
    /// Accepts entries again.
    void resume();

    /// Blocks until nothing is left. Returns the end of the last session.
    connection_end wait();
    /// Blocks until no session runs on this loop.
    void wait_for(const std::shared_ptr<keel::loop>& l);
    /// `f` is called whenever nothing is left, on the thread that removed the last entry. Empty: no call.
    void on_idle(std::function<void()> f);
    /// `f` is called once, when nothing is left after `stop`.
    void on_stopped(std::function<void()> f);
    /// Calls the functions of `on_idle` and `on_stopped` if nothing is left, and wakes the waiting threads. `ending` is the loop of an
    /// object that is on the stack: the functions of `on_stopped` run in a later turn of it.
    void check_idle(keel::loop* ending = nullptr);
    /// True if nothing is served after `stop`.
    bool resting() const;

    std::size_t sessions() const;
    bool has_transports() const;
    /// True if a session runs on the loop of this thread.
    bool any_here() const;
    /// The address of the newest listener or transport.
    std::string address() const;
    void set_address(std::string text);
    /// Tells all sessions, on their loops, that a list has changed.
    void list_changed(list_kind which) const;

private:
    bool idle() const noexcept { return sessions_.empty() && listeners_.empty() && transports_.empty(); }
    admission add(std::shared_ptr<keel::loop> on, bool own_streams, const session_maker& make);

    mutable std::mutex mutex_;  // guards all members
    std::condition_variable changed_;
    session_table sessions_;
    std::vector<listening> listeners_;
    std::vector<std::shared_ptr<server_transport>> transports_;
    std::string address_;
    bool stopped_ = false;
    connection_end last_;
    std::function<void()> on_idle_;
    std::vector<std::function<void()>> on_stopped_;
};

}  // namespace keel::server_side
