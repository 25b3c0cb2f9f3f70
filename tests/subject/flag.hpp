#pragma once

// Something that happens once, seen by coroutines of any loop and by worker threads. keel::event is for one loop; the
// requests of different clients may live on different ones.

#include <keel/async.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace keel::subject {

class flag {
public:
    /// From any thread. Once is as good as twice.
    void raise();
    bool raised() const;
    /// Cancellation: the wait throws.
    task<void> wait();
    /// For worker threads.
    void block() const;

private:
    struct waiter {
        keel::loop& home;  // outlives the coroutine that waits, and so this entry in the list
        event woken;
    };
    void forget(const std::shared_ptr<waiter>& w);

    // Whoever raises meets whoever waits: other loops, worker threads.
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<std::shared_ptr<waiter>> waiting_;
    bool raised_ = false;
};

}  // namespace keel::subject
