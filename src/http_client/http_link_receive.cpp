// Messages from the server, from any stream or response.

#include "http_client/http_link.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

using stage = link_exchange::stage;

constexpr duration linger = std::chrono::seconds(1);
constexpr std::size_t large_event = 64 * 1024;

}  // namespace

void http_link::take_event(link_exchange* from, const http::sse_event& e) {
    // An event without data only carries an event id; events of other types are ignored.
    if (e.data.empty() || e.event != "message" || closed_) return;
    const json::value* v = document_.read(e.data, {.max_depth = limits_.max_depth});
    if (!v) return note(std::string("invalid message in an event stream: ") + document_.error().what);
    if (v->is_array() && !terms_.modern) {
        if (!takes_batch(*v)) return;
        for (const json::value& each : v->items()) take_message(from, rpc::classify(each));
    } else {
        take_message(from, rpc::classify(*v));
    }
    if (e.data.size() > large_event) document_.clear();
}

void http_link::take_message(link_exchange* from, const rpc::message& m) {
    const bool answer = m.kind == rpc::message_kind::response || !m.names_method;
    if (answer && m.id.present()) {
        rpc::serial call = call_of(m.id);
        auto at = call == 0 ? requests_.end() : requests_.find(call);
        link_exchange* its = at == requests_.end() ? nullptr : at->second;
        if (from && from != its) {
            from->heard_other_ = true;
            if (its && from->modern) return note("a request's stream contained the response to another request");
        }
        // The peer accepts an invalid response for a call only if its id is the number itself.
        if (its && (m.kind == rpc::message_kind::response || m.id.is_integer())) mark_settled(*its);
    }
    peer_->receive(m, 0);
}

void http_link::take_large_message(std::string_view beginning) {
    const rpc::truncated_message seen = rpc::read_truncated(beginning);
    if (!seen.method) {
        auto at = requests_.find(call_of(seen.id));
        // The peer fails the call.
        if (at != requests_.end()) mark_settled(*at->second);
    }
    peer_->receive_too_large(beginning);
}

// E5: only one revision supports batches.
bool http_link::takes_batch(const json::value& v) {
    if (peer_->core().takes_batch_of(v.size())) return true;
    note("unexpected batch from the server: rejected");
    return false;
}

void http_link::mark_settled(link_exchange& x) {
    if (auto at = requests_.find(x.message.owner); at != requests_.end() && at->second == &x) requests_.erase(at);
    x.settled = true;
    x.since = loop_->now();
    if (x.now != stage::sent) return drop(x);
    if (x.transfer != 0) arm_sweep();
}

void http_link::fail(link_exchange& x, rpc::call_outcome outcome) {
    rpc::serial call = x.message.owner;
    bool told = std::exchange(x.settled, true);
    drop(x);
    if (!told) peer_->settle(call, std::move(outcome));
}

void http_link::note(std::string text) {
    if (user_ && reports_.take(loop_->now())) user_->on_report(text);
}

// Drops exchanges whose stream the server does not end after the response, and notifications it does not answer.
void http_link::sweep() {
    const time_point now = loop_->now();
    std::vector<link_exchange*> due;
    bool more = false;
    for (link_exchange& x : live_) {
        const bool refused = x.form_ == link_exchange::form::refusal;
        if (x.now != stage::sent || (x.is_request() && !x.settled && !refused)) continue;
        bool over = now - x.since >= (x.settled || refused ? linger : limits_.request_idle);
        if (over) due.push_back(&x);
        else more = true;
    }
    for (link_exchange* x : due) {
        if (x->now == stage::over) continue;
        if (x->form_ == link_exchange::form::refusal && !x->settled) {
            x->take_refusal();
            continue;
        }
        if (!x->settled)
            note("the server did not answer " + (x->message.method.empty() ? "a message" : x->message.method));
        drop(*x);
    }
    if (more) arm_sweep();
}

void http_link::arm_sweep() {
    if (sweep_ != 0) return;
    sweep_ = start_timer_after(*loop_, linger, [this] {
        sweep_ = 0;
        sweep();
    });
}

}  // namespace keel::http_client
