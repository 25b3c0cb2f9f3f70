#pragma once

// SIGTERM, SIGINT and SIGHUP of a server program.

#include "async/reactor.hpp"

#include <functional>
#include <memory>

namespace keel::inline KEEL_ABI::program {

/// Handles the signals while it exists. At most one object per process, since signal handlers belong to the process.
///
/// SIGTERM and SIGINT: the first calls `stop` on the loop, the second ends the process with exit status 128 + signal number.
/// SIGHUP: calls `hang_up` on the loop, each time; signals that arrive before that call count as one.
class signal_watch final : private async::reactor::watcher {
public:
    signal_watch(async::reactor& on, std::function<void()> stop, std::function<void()> hang_up);
    ~signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

private:
    void on_ready(unsigned events) override;

    std::function<void()> stop_;
    std::function<void()> hang_up_;
    bool stopped_ = false;
    int wake_ = -1;
    std::unique_ptr<async::reactor::watch> watch_;
    struct saved;
    std::unique_ptr<saved> saved_;
};

/// True if standard input is a terminal.
bool input_is_terminal() noexcept;

}  // namespace keel::program
