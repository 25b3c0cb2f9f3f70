#pragma once

// Ctrl-C: the first one cancels what is going on, the second ends the program at once.

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace keel::command {

/// SIGINT, SIGTERM and SIGHUP come to a thread of its own. Made before any other thread, since those inherit what is blocked.
/// Signals that were ignored when the program started stay so.
class interrupts {
public:
    interrupts();
    interrupts(const interrupts&) = delete;
    interrupts& operator=(const interrupts&) = delete;
    ~interrupts();

    /// Stopped by the first signal.
    std::stop_token token() const noexcept { return source_.get_token(); }
    /// The first signal; 0: none yet.
    int caught() const noexcept { return caught_.load(); }

private:
    void watch();

    std::stop_source source_;
    std::atomic<int> caught_{0};
    int signals_ = -1;
    int end_ = -1;
    std::thread thread_;
};

}  // namespace keel::command
