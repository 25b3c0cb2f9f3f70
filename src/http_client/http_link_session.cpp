// Sessions of the older revisions: they begin with a header, and may be forgotten by the server at any time (D18).

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
    // A new session is there as soon as its handshake is done: what follows in it need not wait for more.
    if (renewing_) return session_renewed(true);
    if (!gate_ && !listener_.is_open()) listener_.open();
}

task<void> http_link::listening() {
    if (terms_.modern || old_ || closed_ || renewing_) co_return;
    co_await listener_.answered();
}

// The server has not taken the message, so it can be sent again: once, in a session that it knows.
void http_link::not_found(link_exchange& x) {
    if (x.transfer != 0) pool_->cancel(std::exchange(x.transfer, 0));
    // The handshake of a dead session means nothing in the next one, which has its own.
    const bool of_this_session = x.message.what == kind::answer || x.message.method == "notifications/initialized";
    if (x.settled || of_this_session) {
        if (x.epoch == epoch_) lose_session();  // first: what waits for it is not for a session that is dead
        return drop(x);
    }
    if (x.message.repeated) {
        if (!x.is_question()) return drop(x);
        return fail(x, failed_call(error_kind::session_lost, "the session expired on the server again", 404));
    }
    if (closed_) return drop(x);
    bool current = x.epoch == epoch_;
    x.message.repeated = true;
    x.has_head_ = false;
    x.epoch = 0;
    hold(x);
    if (current) lose_session();
    else release_held();  // there is a new one already
}

void http_link::lose_session() {
    if (renewing_ || closed_) return;
    // A server that knows none of the sessions it gives is not asked for ever: the next call may try again.
    const bool hopeless = ++unproven_ > 2;
    renewing_ = true;
    ++epoch_;
    dead_session_ = std::exchange(terms_.session, {});
    listener_.close();
    // What the server has not seen waits for the new session, too.
    for (link_exchange& x : live_) {
        if (x.now != stage::sent || x.epoch == 0 || x.message.what == kind::answer || !untouched(x)) continue;
        pool_->cancel(std::exchange(x.transfer, 0));
        x.epoch = 0;
        hold(x);
    }
    note("the session has expired on the server");
    // What it has asked in that session nobody waits for, and the next one may use the same ids.
    peer_->forget_requests("the session is lost");
    fail_calls_of_dead_sessions(true);
    if (closed_) return;
    if (hopeless) {
        unproven_ = 0;
        return session_renewed(false);
    }
    user_->on_session_lost();
}

// Those on which the server has begun to work; or all, when those that it may not have taken have had their time.
void http_link::fail_calls_of_dead_sessions(bool accepted_only) {
    std::vector<rpc::serial> lost;
    for (const link_exchange& x : live_) {
        bool dead = x.is_question() && !x.settled && x.epoch != 0 && x.epoch != epoch_;
        if (dead && (x.accepted() || !accepted_only)) lost.push_back(x.message.owner);
    }
    for (rpc::serial call : lost) {
        auto at = questions_.find(call);
        if (at == questions_.end()) continue;
        fail(*at->second, failed_call(error_kind::session_lost, "the session has expired on the server"));
    }
}

void http_link::session_renewed(bool worked) {
    if (!renewing_ || closed_) return;
    renewing_ = false;
    std::string dead = std::exchange(dead_session_, {});
    if (!worked) {
        // With the old id the next message will be told again that there is no such session, and begin anew.
        if (terms_.session.empty()) terms_.session = std::move(dead);
        std::vector<rpc::serial> lost;
        for (link_exchange* x : std::exchange(held_, {})) {
            x->now = stage::sent;  // it is not in the list any more
            if (x->is_question()) lost.push_back(x->message.owner);
            else drop(*x);
        }
        for (rpc::serial call : lost) {
            auto at = questions_.find(call);
            if (at == questions_.end()) continue;
            fail(*at->second, failed_call(error_kind::session_lost, "the session expired, and a new one could not be opened"));
        }
    }
    fail_calls_of_dead_sessions(false);
    if (closed_ || renewing_) return;
    if (worked && wants_listener_ && !gate_ && !listener_.is_open()) listener_.open();
    release_held();
}

}  // namespace keel::http_client
