#pragma once

// Agreeing on a protocol revision: the version probe, and the handshake of revisions before 2026-07-28 (PROTOCOL 1.1).

#include "client/session_user.hpp"

#include <keel/client.hpp>

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::client_side {

class client_environment;
class shared_state;

/// Owned by the connection_manager; used on its loop only. It has no state of a connection: several handshakes may run at a time.
/// The caller must keep the client alive until the tasks end.
class handshake {
public:
    /// Starts a session: connects to the server or starts a child process.
    using session_starter = std::function<task<session_ptr>()>;

    handshake(const client_environment& environment, shared_state& shared);

    /// Starts a session and agrees on a revision; starts another session if the first one ends because of the probe, or if it is a
    /// child process that rejects `initialize` after the probe. `last` is set
    /// to each session that was started, so that the caller can tell why it ended. `start` and `last` must outlive the task.
    /// Cancellation: the session is closed.
    task<session_ptr> open(const session_starter& start, session_ptr& last);
    /// The handshake of revisions before 2026-07-28, on an open session.
    task<void> initialize(session_ptr s);
    /// Sets the requested log level in a new session of a revision before 2026-07-28. Runs in the background and keeps the client alive.
    void restore_level(session_ptr s);

private:
    enum class verdict : unsigned char { modern, legacy };

    task<verdict> probe(session_ptr s);
    task<void> initialize_with_fallback(session_ptr s);
    task<void> send_level(session_ptr s);

    const client_environment& environment_;
    shared_state& shared_;
    const std::shared_ptr<era_memory> eras_;
};

}  // namespace keel::client_side
