#include "http_client/unsent_exchanges.hpp"

#include "http_client/exchange_table.hpp"
#include "http_client/link_context.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

bool unsent_exchanges::is_unsent(const link_exchange& x) const noexcept {
    using stage = link_exchange::stage;
    if (x.now == stage::queued || x.now == stage::held) return true;
    return x.now == stage::sent && !x.accepted() && context_.unsent(x.transfer);
}

void unsent_exchanges::add(link_exchange& x) noexcept {
    if (x.unsent.listed) return;
    x.unsent = {true, nullptr, last_};
    (last_ ? last_->unsent.next : first_) = &x;
    last_ = &x;
    bytes_ += x.message.size;
}

void unsent_exchanges::remove(link_exchange& x) const noexcept {
    if (!x.unsent.listed) return;
    x.unsent.listed = false;
    (x.unsent.previous ? x.unsent.previous->unsent.next : first_) = x.unsent.next;
    (x.unsent.next ? x.unsent.next->unsent.previous : last_) = x.unsent.previous;
    bytes_ -= x.message.size;
}

std::size_t unsent_exchanges::bytes() const noexcept {
    while (first_ && !is_unsent(*first_)) remove(*first_);
    return bytes_;
}

std::uint64_t unsent_exchanges::oldest_unsent() const noexcept {
    bytes();
    return first_ ? first_->message.number : next_number_;
}

std::size_t unsent_exchanges::withdraw(rpc::serial owner) {
    if (link_exchange* call = table_.find(owner)) {
        if (!is_unsent(*call)) return 0;
        owner_.drop(*call);
        return 1;
    }
    std::size_t taken = 0;
    for (link_exchange* x = first_; x;) {
        link_exchange& each = *std::exchange(x, x->unsent.next);
        if (each.is_request() || each.message.owner != owner || !is_unsent(each)) continue;
        owner_.drop(each);
        ++taken;
    }
    return taken;
}

rpc::serial unsent_exchanges::owner_of_response(const rpc::request_id& id) const noexcept {
    rpc::serial owner = 0;
    for (const link_exchange* x = first_; x; x = x->unsent.next) {
        const posted_message& m = x->message;
        if (m.what == posted_message::kind::response && m.answers == id && is_unsent(*x)) owner = m.owner;
    }
    return owner;
}

}  // namespace keel::http_client
