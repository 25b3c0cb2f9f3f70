#include "server/blocking_monitor.hpp"

#include "rpc/message.hpp"

namespace keel::inline KEEL_ABI::server_side {

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
