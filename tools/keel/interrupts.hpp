#pragma once

// Ctrl-C: the first one cancels the running call, the second one exits at once.

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace keel::command {

/// Handles SIGINT, SIGTERM and SIGHUP on its own thread. Construct it before any other thread starts, because threads
/// inherit the signal mask. Signals that were ignored at startup stay ignored.
class interrupts {
public:
    interrupts();
    interrupts(const interrupts&) = delete;
    interrupts& operator=(const interrupts&) = delete;
    ~interrupts();

    /// A stop is requested by the first signal.
    std::stop_token token() const;
    /// Forgets the first signal, so that the next one cancels again: `keel shell` continues after a cancelled call.
    void rearm();
    /// The first signal, or 0.
    int caught() const noexcept { return caught_.load(); }

private:
    void watch();

    mutable std::mutex mutex_;  // source_ is replaced by the main thread; the thread of this object stops it
    std::stop_source source_;
    std::atomic<int> caught_{0};
    int signals_ = -1;
    int end_ = -1;
    std::thread thread_;
};

}  // namespace keel::command
