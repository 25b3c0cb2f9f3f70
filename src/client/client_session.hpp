#pragma once

// One connection of a client: its protocol version, its subscriptions and its end.

#include "client/link.hpp"
#include "client/session_user.hpp"
#include "protocol/revision.hpp"
#include "rpc/keep_alive.hpp"

#include <keel/async.hpp>
#include <keel/subscription.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::client_side {

class client_environment;
class shared_state;
class subscription_state;

/// An open subscriptions/listen request (2026-07-28).
struct listen_request {
    explicit listen_request(loop& on) : line(on) {}
    detail::activity line;
    std::shared_ptr<subscription_state> state;
    rpc::serial call = 0;
    event answered;  // acknowledged or failed
    bool acknowledged = false;
    std::exception_ptr failure;
};

/// Owned by the connection_manager while it is the current session, by the tasks that use it, and by itself until it has closed.
class client_session final : public std::enable_shared_from_this<client_session>, public link_user {
public:
    /// `user` keeps the client alive, which has the environment and the shared state.
    client_session(std::shared_ptr<session_user> user, const client_environment& environment,
                   const shared_state& shared, std::unique_ptr<link> via);
    ~client_session();

    void start();
    /// Closes gracefully. `over` is set when everything has ended, including a child process.
    void close();
    /// The loop has ended, so no callback will run any more: releases the reference to itself.
    void abandon() noexcept { self_.reset(); }
    /// False as soon as closing begins, even if handlers are still being cleaned up.
    bool open() const noexcept { return peer_ && !peer_->core().closing() && !closing_; }

    rpc::peer& peer() const noexcept { return *peer_; }
    const std::shared_ptr<rpc::peer>& shared_peer() const noexcept { return peer_; }
    client_side::link& via() const noexcept { return *link_; }

    // ---- protocol version ----
    bool modern() const noexcept { return modern_; }
    protocol::revision revision() const noexcept { return revision_; }
    void speak_modern(std::string_view version);
    void speak_legacy(std::optional<protocol::revision> agreed);
    /// The members of `_meta` in every request of 2026-07-28.
    const std::string& meta() const noexcept { return meta_; }
    /// Called when the log level or the roots have changed, which are part of it.
    void refresh_meta();

    // ---- subscriptions ----
    std::list<std::shared_ptr<listen_request>> listens;
    struct legacy_subscriber {
        std::shared_ptr<subscription_state> state;
        subscription_request wants;
    };
    std::list<legacy_subscriber> subscribers;
    std::map<std::string, std::size_t> subscribed_uris;  // and the number of subscribers
    std::set<std::string> granted_uris;                  // accepted by the server
    std::multiset<std::string> asked_uris;               // requested and not rejected: one entry per request
    void tell(const change& what, const json::value& params);
    void acknowledge(const json::value& params);

    /// Set when the connection and the child process or HTTP session behind it have ended.
    event over;
    /// Set after that, when on_disconnected has returned.
    event end_reported;
    bool adopted = false;        // it was the current session: its end is reported
    std::uint64_t closings = 0;  // number of close() calls when its connect began
    bool closing() const noexcept { return closing_; }
    /// Fires when the connection has ended: for tasks that do not wait for a response.
    std::stop_token gone() const noexcept { return gone_.get_token(); }
    /// "exited with status 3: …"; set when the session is over.
    const std::string& cause() const noexcept { return cause_; }
    json::value capabilities;     // declared by the server
    bool declared_roots = false;  // in the legacy handshake

private:
    void on_request(rpc::peer& p, rpc::serial request, std::string_view method, const json::value* params) override;
    void on_notification(rpc::peer& p, std::string_view method, const json::value* params) override;
    void on_report(std::string_view text) override;
    void on_cancelled(rpc::serial request, std::string_view reason) override;
    void on_handler_failed(rpc::serial request, std::string_view what) override;
    void on_turn_end() noexcept override;
    void on_closed(std::string_view cause, std::size_t abandoned) override;
    void on_session_lost() override;
    void on_gap() override;
    void on_silence(std::string_view why) override;
    void on_stream_refused(std::string_view why) override;
    void end_subscriptions(const std::string& why);
    void watch_for_silence();

    const std::shared_ptr<session_user> user_;
    const client_environment& environment_;
    const shared_state& shared_;
    std::unique_ptr<link> link_;
    std::shared_ptr<rpc::peer> peer_;
    std::shared_ptr<client_session> self_;  // until the session is over
    detail::activity ending_;
    std::stop_source gone_;
    bool modern_ = false;
    bool closing_ = false;
    protocol::revision revision_ = protocol::latest_legacy;
    std::string version_;
    std::string meta_;
    std::string cause_;
    rpc::keep_alive keep_alive_;
};

/// A task that ends with the session.
task<void> end_of(session_ptr s);
/// The reason for the loss of a connection, or `said` if it is unknown. The exit status of a child process is known shortly after its
/// pipe has closed, so this waits for it, at most `patience`.
task<std::string> describe_loss(session_ptr s, std::string said, duration patience);

}  // namespace keel::client_side
