#pragma once

// Messages from the server, from any stream or response.

#include "http_common/sse_reader.hpp"
#include "rpc/message.hpp"

#include <keel/json.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class exchange_owner;
class exchange_table;
class http_session;
class link_context;
class link_exchange;

/// Passes messages to the peer, and finds the exchanges whose calls they answer. Owned by the http_link; used on its loop only.
class message_inbox {
public:
    message_inbox(link_context& context, const http_session& session, exchange_table& table,
                  exchange_owner& owner) noexcept
        : context_(context), session_(session), table_(table), owner_(owner) {}
    message_inbox(const message_inbox&) = delete;
    message_inbox& operator=(const message_inbox&) = delete;
    ~message_inbox() = default;

    /// An event on the stream of an exchange, or (null) on a stream that belongs to no request.
    void take_event(link_exchange* from, const http::sse_event& e);
    void take_message(link_exchange* from, const rpc::message& m);
    /// A message above max_body: it was skipped, and only its beginning is known.
    void take_large_message(std::string_view beginning);
    bool takes_batch(const json::value& v);
    /// The arena in which messages are parsed.
    json::document& document() noexcept { return document_; }

private:
    link_context& context_;
    const http_session& session_;
    exchange_table& table_;
    exchange_owner& owner_;
    json::document document_;
};

}  // namespace keel::http_client
