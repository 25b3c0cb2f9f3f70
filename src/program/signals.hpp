#pragma once

// SIGTERM and SIGINT of a server program.

#include "async/reactor.hpp"

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::program {

/// Handles SIGTERM and SIGINT while it exists: the first signal calls `first` on the loop, the second ends the process with exit
/// status 128 + signal number. At most one object per process, since signal handlers belong to the process.
class signal_watch final : private async::reactor::watcher {
public:
    signal_watch(async::reactor& on, std::function<void()> first);
    ~signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

private:
    void on_ready(unsigned events) override;

    std::function<void()> first_;
    int wake_ = -1;
    std::unique_ptr<async::reactor::watch> watch_;
    struct saved;
    std::unique_ptr<saved> saved_;
};

}  // namespace keel::program
