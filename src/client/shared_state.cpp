#include "client/shared_state.hpp"

#include "rpc/message.hpp"

#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

void check_roots(const std::vector<root>& roots) {
    for (const root& each : roots) {
        if (!each.uri.starts_with("file://")) {
            throw std::invalid_argument("keel: invalid root (the URI must begin with file://): " +
                                        rpc::printable(each.uri));
        }
    }
}

server_facts shared_state::facts() const {
    std::lock_guard lock(mutex_);
    return facts_;
}

void shared_state::set_facts(server_facts facts) {
    std::lock_guard lock(mutex_);
    facts_ = std::move(facts);
}

std::vector<root> shared_state::roots() const {
    std::lock_guard lock(mutex_);
    return roots_.value_or(std::vector<root>());
}

bool shared_state::offers_roots() const {
    std::lock_guard lock(mutex_);
    return roots_.has_value();
}

void shared_state::set_roots(std::vector<root> now) {
    check_roots(now);
    std::lock_guard lock(mutex_);
    roots_ = std::move(now);
}

std::optional<log_level> shared_state::wanted_level() const {
    std::lock_guard lock(mutex_);
    return level_;
}

void shared_state::set_level(log_level from) {
    std::lock_guard lock(mutex_);
    level_ = from;
}

}  // namespace keel::client_side
