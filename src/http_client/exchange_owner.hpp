#pragma once

// What an exchange reports to its link.

#include "rpc/peer_core.hpp"

#include <string_view>

namespace keel::inline KEEL_ABI::http_client {

class link_exchange;

/// Implemented by the link, which keeps its parts up to date. Called on the loop. Every function but release() may end the exchange;
/// its memory is valid until it is released.
class exchange_owner {
public:
    /// The server has responded. Returns false if the exchange must not read the response: it was dropped, or will be sent again.
    virtual bool answered(link_exchange& x, int status) = 0;
    /// The connection failed: there is no response, or no end of it.
    virtual void connection_failed(link_exchange& x) = 0;
    /// The session id in the response to initialize; "" if there is none.
    virtual void take_session_id(std::string_view id) = 0;
    /// The server rejected the request; only the body of the error response is missing.
    virtual void refused(link_exchange& x) = 0;
    /// The response was delivered: only the end of the HTTP response is missing.
    virtual void settled(link_exchange& x) = 0;
    /// The call of the exchange fails, unless it has its outcome; the exchange ends.
    virtual void fail(link_exchange& x, rpc::call_outcome outcome) = 0;
    /// Requests the rest of a stream that has ended too early.
    virtual void resume(link_exchange& x, std::string_view last_event_id) = 0;
    /// Ends an exchange. Its memory is kept until none of its functions is on the stack.
    virtual void drop(link_exchange& x) = 0;
    /// The exchange is over, and none of its functions is on the stack any more.
    virtual void release(link_exchange& x) noexcept = 0;

protected:
    ~exchange_owner() = default;
};

}  // namespace keel::http_client
