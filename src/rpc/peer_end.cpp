// How a connection ends, and deadlines.

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
    if (queue_) consider(queue_->stall_deadline());
    return next;
}

void peer_core::on_time() {
    time_out_calls();
    auto due = [this](std::optional<time_point>& t) {
        if (!t || *t > now_) return false;
        t.reset();
        return true;
    };
    std::optional<time_point> stall = queue_ ? queue_->stall_deadline() : std::nullopt;
    if (due(stall)) end_abruptly("write timeout: the peer reads nothing");
    if (due(drain_deadline_)) end_gracefully();
    if (due(grace_deadline_)) abandon_handlers();
    if (due(final_deadline_)) end_abruptly("write timeout while closing: the peer did not read the last messages");
}

void peer_core::on_input_end() {
    if (!input_open_ || phase_ == phase::closed) return;
    input_open_ = false;
    if (phase_ == phase::closing) return;
    bool drain = limits_.drain_on_eof > duration::zero() && !open_ids_.empty();
    if (phase_ == phase::open && !drain) return end_gracefully();
    // Nothing can answer our requests any more, but handlers may still answer theirs (C2).
    fail_calls("input ended");
    if (phase_ == phase::open) {
        phase_ = phase::draining;
        drain_deadline_ = after(now_, limits_.drain_on_eof);
    }
}

void peer_core::on_failure(std::string_view cause) { end_abruptly(cause); }

void peer_core::close(duration drain, serial from) {
    if (phase_ == phase::closed) return;
    auto own = incoming_.find(from);
    if (from != 0 && own != incoming_.end() && own->second.state == request_state::open) {
        // A handler that closes its own connection gets no response sent (F6).
        incoming_request& r = own->second;
        settle(r, request_state::dropped);
        fire(from, r, stop_cause::closed, "connection closed by its own handler");
        withdraw(from);  // after fire, which removes its deferred progress: a shorter queue would send that
        if (r.group) member_settled(r.group);
        on_unanswered(r);
    }
    if (phase_ == phase::closing) return;
    if (drain <= duration::zero() || open_ids_.empty()) return end_gracefully();
    phase_ = phase::draining;
    time_point until = after(now_, drain);
    if (!drain_deadline_ || until < *drain_deadline_) drain_deadline_ = until;
}

std::vector<serial> peer_core::requests_in_order() const {
    std::vector<serial> all;
    all.reserve(incoming_.size());
    for (const auto& [request, r] : incoming_) all.push_back(request);
    std::sort(all.begin(), all.end());
    return all;
}

void peer_core::forget_requests(std::string_view why) {
    for (serial request : requests_in_order()) {
        incoming_request& r = incoming_.at(request);
        if (r.state != request_state::open) continue;
        drop_request(request, r, request_state::dropped, stop_cause::closed, why);
    }
    close_when_done();
}

// The connection is lost: nothing can be sent, everything is cancelled (C5, C6).
void peer_core::end_abruptly(std::string_view cause) {
    if (phase_ == phase::closed && !planted::is(planted::closed_twice)) return;
    output_lost_ = true;
    input_open_ = false;
    if (queue_) queue_->discard();
    queued_batches_.clear();
    deferred_.clear();
    drain_deadline_.reset();
    final_deadline_.reset();
    if (cause_.empty()) cause_ = printable(cause);
    bool first = phase_ != phase::closing;
    phase_ = phase::closing;
    if (first) {
        if (!incoming_.empty()) grace_deadline_ = after(now_, limits_.cleanup_grace);
        for (serial request : requests_in_order()) {
            incoming_request& r = incoming_.at(request);
            if (r.state == request_state::open) {
                settle(r, request_state::dropped);
                on_unanswered(r);
            }
            r.nested.clear();
            fire(request, r, stop_cause::closed, cause);
        }
        fail_calls(cause);
    }
    close_when_done();
}

// Graceful shutdown: every open request is answered with an error (C1, G2).
void peer_core::end_gracefully() {
    if (phase_ == phase::closing || phase_ == phase::closed) return;
    phase_ = phase::closing;
    drain_deadline_.reset();
    bool wait = !incoming_.empty() && !planted::is(planted::grace_not_armed);
    if (wait) grace_deadline_ = after(now_, limits_.cleanup_grace);
    failure why = shutting_down_error(role_);
    for (serial request : requests_in_order()) {
        incoming_request& r = incoming_.at(request);
        r.nested.clear();  // fail_calls below ends them
        if (r.state == request_state::open) {
            settle(r, request_state::answered, request_outcome::error);
            send_deferred(request, r);
            write_response(request, r, {}, &why);
        }
        fire(request, r, stop_cause::shutdown, why.message);
    }
    fail_calls("");
    close_when_done();
}

void peer_core::close_when_done() {
    // Draining waits for requests that can still be answered. A cancelled handler has limits::cleanup_grace instead (F4).
    if (phase_ == phase::draining && open_ids_.empty()) return end_gracefully();
    if (phase_ != phase::closing || !incoming_.empty()) return;
    grace_deadline_.reset();
    if (!output_lost_ && !all_written()) {
        if (!final_deadline_) final_deadline_ = after(now_, limits_.final_write);
        return;
    }
    finish_closing();
}

void peer_core::abandon_handlers() {
    abandoned_ += incoming_.size();
    if (budget_) budget_->used -= incoming_.size() - exempt_;
    exempt_ = 0;
    incoming_.clear();
    deferred_.clear();
    close_when_done();
}

void peer_core::finish_closing() {
    phase_ = phase::closed;
    if (queue_) queue_->discard();
    queued_batches_.clear();
    drain_deadline_.reset();
    grace_deadline_.reset();
    final_deadline_.reset();
    actions_.push_back(connection_closed{cause_, abandoned_});
}

}  // namespace keel::rpc
