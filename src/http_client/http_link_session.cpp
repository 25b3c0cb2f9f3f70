// HTTP sessions (revisions before 2026-07-28): they begin with a header, and may expire on the server at any time (D18).

#include "http_client/http_link.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

namespace {

using stage = link_exchange::stage;
using kind = posted_message::kind;

}  // namespace

void http_link::take_session_id(const response_view& r) {
    std::string_view id = r.header("mcp-session-id");
    terms_.session.clear();
    if (id.empty()) return;
    if (is_session_id(id)) terms_.session = id;
    else note("invalid Mcp-Session-Id from the server");
}

void http_link::session_opened() {
    if (terms_.modern || old_ || closed_) return;
    wants_listener_ = true;
    // A renewed session is usable as soon as its handshake is done.
    if (renewing_) return session_renewed(true);
    if (!gate_ && !listener_.is_open()) listener_.open();
}

task<void> http_link::listening() {
    if (terms_.modern || old_ || closed_ || renewing_) co_return;
    co_await listener_.answered();
}

// The server did not process the message, so it is sent again, once, in a new session.
void http_link::not_found(link_exchange& x) {
    if (x.transfer != 0) pool_->cancel(std::exchange(x.transfer, 0));
    // Responses and the handshake of an expired session are not valid in the next one.
    const bool of_this_session = x.message.what == kind::response || x.message.method == "notifications/initialized";
    if (x.settled || of_this_session) {
        if (x.epoch == epoch_)
            lose_session();  // before drop(), which may release held messages: they belong to the next session
        return drop(x);
    }
    if (x.message.repeated) {
        if (!x.is_request()) return drop(x);
        return fail(x, failed_call(error_kind::session_lost, "the session expired on the server again", 404));
    }
    if (closed_) return drop(x);
    bool current = x.epoch == epoch_;
    x.message.repeated = true;
    x.has_head_ = false;
    x.epoch = 0;
    hold(x);
    if (current) lose_session();
    else release_held();  // there is a new session already
}

void http_link::lose_session() {
    if (renewing_ || closed_) return;
    // A server that rejects every session it creates is not retried forever; the next call may try again.
    const bool hopeless = ++unproven_ > 2;
    renewing_ = true;
    ++epoch_;
    dead_session_ = std::exchange(terms_.session, {});
    listener_.close();
    // Unsent messages wait for the new session, too.
    for (link_exchange& x : live_) {
        if (x.now != stage::sent || x.epoch == 0 || x.message.what == kind::response || !untouched(x)) continue;
        pool_->cancel(std::exchange(x.transfer, 0));
        x.epoch = 0;
        hold(x);
    }
    note("the session has expired on the server");
    // The server's requests of the expired session need no response, and the next session may reuse their ids.
    peer_->forget_requests("the session is lost");
    fail_calls_of_dead_sessions(true);
    if (closed_) return;
    if (hopeless) {
        unproven_ = 0;
        return session_renewed(false);
    }
    user_->on_session_lost();
}

// Fails the calls that the server had started to process, or (`accepted_only` false) all calls of expired sessions.
void http_link::fail_calls_of_dead_sessions(bool accepted_only) {
    std::vector<rpc::serial> lost;
    for (const link_exchange& x : live_) {
        bool dead = x.is_request() && !x.settled && x.epoch != 0 && x.epoch != epoch_;
        if (dead && (x.accepted() || !accepted_only)) lost.push_back(x.message.owner);
    }
    for (rpc::serial call : lost) {
        auto at = requests_.find(call);
        if (at == requests_.end()) continue;
        fail(*at->second, failed_call(error_kind::session_lost, "the session has expired on the server"));
    }
}

void http_link::session_renewed(bool worked) {
    if (!renewing_ || closed_) return;
    renewing_ = false;
    std::string dead = std::exchange(dead_session_, {});
    if (!worked) {
        // With the old id the next message gets a 404 again, which starts another renewal.
        if (terms_.session.empty()) terms_.session = std::move(dead);
        std::vector<rpc::serial> lost;
        for (link_exchange* x : std::exchange(held_, {})) {
            x->now = stage::sent;  // no longer in held_
            if (x->is_request()) lost.push_back(x->message.owner);
            else drop(*x);
        }
        for (rpc::serial call : lost) {
            auto at = requests_.find(call);
            if (at == requests_.end()) continue;
            fail(*at->second,
                 failed_call(error_kind::session_lost, "the session expired, and a new one could not be opened"));
        }
    }
    fail_calls_of_dead_sessions(false);
    if (closed_ || renewing_) return;
    if (worked && wants_listener_ && !gate_ && !listener_.is_open()) listener_.open();
    release_held();
}

}  // namespace keel::http_client
