#include "server/blocking_monitor.hpp"

#include "rpc/message.hpp"

#include <ctime>

namespace keel::inline KEEL_ABI::server_side {

time_point coarse_now(loop& l) noexcept {
    if (!l.as_reactor()) return l.now();
    // The same clock as std::chrono::steady_clock, as of the last tick of the kernel.
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

void check_blocking(const server_core& server, const handler_name& handler, duration took) noexcept {
    duration allowed = server.options.blocking_warning;
    if (took <= allowed || allowed <= duration::zero()) return;
    try {
        std::string text;
        if (handler.which == protocol::method::tools_call) {
            text = "tool \"" + static_cast<const tool*>(handler.offer)->about.name + "\"";
        } else {
            text = "the handler of " + rpc::printable(handler.method);
        }
        auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
        text += " blocked the event loop for " + std::to_string(milliseconds) +
                " ms; use a plain function or co_await keel::on_worker for work that takes long";
        server.report(log_level::warning, text);
    } catch (const std::bad_alloc&) {  // there is no memory for the warning
    }
}

}  // namespace keel::server_side
