#include "http_client/session_recovery.hpp"

#include "http_client/exchange_table.hpp"
#include "http_client/http_link_listener.hpp"
#include "http_client/http_session.hpp"
#include "http_client/link_context.hpp"
#include "http_client/message_outbox.hpp"
#include "http_client/unsent_exchanges.hpp"

namespace keel::inline KEEL_ABI::http_client {

void session_recovery::not_found(link_exchange& x) {
    using fate = unfound_verdict::fate;
    link_.context.cancel(x.transfer);
    const posted_message& m = x.message;
    const unfound_verdict verdict = link_.session.not_found({
        .epoch = x.sent_in.epoch,
        .is_request = m.is_request(),
        .of_this_session = m.what == posted_message::kind::response || m.ends_handshake(),
        .settled = x.settled,
        .repeated = m.repeated,
    });
    switch (verdict.message) {
        case fate::drop:
            // First, because drop() may release held messages: they belong to the next session.
            if (verdict.session_lost) lose();
            return link_.owner.drop(x);
        case fate::fail:
            return link_.owner.fail(
                x, failed_call(error_kind::session_lost, "the session expired on the server again", 404));
        case fate::repeat: break;
    }
    x.prepare_repetition();
    link_.outbox.hold(x);
    if (verdict.session_lost) lose();
    else link_.outbox.release_held();  // there is a new session already
}

void session_recovery::lose() {
    const http_session::loss loss = link_.session.lose();
    if (loss == http_session::loss::ignored) return;
    link_.listener.close();
    hold_unsent_messages();
    link_.context.note("the session has expired on the server");
    // The server's requests of the expired session need no response, and the next session may reuse their ids.
    link_.context.peer().forget_requests("the session is lost");
    fail_calls_of_dead_sessions(true);
    if (link_.session.closed()) return;
    if (loss == http_session::loss::renew) return link_.context.user().on_session_lost();
    if (renewed(false)) link_.outbox.release_held();
}

// Unsent messages wait for the new session, too.
void session_recovery::hold_unsent_messages() {
    for (link_exchange& x : link_.table.live()) {
        const bool in_session = x.now == link_exchange::stage::sent && x.sent_in.epoch != 0;
        if (!in_session || x.message.what == posted_message::kind::response || !link_.unsent.is_unsent(x)) continue;
        link_.context.cancel(x.transfer);
        x.sent_in.epoch = 0;
        link_.outbox.hold(x);
    }
}

// Fails the calls that the server had started to process, or (`accepted_only` false) all calls of expired sessions.
void session_recovery::fail_calls_of_dead_sessions(bool accepted_only) {
    std::vector<rpc::serial> lost;
    for (const link_exchange& x : link_.table.live()) {
        const bool dead = x.is_request() && !x.settled && link_.session.is_dead(x.sent_in.epoch);
        if (dead && (x.accepted() || !accepted_only)) lost.push_back(x.message.owner);
    }
    fail(lost, "the session has expired on the server");
}

// By number: a callback of one call may end others.
void session_recovery::fail(const std::vector<rpc::serial>& calls, const char* why) {
    for (rpc::serial call : calls) {
        if (link_exchange* x = link_.table.find(call)) {
            link_.owner.fail(*x, failed_call(error_kind::session_lost, why));
        }
    }
}

bool session_recovery::renewed(bool worked) {
    if (!link_.session.end_renewal(worked)) return false;
    if (!worked) {
        std::vector<rpc::serial> lost;
        for (link_exchange* x : link_.outbox.take_held()) {
            if (x->is_request()) lost.push_back(x->message.owner);
            else link_.owner.drop(*x);
        }
        fail(lost, "the session expired, and a new one could not be opened");
    }
    fail_calls_of_dead_sessions(false);
    return !link_.session.closed() && !link_.session.renewing();
}

}  // namespace keel::http_client
