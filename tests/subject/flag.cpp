#include "flag.hpp"

#include <algorithm>

namespace keel::subject {

void flag::raise() {
    std::lock_guard lock(mutex_);
    raised_ = true;
    changed_.notify_all();
    // While the lock is held, no waiter in the list can end, so their loops exist.
    for (const auto& w : waiting_) w->home.post([w] { w->woken.set(); });
    waiting_.clear();
}

bool flag::raised() const {
    std::lock_guard lock(mutex_);
    return raised_;
}

void flag::forget(const std::shared_ptr<waiter>& w) {
    std::lock_guard lock(mutex_);
    std::erase(waiting_, w);
}

task<void> flag::wait() {
    detail::activity& here = co_await detail::this_activity{};
    auto mine = std::shared_ptr<waiter>(new waiter{here.loop(), {}});
    {
        std::lock_guard lock(mutex_);
        if (raised_) co_return;
        waiting_.push_back(mine);
    }
    struct leave {
        flag& from;
        const std::shared_ptr<waiter>& who;
        ~leave() { from.forget(who); }
    } on_end{*this, mine};
    co_await mine->woken;
}

void flag::block() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return raised_; });
}

}  // namespace keel::subject
