#include "http_client/exchange_table.hpp"

#include "http_client/link_context.hpp"

#include <iterator>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t kept_exchanges = 64;

}  // namespace

exchange_table::~exchange_table() {
    for (link_exchange& x : live_) context_.stop_timer(x.pause);
}

link_exchange& exchange_table::take() {
    if (spare_.empty()) {
        live_.emplace_back(context_, inbox_, owner_);
    } else {
        live_.splice(live_.end(), spare_, spare_.begin());
    }
    link_exchange& x = live_.back();
    x.reset();
    x.place = std::prev(live_.end());
    return x;
}

link_exchange* exchange_table::find(rpc::serial call) noexcept {
    auto at = calls_.find(call);
    return at == calls_.end() ? nullptr : at->second;
}

void exchange_table::remove_call(const link_exchange& x) noexcept {
    if (auto at = calls_.find(x.message.owner); at != calls_.end() && at->second == &x) calls_.erase(at);
}

void exchange_table::end(link_exchange& x) {
    x.now = link_exchange::stage::over;
    context_.cancel(x.transfer);
    context_.stop_timer(x.pause);
    remove_call(x);
    dying_.splice(dying_.end(), live_, x.place);
}

void exchange_table::recycle(link_exchange& x) noexcept {
    x.free_buffers();
    if (spare_.size() >= kept_exchanges) {
        dying_.erase(x.place);
    } else {
        spare_.splice(spare_.end(), dying_, x.place);
    }
}

}  // namespace keel::http_client
