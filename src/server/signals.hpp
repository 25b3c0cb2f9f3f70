#pragma once

// SIGTERM and SIGINT for a program that is nothing but a server.

#include "async/reactor.hpp"

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::server_side {

/// While it lives: the first signal calls `first` on the loop, a second one ends the process with status 128 + signal.
/// One at a time in a process: signals are the process's, not ours.
class signal_watch final : private reactor::watcher {
public:
    signal_watch(reactor& on, std::function<void()> first);
    ~signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

private:
    void on_ready(unsigned events) override;

    std::function<void()> first_;
    int wake_ = -1;
    std::unique_ptr<reactor::watch> watch_;
    struct saved;
    std::unique_ptr<saved> saved_;
};

}  // namespace keel::server_side
