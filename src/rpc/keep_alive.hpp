#pragma once

// Pings a silent peer (revisions up to 2025-11-25).

#include "rpc/peer.hpp"

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::rpc {

/// Pings the peer of one session whenever it has sent nothing for an interval. Either role; use on the loop only.
class keep_alive {
public:
    keep_alive() = default;
    keep_alive(const keep_alive&) = delete;
    keep_alive& operator=(const keep_alive&) = delete;

    /// Calls `silent` once if a ping is not answered within `interval`, from posted work: it may end the session, and with it this object.
    /// Replaces an earlier start. Does nothing if `interval` is zero.
    void start(const std::shared_ptr<peer>& p, duration interval, std::function<void(peer&)> silent);
    void end();

private:
    class watch;
    std::shared_ptr<watch> watch_;
};

}  // namespace keel::rpc
