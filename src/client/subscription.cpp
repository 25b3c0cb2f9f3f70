#include <keel/subscription.hpp>

#include "client/subscription_state.hpp"

#include <utility>

namespace keel::inline KEEL_ABI {

using client_side::subscription_state;

subscription::~subscription() { stop(); }

subscription& subscription::operator=(subscription&& other) noexcept {
    if (this != &other) {
        stop();
        state_ = std::move(other.state_);
    }
    return *this;
}

subscription_request subscription::agreed() const { return state_ ? state_->agreed() : subscription_request(); }

namespace {
task<std::optional<change>> nothing() { co_return std::nullopt; }
}  // namespace

// The task keeps the state alive. Dropping the subscription ends the wait.
task<std::optional<change>> subscription::next() { return state_ ? subscription_state::next(state_) : nothing(); }

subscription_end subscription::how_ended() const { return state_ ? state_->how_ended() : subscription_end::ended; }

std::string subscription::why_lost() const {
    return how_ended() == subscription_end::lost ? state_->why() : std::string();
}

void subscription::stop() {
    if (state_) state_->stop();
}

}  // namespace keel
