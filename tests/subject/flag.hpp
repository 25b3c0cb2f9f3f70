#pragma once

// A one-time event that coroutines of any loop and worker threads can wait for. keel::event is for one loop only; the
// requests of different clients may run on different loops.

#include <keel/async.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace keel::subject {

class flag {
public:
    /// Idempotent. Safe to call from any thread.
    void raise();
    bool raised() const;
    /// Cancellation: the wait throws.
    task<void> wait();
    /// For worker threads.
    void block() const;

private:
    struct waiter {
        keel::loop& home;  // outlives the waiting coroutine, and therefore this entry
        event woken;
    };
    void forget(const std::shared_ptr<waiter>& w);

    // shared by the threads that raise and wait: loops and worker threads
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<std::shared_ptr<waiter>> waiting_;
    bool raised_ = false;
};

}  // namespace keel::subject
