#pragma once

// What happens to the messages of a lost session (D18). http_session decides, this class acts.

#include "http_client/http_link_exchange.hpp"

#include <vector>

namespace keel::inline KEEL_ABI::http_client {

class exchange_table;
class http_session;
class link_context;
class link_listener;
class message_outbox;
class unsent_exchanges;

/// Holds the messages that can be sent again in the next session, and fails the calls that cannot. Owned by the http_link; used on its
/// loop only.
class session_recovery {
public:
    /// The parts of a link that a lost session concerns.
    struct parts {
        link_context& context;
        http_session& session;
        exchange_table& table;
        unsent_exchanges& unsent;
        message_outbox& outbox;
        link_listener& listener;
        exchange_owner& owner;
    };

    explicit session_recovery(const parts& link) noexcept : link_(link) {}
    session_recovery(const session_recovery&) = delete;
    session_recovery& operator=(const session_recovery&) = delete;
    ~session_recovery() = default;

    /// Handles 404 for a message in a session.
    void not_found(link_exchange& x);
    /// The current session has expired on the server.
    void lose();
    /// The client has opened a new session, or failed to. Returns true if messages can be sent again: the caller releases them.
    bool renewed(bool worked);

private:
    void hold_unsent_messages();
    void fail_calls_of_dead_sessions(bool accepted_only);
    void fail(const std::vector<rpc::serial>& calls, const char* why);

    const parts link_;
};

}  // namespace keel::http_client
