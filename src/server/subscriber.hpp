#pragma once

// The subscriptions of one client and their notifications, in all revisions. See docs/subscriptions.md.

#include "protocol/revision.hpp"
#include "rpc/peer.hpp"
#include "rpc/request.hpp"

#include <keel/json.hpp>
#include <keel/task.hpp>
#include <keel/types.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace keel::inline KEEL_ABI::server_side {

class server_core;

inline constexpr std::size_t list_kinds = 3;

/// Used on the session's loop only. Pending changes are flags, one per subscription, so a client that reads slowly costs no
/// more memory than its subscriptions.
class subscriber {
public:
    /// `announce_end`: send notifications/cancelled after the result when the server ends a listen. For transports without one
    /// stream per request (SUB-05).
    explicit subscriber(server_core& server, bool announce_end = true);
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;
    ~subscriber();

    void start(std::shared_ptr<rpc::peer> peer);
    /// Called after the handshake: from now on changes of the declared lists are sent.
    void begin_legacy(protocol::revision r, bool resources_declared, bool prompts_declared);

    /// Sent up to 2025-11-25 if the capability was declared, in 2026-07-28 on listens that requested it.
    void list_changed(list_kind which);

    /// resources/subscribe. Throws keel::error (invalid params) for an invalid URI or too many subscriptions.
    void subscribe(const json::value& params);
    /// resources/unsubscribe. Ignores unknown URIs.
    void unsubscribe(const json::value& params);

    /// subscriptions/listen: acknowledges, then sends notifications until the listen is ended. Returns the result. Throws keel::error
    /// if the filter is invalid or too many listens are open. Cancellation frees the listen in the same turn.
    task<std::string> listen(std::shared_ptr<rpc::request> request, json::value id, json::value params);

    /// Ends all listens with their result and accepts no new ones. Call it before peer::close, which would end them with an
    /// error.
    void end_gracefully();
    /// The connection is closed.
    void end();

    std::size_t open_listens() const noexcept;
    /// Number of subscribed resources, counted once per listen.
    std::size_t subscriptions() const noexcept;

private:
    class state;
    std::shared_ptr<state> state_;  // shared with running listens and the topic board
};

}  // namespace keel::server_side
