#pragma once

// The connection of a client: connecting, restarting, closing, and the current session.

#include "client/handshake.hpp"
#include "client/restart_backoff.hpp"
#include "client/session_user.hpp"

#include <keel/async.hpp>
#include <keel/client.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::client_side {

class client_environment;
class response_cache;
class shared_state;
class tool_catalog;

/// Owned by detail::client_engine; used on its loop only. Concurrent callers share one attempt to connect or restart. The cache and the
/// tool catalog are cleared with each new session.
///
/// The caller of a function that returns a task must keep the client alive until the task ends, except where noted.
class connection_manager {
public:
    /// `user` gets the callbacks of the sessions. It must be part of the same client.
    connection_manager(const client_environment& environment, shared_state& shared, response_cache& cache,
                       tool_catalog& tools, session_user& user);
    ~connection_manager();
    connection_manager(const connection_manager&) = delete;
    connection_manager& operator=(const connection_manager&) = delete;

    /// The task keeps the client alive.
    task<void> connect();
    /// The task keeps the client alive.
    task<void> close();
    /// The client is destroyed: connect() fails from now on.
    void end() noexcept { phase_ = phase::ended; }
    /// The loop has ended before the client: releases the sessions, which cannot end on it any more.
    void abandon() noexcept;

    /// The current connection, or a new one if the restart policy allows it; null if there is none at the time `due`. Throws
    /// keel::error of kind closed.
    task<session_ptr> ready(time_point due = time_point::max());
    /// The current connection if it is open, else null.
    session_ptr in_use() const noexcept;
    /// The name that the server reported, or its address if it has none; for messages.
    std::string server_name() const;
    /// The server has answered: earlier failed restarts no longer count.
    void server_answered() noexcept { backoff_.reset(); }

    // ---- called for the sessions; see session_user ----
    void connection_lost(const client_session& which) noexcept;
    void session_ended(client_session& which, const std::string& cause);
    /// Performs the handshake again on the same connection.
    void renew_session(session_ptr which);

private:
    struct attempt;  // a connect in progress; concurrent callers wait for it
    enum class phase : unsigned char {
        usable,
        closed,  // by close(): the next call does not restart
        ended,   // the client is destroyed: connect() fails, too
    };

    task<void> connect_once();  // connects, or waits for a connect in progress
    task<session_ptr> connected_again();
    task<std::exception_ptr> restart_once();  // returns the failure, or null
    task<session_ptr> open();
    task<session_ptr> start_session();
    void adopt(const session_ptr& s);
    [[noreturn]] void throw_not_connected() const;

    const client_environment& environment_;
    shared_state& shared_;
    response_cache& cache_;
    tool_catalog& tools_;
    session_user& user_;
    handshake handshake_;
    session_ptr current_;
    std::vector<std::weak_ptr<client_session>> sessions_;  // that have not ended
    std::shared_ptr<attempt> attempt_;
    std::shared_ptr<attempt> restart_;  // including the delay before it
    restart_backoff backoff_;
    phase phase_ = phase::usable;
    std::uint64_t closings_ = 0;  // number of close() calls, so that a waiting task can detect one
    std::stop_source connect_stop_;
    std::optional<std::string> last_cause_;  // why the last connection ended; nullopt: the client was never connected
};

}  // namespace keel::client_side
