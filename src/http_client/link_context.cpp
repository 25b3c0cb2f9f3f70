#include "http_client/link_context.hpp"

namespace keel::inline KEEL_ABI::http_client {

link_context::link_context(std::shared_ptr<loop> on, std::unique_ptr<transfer_pool> pool, std::size_t max_body)
    : loop_(std::move(on)), pool_(std::move(pool)), max_body_(max_body) {}

void link_context::open(const limits& bounds, client_side::link_user& user) {
    bounds_ = bounds;
    user_ = &user;
}

loop::timer link_context::start_timer(duration after, std::function<void()> work) {
    return start_timer_after(*loop_, after, std::move(work));
}

void link_context::cancel(transfer_pool::id& which) noexcept {
    const transfer_pool::id ended = std::exchange(which, 0);
    if (pool_ && ended != 0) pool_->cancel(ended);
}

void link_context::note(const std::string& text) {
    if (user_ && reports_.take(loop_->now())) user_->on_report(text);
}

}  // namespace keel::http_client
