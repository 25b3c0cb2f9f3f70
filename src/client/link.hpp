#pragma once

// The transport between a client session and its server: a byte stream or HTTP.

#include "protocol/revision.hpp"
#include "rpc/peer.hpp"

#include <keel/limits.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

/// Callbacks of a link to its session. Called on the loop.
class link_user : public rpc::peer_user {
public:
    /// HTTP, revisions before 2026-07-28: the HTTP session has expired on the server, and its other calls have failed. The user
    /// opens a new one (initialize, notifications/initialized) and then calls link::session_renewed.
    virtual void on_session_lost() = 0;
    /// HTTP, revisions before 2026-07-28: the server's notification stream was interrupted and could not be resumed. Messages
    /// sent meanwhile are lost.
    virtual void on_gap() {}
    /// The notification stream ended for good.
    virtual void on_silence(std::string_view why) { (void)why; }
    /// The server has no notification stream, which is allowed.
    virtual void on_stream_refused(std::string_view why) { (void)why; }

protected:
    ~link_user() = default;
};

struct link_settings {
    keel::limits limits = {};
    std::function<void(std::string_view)> on_stderr = {};
    std::function<void(std::string_view)> report = {};  // for the log
    std::string client_name = {};                       // of this client, for User-Agent
    std::string client_version = {};
};

/// One connection to a server. Used on its loop only. Destroyed after its peer has closed, or with it.
class link {
public:
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    virtual ~link() = default;

    /// Creates and starts the peer. Called once. The user must outlive the peer's last callback.
    virtual std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds, link_user& user) = 0;

    /// Sets the protocol version. Over HTTP it is sent in a header, and decides whether closing a stream cancels the request.
    /// Before a legacy handshake: `modern` is false and the version is empty.
    virtual void speak(bool modern, std::string_view version) {
        (void)modern;
        (void)version;
    }
    /// The legacy handshake is done: HTTP opens the stream for the server's notifications.
    virtual void session_opened() {}
    /// Waits until the server has accepted or rejected that stream.
    virtual task<void> listening() { co_return; }
    /// False if the server has refused the stream that would carry its notifications.
    virtual bool has_notifications() const noexcept { return true; }
    /// Follows on_session_lost: held requests are sent again (`worked`), or fail.
    virtual void session_renewed(bool worked) { (void)worked; }
    /// HTTP: tries the HTTP+SSE transport of 2024-11-05. Returns false if the server does not support it.
    virtual task<bool> fall_back_to_old_transport() { co_return false; }
    virtual bool is_http() const noexcept { return false; }
    /// How a child process exited and its last output on standard error; "" if unknown.
    virtual std::string exit_description() const { return {}; }
    /// Called after the peer has closed: waits, within the limits, until the child process or HTTP session has ended too.
    virtual task<void> ended() { co_return; }
};

/// Creates links to one server. Used on the loop of its client.
class connector {
public:
    connector() = default;
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;
    virtual ~connector() = default;

    /// Throws std::exception with the reason. Cancellation stops the attempt.
    virtual task<std::unique_ptr<link>> connect(std::shared_ptr<loop> on, link_settings how) = 0;
    virtual bool is_http() const noexcept { return false; }
    /// Each connection is a new process, so that a second one does not depend on what the first has done.
    virtual bool starts_process() const noexcept { return false; }
    /// For messages; contains no credentials.
    virtual std::string describe() const = 0;
    /// The key under which the protocol era of this server is remembered.
    virtual std::string identity() const = 0;
};

}  // namespace keel::client_side
