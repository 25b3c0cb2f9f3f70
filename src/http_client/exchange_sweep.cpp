#include "http_client/exchange_sweep.hpp"

#include "http_client/exchange_table.hpp"
#include "http_client/link_context.hpp"

#include <vector>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr duration linger = std::chrono::seconds(1);

}  // namespace

void exchange_sweep::arm() {
    if (timer_ != 0) return;
    timer_ = context_.start_timer(linger, [this] {
        timer_ = 0;
        run();
    });
}

void exchange_sweep::stop() noexcept { context_.stop_timer(timer_); }

void exchange_sweep::run() {
    using stage = link_exchange::stage;
    const time_point now = context_.now();
    std::vector<link_exchange*> due;
    bool more = false;
    for (link_exchange& x : table_.live()) {
        if (x.now != stage::sent || (x.is_request() && !x.settled && !x.refused())) continue;
        bool over = now - x.since >= (x.settled || x.refused() ? linger : context_.bounds().request_idle);
        if (over) due.push_back(&x);
        else more = true;
    }
    for (link_exchange* x : due) {
        if (x->now == stage::over) continue;
        if (x->refused() && !x->settled) {
            x->take_refusal();
            continue;
        }
        if (!x->settled) {
            context_.note("the server did not answer " + (x->message.method.empty() ? "a message" : x->message.method));
        }
        owner_.drop(*x);
    }
    if (more) arm();
}

}  // namespace keel::http_client
