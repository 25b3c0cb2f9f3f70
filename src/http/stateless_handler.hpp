#pragma once

// Serves the requests without a session on one HTTP connection: those of 2026-07-28, and of older revisions if
// http_options::stateless is set.

#include "http/answer_watcher.hpp"
#include "http/client_quotas.hpp"
#include "http/tenant_servers.hpp"
#include "rpc/message_sink.hpp"
#include "server/server_session.hpp"

#include <keel/http_server.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::http {

class http_connection;
class http_worker;

/// Has its own peer. HTTP has one request at a time on a connection, so the peer's connection is the HTTP connection: if it
/// breaks, a 2026-07-28 request is cancelled, as on other transports; an older one continues,
/// and its answer is dropped. Lives until its server_session has ended.
class stateless_handler final : public rpc::message_sink,
                                private rpc::stream_control,
                                public answer_watcher,
                                public std::enable_shared_from_this<stateless_handler> {
public:
    /// Returns null while the server is stopping. `by` is the server of this principal.
    static std::shared_ptr<stateless_handler> create(http_connection& c, std::shared_ptr<const tenant> by,
                                                     std::string_view principal);
    ~stateless_handler() override = default;
    stateless_handler(http_connection& c, std::shared_ptr<const tenant> by, std::string_view principal);

    /// The answer is sent on the connection, in this form.
    void receive_request(const rpc::message& message, http_options::answer_form form);
    /// The caller sends the HTTP response (202).
    void receive_notification(const rpc::message& message);
    server_side::server_session& session() noexcept { return *session_; }
    bool ended() const noexcept { return !session_; }
    /// How many more calls the quota of the client allows.
    std::size_t client_room() const noexcept;
    const tenant& by() const noexcept { return *by_; }
    /// The principal whose server this is.
    const std::string& tenant_principal() const noexcept { return principal_; }
    void connection_closed();

    // answer_watcher
    void on_gone() override;
    void on_drained() override;
    void on_quiet() override;

private:
    // rpc::message_sink
    std::string& begin(const rpc::outgoing_message& about) override;
    void end(const rpc::outgoing_message& about) override;
    std::size_t queued_bytes(rpc::stream_id) const noexcept override;
    void flush(time_point now) override;
    rpc::stream_control* streams() noexcept override { return this; }

    // rpc::stream_control
    bool may_send_request(rpc::stream_id) const noexcept override { return false; }  // in no revision
    void on_unanswered(rpc::stream_id on, const rpc::request_id& id) override;

    bool is_sent(const rpc::outgoing_message& about) const noexcept;
    void open_stream();

    http_connection* connection_;  // null if it is closed
    keel::http::http_worker& worker_;
    const std::shared_ptr<const tenant> by_;
    const std::string principal_;
    std::shared_ptr<server_side::server_session> session_;
    std::string discarded_;           // takes messages that are not sent
    std::string* writing_ = nullptr;  // between begin and end
    rpc::stream_id stream_ = 0;       // of the current request; each request has its own
    counted_calls calls_;
    bool listening_ = false;  // the current request is subscriptions/listen, which only waits
    http_options::answer_form form_ = http_options::answer_form::as_needed;
};

}  // namespace keel::http
