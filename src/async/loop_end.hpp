#pragma once

// Loops that end before those who wait on them, or for them.

#include "async/reactor.hpp"

#include <keel/loop.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace keel::inline KEEL_ABI::detail {

/// A loop as somebody knows it who may outlive it: another thread, or a task of another loop.
/// A loop that is none of the library's own (a test's) must outlive it.
class loop_handle {
public:
    loop_handle() = default;
    explicit loop_handle(loop& l) noexcept {
        if (reactor* ours = l.as_reactor()) weak_ = ours->weak_from_this();
        else other_ = &l;
    }
    /// False, and `work` is dropped unrun, once the loop has ended. Any thread.
    bool post(std::function<void()> work) const {
        if (other_) return other_->post(std::move(work));
        std::shared_ptr<reactor> held = weak_.lock();
        return held && held->post(std::move(work));
    }

private:
    std::weak_ptr<reactor> weak_;
    loop* other_ = nullptr;
};

/// Puts something into the hands of the loop until it ends: destroyed then, or by stop_timer. 0: the loop has ended already.
/// A timer that is never due, since a loop drops its timers when it ends; it keeps no loop busy. On the loop.
inline loop::timer keep_until_end(loop& l, std::shared_ptr<void> what) {
    return l.start_timer(time_point::max(), [kept = std::move(what)] { (void)kept; });
}

}  // namespace keel::detail
