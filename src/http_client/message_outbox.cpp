#include "http_client/message_outbox.hpp"

#include "http_client/exchange_sweep.hpp"
#include "http_client/handshake_gate.hpp"
#include "http_client/http_link_headers.hpp"
#include "http_client/http_session.hpp"
#include "http_client/link_context.hpp"
#include "http_client/unsent_exchanges.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

using rpc::outgoing_message;
using kind = posted_message::kind;
using stage = link_exchange::stage;

constexpr std::size_t usual_message = 512;  // bytes

kind kind_of(const outgoing_message& about) noexcept {
    if (about.is_response()) return kind::response;
    return about.type == outgoing_message::kind::request ? kind::request : kind::notification;
}

}  // namespace

// ---- messages of the peer ----

std::string& message_outbox::begin(const outgoing_message&) {
    writing_ = &link_.table.take();
    std::string& body = writing_->message.body;
    if (body.capacity() < usual_message) body.reserve(usual_message);
    return body;
}

void message_outbox::end(const outgoing_message& about) {
    link_exchange& x = *std::exchange(writing_, nullptr);
    posted_message& m = x.message;
    m.what = kind_of(about);
    m.owner = about.owner;
    m.number = link_.unsent.take_number();
    m.method = about.method;
    m.name = about.name;
    m.size = m.body.size();
    if (about.answered_id) m.answers = *about.answered_id;
    if (about.attributes) {
        m.extra = *about.attributes;
        for (const auto& [name, value] : m.extra) {
            if (is_protocol_header(name) || !is_writable_header(name, value)) {
                link_.context.note("invalid or reserved header not sent: " + rpc::printable(name, 80));
            }
        }
    }
    // BASE-17: in the modern era the server sends no requests, so it gets no responses.
    if (link_.session.modern() && about.is_reply()) return link_.owner.drop(x);
    // The peer's core limits queued requests, but not responses and notifications.
    if (!m.is_request() && link_.unsent.bytes() >= link_.context.bounds().out_queue) {
        link_.context.note("message dropped, because the output queue to the server is full");
        return link_.owner.drop(x);
    }
    if (m.is_request()) link_.table.add_call(x);
    if (!link_.session.modern() && m.ends_handshake()) link_.gate.close_until(x);
    link_.unsent.add(x);
    queued_.push_back(&x);
}

std::size_t message_outbox::queued_bytes(rpc::stream_id) const noexcept { return link_.unsent.bytes(); }

rpc::unsent_messages* message_outbox::unsent() noexcept { return &link_.unsent; }

void message_outbox::flush(time_point) {
    // By index: the calls below add no message, but may remove some.
    for (std::size_t i = 0; i < queued_.size(); ++i) {
        link_exchange& x = *queued_[i];
        if (must_wait(x)) {
            hold(x);
        } else {
            send(x);
        }
    }
    queued_.clear();
    // Only after their cancel notifications were queued. A cancel may wait for the connection of the call it cancels.
    for (link_exchange* x : std::exchange(given_up_, {})) link_.owner.drop(*x);
}

bool message_outbox::may_send_request(rpc::stream_id) const noexcept { return !link_.session.closed(); }

bool message_outbox::give_up(rpc::serial call) {
    link_exchange* x = link_.table.find(call);
    if (!x) return link_.session.modern();
    if (x->sent_in.modern) {
        link_.owner.drop(*x);  // closing the stream cancels the request (D7)
        return true;
    }
    link_.table.remove_call(*x);
    x->settled = true;
    x->given_up = true;
    given_up_.push_back(x);
    return false;
}

// ---- sending ----

bool message_outbox::must_wait(const link_exchange& x) const noexcept {
    const posted_message& m = x.message;
    if (link_.session.closed() || m.what == kind::response || link_.gate.waits_for(x) || m.opens_session())
        return false;
    return link_.session.renewing() || link_.gate.is_closed();
}

void message_outbox::hold(link_exchange& x) {
    x.now = stage::held;
    held_.push_back(&x);
    link_.unsent.add(x);
}

void message_outbox::release_held() {
    if (link_.session.renewing() || link_.gate.is_closed()) return;
    for (link_exchange* x : std::exchange(held_, {})) send(*x);
}

std::vector<link_exchange*> message_outbox::take_held() noexcept {
    for (link_exchange* x : held_) x->now = stage::sent;  // no longer in held_
    return std::exchange(held_, {});
}

void message_outbox::send(link_exchange& x) {
    posted_message& m = x.message;
    x.now = stage::sent;
    // A response in an expired session has no receiver.
    if (!link_.context.connected() || (link_.session.renewing() && m.what == kind::response))
        return link_.owner.drop(x);
    const bool opens_session = m.opens_session();
    const request_terms& terms = link_.session.terms();
    transfer_request out;
    if (endpoint_) out.path = *endpoint_;
    out.headers = headers_of_message(terms, {m.method, m.name, &m.extra, opens_session});
    x.sent_in = {link_.session.epoch_of_message(opens_session), terms.modern, link_.session.old_transport()};
    // In a session the message may have to be sent again (D18).
    out.body = x.sent_in.epoch != 0 ? m.body : std::move(m.body);
    x.since = link_.context.now();
    // Pending calls may occupy all connections while they wait for our responses.
    out.urgent = !m.is_request() || m.method == "ping" || opens_session;
    out.lasting = m.method == "subscriptions/listen";
    x.transfer = link_.context.start(std::move(out), x);
    if (!m.is_request()) link_.sweep.arm();
}

void message_outbox::resume_stream(link_exchange& x, std::string_view last_event_id) {
    transfer_request out;
    out.method = "GET";
    out.headers = headers_of_stream(link_.session.terms(), last_event_id);
    x.now = stage::sent;
    x.transfer = link_.context.start(std::move(out), x);
}

void message_outbox::forget(const link_exchange& x) noexcept {
    if (x.now == stage::queued) std::erase(queued_, &x);
    if (x.now == stage::held) std::erase(held_, &x);
    if (x.given_up) std::erase(given_up_, &x);
}

}  // namespace keel::http_client
