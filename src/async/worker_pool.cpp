#include "async/worker_pool.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace keel::inline KEEL_ABI::async {

struct worker_pool::state {
    // Protects all members: used by submitters, by the threads of the pool and by shut_down.
    mutable std::mutex mutex;
    std::condition_variable work_or_end;
    std::condition_variable thread_ended;

    struct worker {
        std::thread thread;
        bool ended = false;
    };

    std::size_t most = 0;
    escaped_handler escaped;
    std::deque<std::function<void()>> queue;
    std::list<worker> workers;  // a list: each thread has a reference to its entry
    std::size_t living = 0;
    std::size_t busy = 0;
    bool ending = false;
    bool ended = false;

    static void run(const std::shared_ptr<state>& self, worker& me);
    void run_one(std::unique_lock<std::mutex>& lock);
    void add_thread(const std::shared_ptr<state>& self);
    void join_ended(std::unique_lock<std::mutex>& lock);
};

void worker_pool::state::run_one(std::unique_lock<std::mutex>& lock) {
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    ++busy;
    lock.unlock();
    struct back {
        state& s;
        std::unique_lock<std::mutex>& lock;
        ~back() {  // also during forced unwinding
            lock.lock();
            --s.busy;
        }
    } again{*this, lock};
    try {
        work();
        work = nullptr;  // destroy its captures before it counts as done
    } catch (abi::__forced_unwind&) {
        throw;  // the C++ runtime terminates the process if this exception is not rethrown
    } catch (...) {
        lock.lock();
        escaped_handler tell = ended ? nullptr : escaped;  // after shut_down the owner of the handler may be destroyed
        lock.unlock();
        if (tell) tell(std::current_exception());
    }
}

void worker_pool::state::run(const std::shared_ptr<state>& self, worker& me) {
    std::unique_lock lock(self->mutex);
    struct end {
        state& s;
        worker& me;
        std::unique_lock<std::mutex>& lock;
        ~end() {
            if (!lock.owns_lock()) lock.lock();
            me.ended = true;
            --s.living;
            s.thread_ended.notify_all();
        }
    } at_end{*self, me, lock};
    for (;;) {
        self->work_or_end.wait(lock, [&] { return self->ending || !self->queue.empty(); });
        if (self->ending) return;
        self->run_one(lock);
    }
}

void worker_pool::state::add_thread(const std::shared_ptr<state>& self) {
    worker& added = workers.emplace_back();
    try {
        // The thread cannot read its entry before the lock is released.
        added.thread = std::thread([self, &added] { run(self, added); });
    } catch (const std::system_error&) {
        workers.pop_back();
        // If other threads exist, the work only waits longer.
        if (living == 0) throw;
        return;
    }
    ++living;
}

void worker_pool::state::join_ended(std::unique_lock<std::mutex>& lock) {
    std::list<worker> over;
    for (auto w = workers.begin(); w != workers.end();) {
        auto next = std::next(w);
        if (w->ended) over.splice(over.end(), workers, w);
        w = next;
    }
    if (over.empty()) return;
    lock.unlock();
    for (worker& w : over) w.thread.join();
    lock.lock();
}

worker_pool::worker_pool(std::size_t threads, escaped_handler escaped) : state_(std::make_shared<state>()) {
    constexpr std::size_t fewest = 4;
    constexpr std::size_t most = 64;
    std::size_t by_processors = std::clamp<std::size_t>(std::thread::hardware_concurrency() * 4, fewest, most);
    state_->most = threads != 0 ? threads : by_processors;
    state_->escaped = std::move(escaped);
}

worker_pool::~worker_pool() { shut_down(duration::zero()); }

bool worker_pool::submit(std::function<void()> work) {
    std::unique_lock lock(state_->mutex);
    if (state_->ending) return false;
    if (state_->workers.size() > state_->living) state_->join_ended(lock);
    if (state_->ending) return false;  // again: join_ended released the lock
    // One thread for each submitted function, up to the maximum: the existing threads may all be blocked.
    if (state_->busy + state_->queue.size() >= state_->living && state_->living < state_->most) {
        state_->add_thread(state_);
    }
    state_->queue.push_back(std::move(work));
    state_->work_or_end.notify_one();
    return true;
}

std::size_t worker_pool::queued() const noexcept {
    std::lock_guard lock(state_->mutex);
    return state_->queue.size();
}

std::size_t worker_pool::busy() const noexcept {
    std::lock_guard lock(state_->mutex);
    return state_->busy;
}

std::size_t worker_pool::threads() const noexcept {
    std::lock_guard lock(state_->mutex);
    return state_->living;
}

std::size_t worker_pool::shut_down(duration bound) {
    std::deque<std::function<void()>> dropped;  // destroyed after the lock is released
    std::unique_lock lock(state_->mutex);
    state_->ending = true;
    if (std::exchange(state_->ended, true)) return 0;
    dropped.swap(state_->queue);
    state_->work_or_end.notify_all();
    // Idle threads need a moment to exit. That time is not part of the bound: only work can keep a thread for long.
    auto all_gone = [&] { return state_->living == 0; };
    auto only_busy_left = [&] { return state_->living == state_->busy; };
    if (!state_->thread_ended.wait_for(lock, bound, all_gone)) state_->thread_ended.wait(lock, only_busy_left);
    state_->join_ended(lock);
    std::size_t left = 0;
    for (state::worker& w : state_->workers) {
        if (!w.ended) ++left;
        w.thread.detach();
    }
    // The entries stay in the state, which the detached threads keep alive.
    return left;
}

}  // namespace keel::async
