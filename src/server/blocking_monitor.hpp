#pragma once

// Warnings about handlers that block their event loop (server_options::blocking_warning).

#include "async/coarse_clock.hpp"
#include "server/invocation.hpp"

#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <string_view>

namespace keel::inline KEEL_ABI::server_side {

/// A handler, for the warning. Refers to its invocation.
struct handler_name {
    protocol::method which;
    std::string_view method;
    const void* offer;
};

/// Logs a warning if `took` is longer than the server allows.
void check_blocking(const server_core& server, const handler_name& handler, duration took) noexcept;

/// Measures each stretch between two waits of a handler that runs as a coroutine. Lives as long as the coroutine.
class blocking_monitor final : private detail::activity_monitor {
public:
    blocking_monitor(detail::activity& line, const server_core& server, handler_name handler) noexcept
        : line_(line), server_(server), handler_(handler), begin_(async::coarse_now(line.loop())) {
        line_.monitor(this);
    }
    blocking_monitor(const blocking_monitor&) = delete;
    blocking_monitor& operator=(const blocking_monitor&) = delete;
    ~blocking_monitor() {
        line_.monitor(nullptr);
        on_suspend();
    }

private:
    void on_suspend() noexcept override {
        time_point now = async::coarse_now(line_.loop());
        check_blocking(server_, handler_, now - begin_);
        begin_ = now;
    }
    void on_resume() noexcept override { begin_ = async::coarse_now(line_.loop()); }

    detail::activity& line_;
    const server_core& server_;
    const handler_name handler_;
    time_point begin_;
};

}  // namespace keel::server_side
