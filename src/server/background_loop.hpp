#pragma once

// The event loop of server::start, on a thread of its own.

#include "async/epoll_loop.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace keel::inline KEEL_ABI::server_side {

/// Started at first use, and again after `end`. Owned by server::impl. Safe to call from any thread.
class background_loop {
public:
    using function = std::function<void(const std::shared_ptr<async::epoll_loop>&)>;

    /// Runs `f` on the loop and waits until it has returned. Rethrows its exception as std::system_error,
    /// std::invalid_argument or std::runtime_error. Throws std::runtime_error if the loop ends first.
    void run(function f);
    /// Null if it does not run.
    std::shared_ptr<async::epoll_loop> loop() const;
    /// True on the background thread.
    bool here() const;
    /// Stops the loop and joins its thread. On the background thread itself, the loop ends with this turn. Idempotent.
    void end();

private:
    std::shared_ptr<async::epoll_loop> start();

    mutable std::mutex mutex_;  // guards both members
    std::shared_ptr<async::epoll_loop> loop_;
    std::thread thread_;
};

}  // namespace keel::server_side
