#pragma once

// Asking a silent client of the older era whether it is still there.

#include "rpc/peer.hpp"
#include "server/server_core.hpp"

#include <memory>

namespace keel::server_side {

/// Of one session, on its loop. A client that says something of its own accord is not asked.
class keep_alive {
public:
    explicit keep_alive(server_core& server) noexcept : server_(server) {}
    keep_alive(const keep_alive&) = delete;
    keep_alive& operator=(const keep_alive&) = delete;

    /// Does nothing when the interval is zero.
    void start(const std::shared_ptr<rpc::peer>& peer, duration interval);
    void end();

private:
    class watch;
    server_core& server_;
    std::shared_ptr<watch> watch_;
};

}  // namespace keel::server_side
