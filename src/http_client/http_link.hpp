#pragma once

// MCP over HTTP, client side: each message is a POST, and the server's messages arrive in the responses.

#include "client/link.hpp"
#include "http_client/http_link_exchange.hpp"
#include "http_client/http_link_headers.hpp"
#include "http_client/http_link_listener.hpp"
#include "http_client/legacy_sse.hpp"
#include "http_client/session_delete.hpp"
#include "http_client/transfer.hpp"
#include "rpc/recycling_map.hpp"

#include <keel/async.hpp>
#include <keel/json.hpp>
#include <keel/limits.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

struct http_link_options {
    header_list headers = {};  // sent with every request
    bool allow_old_transport = true;
    std::size_t max_body = 64 * 1024 * 1024;  // bytes of one response or one event
};

/// Used on its loop only. Must not be destroyed in one of its callbacks; open exchanges end without a callback when it is destroyed.
/// Each call gets a response or an error.
class http_link final : public client_side::link,
                        private rpc::message_sink,
                        private rpc::unsent_messages,
                        private rpc::stream_control,
                        private rpc::peer_user {
public:
    /// Throws std::invalid_argument for an invalid or reserved header.
    http_link(std::shared_ptr<loop> on, std::unique_ptr<transfer_pool> pool, http_link_options options);
    ~http_link() override;

    std::shared_ptr<rpc::peer> open(std::shared_ptr<loop> on, const limits& bounds,
                                    client_side::link_user& user) override;
    void speak(bool modern, std::string_view version) override;
    void session_opened() override;
    task<void> listening() override;
    void session_renewed(bool worked) override;
    task<bool> fall_back_to_old_transport() override;
    bool is_http() const noexcept override { return true; }
    task<void> ended() override;

    /// Messages whose response is not complete.
    std::size_t open_exchanges() const noexcept { return live_.size() + dying_.size(); }
    bool has_session() const noexcept { return !terms_.session.empty(); }

private:
    friend class link_exchange;
    friend class link_listener;
    friend class legacy_sse_stream;
    friend class session_delete;

    // rpc::message_sink
    std::string& begin(const rpc::outgoing_message& about) override;
    void end(const rpc::outgoing_message& about) override;
    std::size_t queued_bytes(rpc::stream_id) const noexcept override;
    void flush(time_point now) override;
    rpc::unsent_messages* unsent() noexcept override { return this; }
    rpc::stream_control* streams() noexcept override { return this; }

    // rpc::unsent_messages
    std::size_t withdraw(rpc::serial owner) override;
    rpc::serial owner_of_response(const rpc::request_id& id) const noexcept override;
    std::uint64_t newest() const noexcept override { return next_number_ - 1; }
    std::uint64_t oldest_unsent() const noexcept override;

    // rpc::stream_control
    bool may_send_request(rpc::stream_id) const noexcept override { return !closed_; }
    bool give_up(rpc::serial call) override;

    // rpc::peer_user: forwarded to the user; the link itself needs on_closed.
    void on_request(rpc::peer& p, rpc::serial request, std::string_view method, const json::value* params) override;
    void on_notification(rpc::peer& p, std::string_view method, const json::value* params) override;
    void on_input_end() override { user_->on_input_end(); }
    void on_turn_end() noexcept override { user_->on_turn_end(); }
    void on_report(std::string_view text) override { user_->on_report(text); }
    void on_closed(std::string_view cause, std::size_t abandoned) override;

    // ---- sending (http_link.cpp) ----
    link_exchange& take_exchange();
    bool must_wait(const link_exchange& x) const noexcept;
    void hold(link_exchange& x);
    void release_held();
    void send(link_exchange& x);
    void resume_stream(link_exchange& x, std::string_view last_event_id);
    bool untouched(const link_exchange& x) const noexcept;
    void count(link_exchange& x) noexcept;
    void uncount(link_exchange& x) const noexcept;
    /// Ends an exchange. Its memory is kept until none of its functions is on the stack.
    void drop(link_exchange& x);
    void recycle(link_exchange& x) noexcept;
    void open_gate(const link_exchange& x);

    // ---- receiving (http_link_receive.cpp) ----
    /// An event on an exchange's stream, or (null) on a stream that belongs to no request.
    void take_event(link_exchange* from, const http::sse_event& e);
    void take_message(link_exchange* from, const rpc::message& m);
    /// A message above max_body: it was skipped, and only its beginning is known.
    void take_large_message(std::string_view beginning);
    bool takes_batch(const json::value& v);
    /// The response was delivered: only the end of the HTTP response is missing.
    void mark_settled(link_exchange& x);
    void fail(link_exchange& x, rpc::call_outcome outcome);
    void note(std::string text);
    json::document& document() noexcept { return document_; }
    void sweep();
    void arm_sweep();

    // ---- the session (http_link_session.cpp) ----
    void take_session_id(const response_view& r);
    /// Handles 404 for a message in a session.
    void not_found(link_exchange& x);
    void lose_session();
    void fail_calls_of_dead_sessions(bool accepted_only);

    // ---- the end (http_link_end.cpp) ----
    void delete_session();
    void finish_close();
    template <class F>
    void later(F f);

    const std::shared_ptr<loop> loop_;
    std::unique_ptr<transfer_pool> pool_;
    const http_link_options options_;
    request_terms terms_;
    limits limits_;
    client_side::link_user* user_ = nullptr;
    std::shared_ptr<rpc::peer> peer_;
    json::document document_;
    rpc::rate_limiter reports_{10};

    struct serial_hash {
        std::size_t operator()(rpc::serial n) const noexcept { return static_cast<std::size_t>(n); }
    };
    std::list<link_exchange> live_;
    std::list<link_exchange> dying_;  // over, but still on the stack
    std::list<link_exchange> spare_;
    rpc::recycling_map<rpc::serial, link_exchange*, serial_hash> requests_;
    link_exchange* writing_ = nullptr;      // between begin() and end()
    std::vector<link_exchange*> queued_;    // during this turn
    std::vector<link_exchange*> given_up_;  // during this turn
    std::vector<link_exchange*> held_;
    // A list of unsent exchanges. Those that were sent meanwhile are removed from its front on demand.
    mutable link_exchange* first_unsent_ = nullptr;
    mutable link_exchange* last_unsent_ = nullptr;
    mutable std::size_t unsent_bytes_ = 0;
    std::uint64_t next_number_ = 1;
    loop::timer sweep_ = 0;

    std::uint64_t epoch_ = 1;  // number of the current session
    std::string dead_session_;
    bool renewing_ = false;
    unsigned unproven_ = 0;  // consecutive lost sessions in which the server accepted no request
    // notifications/initialized: other messages are held until the server has answered it.
    const link_exchange* gate_ = nullptr;
    loop::timer gate_timer_ = 0;

    link_listener listener_;
    bool wants_listener_ = false;
    std::unique_ptr<legacy_sse_stream> old_;  // the transport of 2024-11-05

    std::unique_ptr<session_delete> session_delete_;
    bool closed_ = false;
    bool leaving_ = false;
    loop::timer final_ = 0;
    event gone_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();  // expires with the link; posted work checks it
};

template <class F>
void http_link::later(F f) {
    loop_->post([still = std::weak_ptr<char>(alive_), f = std::move(f)] {
        if (!still.expired()) f();
    });
}

}  // namespace keel::http_client
