#pragma once

// What one client wants to hear of, in either era, and telling it. docs/subscriptions.md tells it in full.

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

/// The subscriptions of one session, on its loop. What has changed is kept as marks, one for each thing that was
/// subscribed to, so a client that reads slowly costs no more than its subscriptions.
class subscriber {
public:
    /// `announce_end`: when we end a listen, notifications/cancelled follows its result. For transports without a stream
    /// of its own for each request (SUB-05); on the others the result is all.
    explicit subscriber(server_core& server, bool announce_end = true);
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;
    ~subscriber();

    void start(std::shared_ptr<rpc::peer> peer);
    /// The handshake is done: changed lists of the kinds that were declared are told from now on.
    void begin_legacy(protocol::revision r, bool resources_declared, bool prompts_declared);

    /// Older clients hear of it if it was declared, modern ones on listens that asked for it.
    void list_changed(list_kind which);

    /// resources/subscribe. Throws keel::error(invalid_params) for a bad URI, and for one too many.
    void subscribe(const json::value& params);
    /// resources/unsubscribe. What was not subscribed to is fine.
    void unsubscribe(const json::value& params);

    /// subscriptions/listen: acknowledges, then tells until it is ended; the result. Throws keel::error for a malformed
    /// filter, and when too many listens are open.
    /// Cancellation: nothing more is told; the place is free again in the same turn.
    task<std::string> listen(std::shared_ptr<rpc::request> request, json::value id, json::value params);

    /// We are about to close: listens are answered with their result, and no new ones are taken. Call it before
    /// peer::close, which would answer them with an error.
    void end_gracefully();
    /// The connection is gone.
    void end();

    std::size_t open_listens() const noexcept;
    /// Resources subscribed to, each counted once per listen that names it.
    std::size_t subscriptions() const noexcept;

private:
    class state;
    std::shared_ptr<state> state_;  // running listens and the topic board know it too
};

}  // namespace keel::server_side
