#pragma once

// Threads for user code that may block.

#include <keel/loop.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI {

/// Runs work on threads of its own, started when first needed. All functions from any thread, but shut_down not from
/// work of the pool.
///
/// Work should catch what it throws. What escapes goes to `escaped`, on the thread it happened on, and the thread
/// lives on. Forced unwinding (pthread_exit, pthread_cancel) ends the thread, as it must; another takes its place.
class worker_pool {
public:
    using escaped_handler = std::function<void(std::exception_ptr)>;

    /// Zero threads: four per processor, between 4 and 64, since most of them wait most of the time.
    explicit worker_pool(std::size_t threads = 0, escaped_handler escaped = {});
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;
    /// Shuts down without waiting.
    ~worker_pool();

    /// False, and the work is dropped unrun, after shut_down. Throws std::system_error if not even one thread can be made.
    bool submit(std::function<void()> work);

    /// Pieces of work that wait for a thread.
    std::size_t queued() const noexcept;
    /// Pieces of work that are running.
    std::size_t busy() const noexcept;
    /// Threads that exist.
    std::size_t threads() const noexcept;

    /// Drops what has not begun, waits for what has, at most for `bound`, and leaves the threads that are still blocked
    /// to themselves: they touch nothing of the pool's owner afterwards. How many were left. A second call returns 0.
    std::size_t shut_down(duration bound);

private:
    struct state;
    std::shared_ptr<state> state_;  // shared with the threads: those left behind end later
};

}  // namespace keel
