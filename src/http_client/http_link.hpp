#pragma once

// MCP over HTTP, client side: each message is a POST, and the server's messages arrive in the responses.

#include "client/link.hpp"
#include "http_client/exchange_sweep.hpp"
#include "http_client/exchange_table.hpp"
#include "http_client/handshake_gate.hpp"
#include "http_client/http_link_listener.hpp"
#include "http_client/http_session.hpp"
#include "http_client/legacy_sse.hpp"
#include "http_client/link_closing.hpp"
#include "http_client/link_context.hpp"
#include "http_client/message_inbox.hpp"
#include "http_client/message_outbox.hpp"
#include "http_client/session_recovery.hpp"
#include "http_client/transfer.hpp"
#include "http_client/unsent_exchanges.hpp"

#include <keel/limits.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

struct http_link_options {
    header_list headers = {};  // sent with every request
    bool allow_old_transport = true;
    std::size_t max_body = 64 * 1024 * 1024;  // bytes of one response or one event
};

/// Connects the parts of a link, which do the work, and is what they report to. Each call gets a response or an error. Owned by the
/// client session; used on its loop only. Must not be destroyed in one of its callbacks; open exchanges end without a callback when it
/// is destroyed.
class http_link final : public client_side::link, private rpc::peer_user, private exchange_owner {
public:
    /// Throws std::invalid_argument for an invalid or reserved header.
    http_link(std::shared_ptr<loop> on, std::unique_ptr<transfer_pool> pool, http_link_options options);
    ~http_link() override;

    std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds,
                                    client_side::link_user& user) override;
    void speak(bool modern, std::string_view version) override { session_.speak(modern, version); }
    void session_opened() override;
    task<void> listening() override;
    bool has_notifications() const noexcept override;
    void session_renewed(bool worked) override;
    task<bool> fall_back_to_old_transport() override;
    bool is_http() const noexcept override { return true; }
    task<void> ended() override;

    /// Messages whose response is not complete.
    std::size_t open_exchanges() const noexcept { return table_.size(); }
    bool has_session() const noexcept { return session_.has_id(); }

private:
    // rpc::peer_user: forwarded to the user; the link itself needs on_closed.
    void on_request(rpc::peer& p, rpc::serial request, std::string_view method, const json::value* params) override;
    void on_notification(rpc::peer& p, std::string_view method, const json::value* params) override;
    void on_input_end() override { context_.user().on_input_end(); }
    void on_turn_end() noexcept override { context_.user().on_turn_end(); }
    void on_report(std::string_view text) override { context_.user().on_report(text); }
    void on_cancelled(rpc::serial request, std::string_view reason) override {
        context_.user().on_cancelled(request, reason);
    }
    void on_handler_failed(rpc::serial request, std::string_view what) override {
        context_.user().on_handler_failed(request, what);
    }
    void on_closed(std::string_view cause, std::size_t abandoned) override;

    // exchange_owner
    bool answered(link_exchange& x, int status) override;
    void connection_failed(link_exchange& x) override;
    void take_session_id(std::string_view id) override;
    void refused(link_exchange& x) override;
    void settled(link_exchange& x) override;
    void fail(link_exchange& x, rpc::call_outcome outcome) override;
    void resume(link_exchange& x, std::string_view last_event_id) override { outbox_.resume_stream(x, last_event_id); }
    void drop(link_exchange& x) override;
    void release(link_exchange& x) noexcept override { table_.recycle(x); }

    void open_listener();
    void send_held();
    void leave_old_transport() noexcept;
    void release_everything();

    const bool allow_old_transport_;
    link_context context_;
    http_session session_;
    message_inbox inbox_{context_, session_, table_, *this};
    exchange_table table_{context_, inbox_, *this};
    unsent_exchanges unsent_{context_, table_, *this};
    exchange_sweep sweep_{context_, table_, *this};
    handshake_gate gate_;
    message_outbox outbox_{{context_, session_, table_, unsent_, gate_, sweep_, *this}};
    link_listener listener_;
    session_recovery recovery_{{context_, session_, table_, unsent_, outbox_, listener_, *this}};
    std::unique_ptr<legacy_sse_stream> old_;  // the transport of 2024-11-05
    link_closing closing_;
};

}  // namespace keel::http_client
