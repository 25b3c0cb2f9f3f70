#include "http_client/handshake_gate.hpp"

#include "http_client/link_context.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr duration gate_timeout = std::chrono::seconds(5);

}  // namespace

handshake_gate::handshake_gate(link_context& context, std::function<void()> on_open) noexcept
    : context_(context), on_open_(std::move(on_open)) {}

void handshake_gate::close_until(const link_exchange& x) {
    awaited_ = &x;
    stop();
    timer_ = context_.start_timer(gate_timeout, [this] {
        timer_ = 0;
        if (awaited_) answered(*awaited_);
    });
}

void handshake_gate::answered(const link_exchange& x) {
    if (awaited_ != &x) return;
    awaited_ = nullptr;
    stop();
    on_open_();
}

void handshake_gate::stop() noexcept { context_.stop_timer(timer_); }

}  // namespace keel::http_client
