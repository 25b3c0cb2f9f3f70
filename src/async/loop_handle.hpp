#pragma once

// For code that waits on a loop which may end first.

#include "async/reactor.hpp"

#include <keel/loop.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace keel::inline KEEL_ABI::async {

/// A weak reference to a loop, for another thread or a task on another loop that may outlive it.
/// A loop that is not one of the library's own (a test's loop) must outlive the handle.
class loop_handle {
public:
    loop_handle() = default;
    explicit loop_handle(loop& l) noexcept {
        if (reactor* ours = l.as_reactor()) weak_ = ours->weak_from_this();
        else other_ = &l;
    }
    /// Returns false and drops `work` if the loop has ended. Safe to call from any thread.
    bool post(std::function<void()> work) const {
        if (other_) return other_->post(std::move(work));
        std::shared_ptr<reactor> held = weak_.lock();
        return held && held->post(std::move(work));
    }

private:
    std::weak_ptr<reactor> weak_;
    loop* other_ = nullptr;
};

/// Lets the loop own `what` until the loop ends or stop_timer is called with the returned timer. Returns 0 if the loop has already
/// ended. Must be called on the loop.
/// It is a timer that is never due: a loop drops its timers when it ends, and such a timer does not keep a loop running.
inline loop::timer keep_until_end(loop& l, std::shared_ptr<void> what) {
    return l.start_timer(time_point::max(), [kept = std::move(what)] { (void)kept; });
}

}  // namespace keel::async
