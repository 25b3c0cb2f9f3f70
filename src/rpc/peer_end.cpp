// How a connection ends, and everything that happens by the clock.

#include "rpc/peer_core.hpp"
#include "rpc/planted.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::rpc {

std::optional<time_point> peer_core::next_deadline() const noexcept {
    std::optional<time_point> next;
    auto consider = [&](const std::optional<time_point>& t) {
        if (t && (!next || *t < *next)) next = t;
    };
    if (calls_due_ != time_point::max()) consider(calls_due_);
    consider(drain_deadline_);
    consider(grace_deadline_);
    consider(final_deadline_);
    consider(stall_deadline_);
    return next;
}

void peer_core::on_time() {
    on_calls_due();
    auto due = [this](std::optional<time_point>& t) {
        if (!t || *t > now_) return false;
        t.reset();
        return true;
    };
    if (due(stall_deadline_)) end_abruptly("the peer takes no more bytes");
    if (due(drain_deadline_)) end_orderly();
    if (due(grace_deadline_)) abandon_handlers();
    if (due(final_deadline_)) end_abruptly("the last writes were not taken in time");
}

void peer_core::on_input_end() {
    if (!input_open_ || phase_ == phase::closed) return;
    input_open_ = false;
    if (phase_ == phase::closing) return;
    bool patient = limits_.drain_on_eof > duration::zero() && !open_ids_.empty();
    if (phase_ == phase::open && !patient) return end_orderly();
    // Nothing can answer the requests we have sent, but the handlers may still have something to say (C2).
    fail_calls("input ended");
    if (phase_ == phase::open) {
        phase_ = phase::draining;
        drain_deadline_ = after(now_, limits_.drain_on_eof);
    }
}

void peer_core::on_read_error(std::string_view cause) {
    input_open_ = false;
    end_abruptly(cause);
}

void peer_core::on_write_error(std::string_view cause) { end_abruptly(cause); }

void peer_core::close(duration drain, serial from) {
    if (phase_ == phase::closed) return;
    auto own = records_.find(from);
    if (from != 0 && own != records_.end() && own->second.state == cell::open) {
        // Who closes its own connection does not wait for an answer on it (F6).
        record& r = own->second;
        settle(r, cell::dropped);
        fire(from, r, stop_cause::closed, "connection closed by its own handler");
        take_back(from);  // after its parked progress is gone: room in the queue would bring that out
        if (r.group) member_settled(r.group);
        output_.unanswered(r.stream, r.id);
    }
    if (phase_ == phase::closing) return;
    if (drain <= duration::zero() || open_ids_.empty()) return end_orderly();
    phase_ = phase::draining;
    time_point until = after(now_, drain);
    if (!drain_deadline_ || until < *drain_deadline_) drain_deadline_ = until;
}

std::vector<serial> peer_core::records_in_order() const {
    std::vector<serial> all;
    all.reserve(records_.size());
    for (const auto& [request, r] : records_) all.push_back(request);
    std::sort(all.begin(), all.end());
    return all;
}

void peer_core::forget_requests(std::string_view why) {
    for (serial request : records_in_order()) {
        record& r = records_.at(request);
        if (r.state != cell::open) continue;
        settle(r, cell::dropped);
        fire(request, r, stop_cause::closed, why);
        counters_.withdrawn += take_back(request);
        drop_nested(r);
        if (r.group) member_settled(r.group);
        output_.unanswered(r.stream, r.id);
    }
    check_progress_of_end();
}

// Nobody is there any more: nothing can be said, everything is cancelled (C5, C6).
void peer_core::end_abruptly(std::string_view cause) {
    if (phase_ == phase::closed && !planted::is(planted::closed_twice)) return;
    output_dead_ = true;
    input_open_ = false;
    outbox_.clear();
    queued_batches_.clear();
    parked_.clear();
    stall_deadline_.reset();
    drain_deadline_.reset();
    final_deadline_.reset();
    paused_ = false;
    if (cause_.empty()) cause_ = printable(cause);
    bool first = phase_ != phase::closing;
    phase_ = phase::closing;
    if (first) {
        if (!records_.empty()) grace_deadline_ = after(now_, limits_.cleanup_grace);
        for (serial request : records_in_order()) {
            record& r = records_.at(request);
            if (r.state == cell::open) {
                settle(r, cell::dropped);
                output_.unanswered(r.stream, r.id);
            }
            r.nested.clear();
            fire(request, r, stop_cause::closed, cause);
        }
        fail_calls(cause);
    }
    check_progress_of_end();
}

// The peer can still hear us: every request that is cut off is told so, once (C1, G2).
void peer_core::end_orderly() {
    if (phase_ == phase::closing || phase_ == phase::closed) return;
    phase_ = phase::closing;
    drain_deadline_.reset();
    paused_ = false;
    bool wait = !records_.empty() && !planted::is(planted::grace_not_armed);
    if (wait) grace_deadline_ = after(now_, limits_.cleanup_grace);
    failure why{error_code::internal, role_ == role::server ? "server shutting down" : "client shutting down", {}};
    for (serial request : records_in_order()) {
        record& r = records_.at(request);
        r.nested.clear();  // fail_calls below tells them
        if (r.state == cell::open) {
            settle(r, cell::answered, true);
            unpark(request, r);
            write_answer(request, r, {}, &why);
        }
        fire(request, r, stop_cause::shutdown, why.message);
    }
    fail_calls("");
    check_progress_of_end();
}

void peer_core::check_progress_of_end() {
    // A drain is for requests that can still be answered. A cancelled handler has its grace, not the drain (F4).
    if (phase_ == phase::draining && open_ids_.empty()) return end_orderly();
    if (phase_ != phase::closing || !records_.empty()) return;
    grace_deadline_.reset();
    if (!output_dead_ && !outbox_.empty()) {
        if (!final_deadline_) final_deadline_ = after(now_, limits_.final_write);
        return;
    }
    be_closed();
}

void peer_core::abandon_handlers() {
    abandoned_ += records_.size();
    if (budget_) budget_->used -= records_.size() - exempt_;
    exempt_ = 0;
    records_.clear();
    parked_.clear();
    check_progress_of_end();
}

void peer_core::be_closed() {
    phase_ = phase::closed;
    outbox_.clear();
    queued_batches_.clear();
    drain_deadline_.reset();
    grace_deadline_.reset();
    final_deadline_.reset();
    stall_deadline_.reset();
    actions_.push_back(connection_closed{cause_, abandoned_});
}

}  // namespace keel::rpc
