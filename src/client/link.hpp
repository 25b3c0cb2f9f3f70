#pragma once

// What stands between a client's session and its server: a byte stream, or HTTP.

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

/// What a link says to the session that uses it. On the loop.
class link_user : public rpc::peer_user {
public:
    /// HTTP, older revisions: the server does not know our session any more. Its other calls have failed. The session opens a
    /// new one (initialize, notifications/initialized) and then calls link::session_renewed.
    virtual void on_session_lost() = 0;
    /// HTTP, older revisions: the stream on which the server speaks by itself was interrupted, and does not go on where it
    /// stopped: what the server said meanwhile was not heard.
    virtual void on_gap() {}
    /// The same, and it does not go on at all.
    virtual void on_silence(std::string_view why) { (void)why; }

protected:
    ~link_user() = default;
};

struct link_settings {
    keel::limits limits = {};
    std::function<void(std::string_view)> on_stderr = {};
    std::function<void(std::string_view)> report = {};  // for the log
};

/// One connection to a server, from its beginning to its end. Everything on its loop. Destroyed after its peer has closed, or
/// with it.
class link {
public:
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    virtual ~link() = default;

    /// Makes the peer, once, and starts it. The user outlives the peer's last call.
    virtual std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds, link_user& user) = 0;

    /// What is spoken from now on. Over HTTP it goes into headers, and decides what closing a stream means. Before a handshake of
    /// the older era: `modern` false and an empty version.
    virtual void speak(bool modern, std::string_view version) {
        (void)modern;
        (void)version;
    }
    /// The handshake of the older era is done: HTTP opens the stream on which the server speaks by itself.
    virtual void session_opened() {}
    /// Waits until that stream stands, or there is none.
    virtual task<void> listening() { co_return; }
    /// The answer to on_session_lost: requests that wait for the new session go out again, or fail.
    virtual void session_renewed(bool worked) { (void)worked; }
    /// The server spoke the transport of 2024-11-05 all the while: try that (HTTP). False: there is no such thing here.
    virtual task<bool> fall_back_to_old_transport() { co_return false; }
    virtual bool is_http() const noexcept { return false; }
    /// How a child process exited and its last output on standard error; "" if unknown.
    virtual std::string exit_description() const { return {}; }
    /// The peer is closed: waits until what is behind it is gone too (a child). Within the bounds.
    virtual task<void> ended() { co_return; }
};

/// How to make links to one server. Used on the loop of its client.
class connector {
public:
    connector() = default;
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;
    virtual ~connector() = default;

    /// Throws std::exception with the reason. Cancellation: the attempt is dropped.
    virtual task<std::unique_ptr<link>> connect(std::shared_ptr<loop> on, link_settings how) = 0;
    virtual bool is_http() const noexcept { return false; }
    /// A server that says nothing when it is asked for its era is of the older one; and one that dies is to be started again. Not
    /// over HTTP.
    virtual std::string describe() const = 0;
    virtual std::string identity() const = 0;
};

}  // namespace keel::client_side
