#pragma once

// A thread pool for user code that may block.

#include <keel/loop.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::async {

/// Starts its threads when they are first needed. All functions are safe to call from any thread, but work that runs on the pool
/// must not call shut_down.
///
/// An exception that escapes from work is passed to `escaped` on the same thread, and the thread continues. Forced unwinding
/// (pthread_exit, pthread_cancel) ends the thread; the pool replaces it.
class worker_pool {
public:
    using escaped_handler = std::function<void(std::exception_ptr)>;

    /// `threads` is the maximum number of threads; 0 means four per processor, at least 4 and at most 64 (most threads block most
    /// of the time).
    explicit worker_pool(std::size_t threads = 0, escaped_handler escaped = {});
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;
    /// Shuts down without waiting.
    ~worker_pool();

    /// Returns false and drops the work after shut_down. Throws std::system_error if there is no thread and none can be created.
    bool submit(std::function<void()> work);

    /// Number of submitted functions that wait for a thread.
    std::size_t queued() const noexcept;
    /// Number of submitted functions that are running.
    std::size_t busy() const noexcept;
    /// Number of threads.
    std::size_t threads() const noexcept;

    /// Drops queued work, waits at most `bound` for running work, and detaches the threads that are still blocked; they use no
    /// object of the pool's owner afterwards. Returns the number of detached threads. A second call returns 0.
    std::size_t shut_down(duration bound);

private:
    struct state;
    std::shared_ptr<state> state_;  // shared with the threads: detached ones end later
};

}  // namespace keel::async
