#pragma once

// The messages that a peer sends over HTTP: each becomes a POST.

#include "http_client/exchange_table.hpp"
#include "rpc/message_sink.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

class exchange_sweep;
class handshake_gate;
class http_session;
class link_context;
class unsent_exchanges;

/// The message sink of the peer: takes its messages, and sends them at the end of the turn or holds them until they can be sent. Owned
/// by the http_link; used on its loop only.
class message_outbox final : public rpc::message_sink, private rpc::stream_control {
public:
    /// The parts of a link that sending uses.
    struct parts {
        link_context& context;
        http_session& session;
        exchange_table& table;
        unsent_exchanges& unsent;
        handshake_gate& gate;
        exchange_sweep& sweep;
        exchange_owner& owner;
    };

    explicit message_outbox(const parts& link) noexcept : link_(link) {}
    ~message_outbox() override = default;

    /// The path for POST requests over the transport of 2024-11-05, or null; read for every message.
    void use_endpoint(const std::string* path) noexcept { endpoint_ = path; }
    /// Holds an exchange until release_held(); it must not have a transfer.
    void hold(link_exchange& x);
    /// Sends the held messages, unless they have to wait longer.
    void release_held();
    /// Returns the held messages, which the caller has to end.
    std::vector<link_exchange*> take_held() noexcept;
    /// Requests the rest of a stream that has ended too early.
    void resume_stream(link_exchange& x, std::string_view last_event_id);
    /// The exchange is about to end.
    void forget(const link_exchange& x) noexcept;

    // rpc::message_sink
    std::string& begin(const rpc::outgoing_message& about) override;
    void end(const rpc::outgoing_message& about) override;
    std::size_t queued_bytes(rpc::stream_id) const noexcept override;
    void flush(time_point now) override;
    rpc::unsent_messages* unsent() noexcept override;
    rpc::stream_control* streams() noexcept override { return this; }

private:
    // rpc::stream_control
    bool may_send_request(rpc::stream_id) const noexcept override;
    bool give_up(rpc::serial call) override;

    bool must_wait(const link_exchange& x) const noexcept;
    void send(link_exchange& x);

    const parts link_;
    const std::string* endpoint_ = nullptr;
    link_exchange* writing_ = nullptr;      // between begin() and end()
    std::vector<link_exchange*> queued_;    // during this turn
    std::vector<link_exchange*> given_up_;  // during this turn
    std::vector<link_exchange*> held_;
};

}  // namespace keel::http_client
