#pragma once

// Asking a silent peer of the older era whether it is still there.

#include "rpc/peer.hpp"

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::rpc {

/// Of one session, of either role, on its loop. A peer that says something of its own accord is not asked.
class keep_alive {
public:
    keep_alive() = default;
    keep_alive(const keep_alive&) = delete;
    keep_alive& operator=(const keep_alive&) = delete;

    /// `silent` is called once, when there was no answer within the interval, in a turn of its own: it may end the session, and with
    /// that us. Does nothing when the interval is zero. What was started before ends.
    void start(const std::shared_ptr<peer>& p, duration interval, std::function<void(peer&)> silent);
    void end();

private:
    class watch;
    std::shared_ptr<watch> watch_;
};

}  // namespace keel::rpc
