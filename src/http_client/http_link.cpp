#include "http_client/http_link.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::http_client {

namespace {

header_list checked(header_list headers) {
    for (const auto& [name, value] : headers) {
        if (!is_writable_header(name, value)) {
            throw std::invalid_argument("keel: invalid header \"" + rpc::printable(name, 80) +
                                        "\": the name must be a token, the value must not contain control characters");
        }
        if (is_protocol_header(name)) {
            throw std::invalid_argument("keel: the header \"" + name +
                                        "\" cannot be set: it is reserved for the protocol");
        }
    }
    return headers;
}

}  // namespace

http_link::http_link(std::shared_ptr<loop> on, std::unique_ptr<transfer_pool> pool, http_link_options options)
    : allow_old_transport_(options.allow_old_transport), context_(std::move(on), std::move(pool), options.max_body),
      session_(checked(std::move(options.headers))), gate_(context_, [this] { send_held(); }),
      listener_(context_, session_, inbox_, [this] { recovery_.lose(); }),
      closing_(context_, session_, table_, [this] { release_everything(); }) {}

// ---- the life of a link ----

std::shared_ptr<rpc::peer> http_link::open(std::shared_ptr<loop> on, const limits& bounds,
                                           client_side::link_user& user) {
    context_.open(bounds, user);
    auto peer = std::make_shared<rpc::peer>(std::move(on), static_cast<rpc::message_sink&>(outbox_), rpc::role::client,
                                            bounds, nullptr, static_cast<rpc::peer_user&>(*this));
    context_.set_peer(peer);
    peer->start();
    return peer;
}

void http_link::session_opened() {
    if (session_.modern() || session_.old_transport() || session_.closed()) return;
    session_.opened();
    // A renewed session is usable as soon as its handshake is done.
    if (session_.renewing()) return session_renewed(true);
    open_listener();
}

task<void> http_link::listening() {
    if (session_.modern() || session_.old_transport() || session_.closed() || session_.renewing()) co_return;
    co_await listener_.answered();
}

bool http_link::has_notifications() const noexcept {
    return session_.modern() || session_.old_transport() || !listener_.refused();
}

void http_link::session_renewed(bool worked) {
    if (!recovery_.renewed(worked)) return;
    if (worked) send_held();
    else outbox_.release_held();
}

void http_link::send_held() {
    // The notification stream first, so that notifications caused by a call are not lost.
    open_listener();
    outbox_.release_held();
}

void http_link::open_listener() {
    if (session_.wants_stream() && !gate_.is_closed() && !listener_.is_open()) listener_.open();
}

task<bool> http_link::fall_back_to_old_transport() {
    if (!allow_old_transport_ || session_.closed() || !context_.connected() || old_) co_return false;
    struct undo {
        http_link& home;
        bool keep = false;
        ~undo() {
            if (!keep) home.leave_old_transport();
        }
    } attempt{*this};
    session_.use_old_transport(true);
    old_ = std::make_unique<legacy_sse_stream>(context_, session_, inbox_);
    outbox_.use_endpoint(&old_->endpoint());
    co_await old_->decided;
    if (!old_ || !old_->usable()) co_return false;
    attempt.keep = true;
    co_return true;
}

void http_link::leave_old_transport() noexcept {
    session_.use_old_transport(false);
    outbox_.use_endpoint(nullptr);
    old_.reset();
}

void http_link::on_request(rpc::peer& p, rpc::serial request, std::string_view method, const json::value* params) {
    context_.user().on_request(p, request, method, params);
}

void http_link::on_notification(rpc::peer& p, std::string_view method, const json::value* params) {
    context_.user().on_notification(p, method, params);
}

void http_link::on_closed(std::string_view cause, std::size_t abandoned) {
    session_.close();
    listener_.close();
    std::vector<link_exchange*> pointless;
    for (link_exchange& x : table_.live()) {
        if (x.is_request() || x.now == link_exchange::stage::held) pointless.push_back(&x);
    }
    for (link_exchange* x : pointless) drop(*x);
    closing_.begin();
    context_.user().on_closed(cause, abandoned);
}

void http_link::release_everything() {
    while (!table_.empty()) drop(table_.live().front());
    leave_old_transport();
    context_.disconnect();
    sweep_.stop();
    gate_.stop();
}

task<void> http_link::ended() {
    if (context_.is_open()) co_await closing_.gone();
}

http_link::~http_link() {
    session_.close();
    listener_.close();
    old_.reset();
    context_.disconnect();  // before the transfer users that the pool refers to
}

// ---- reports of exchanges ----

bool http_link::answered(link_exchange& x, int status) {
    unsent_.remove(x);
    if (status != 404) {
        if (x.is_request()) session_.prove(x.sent_in.epoch);
    } else if (x.sent_in.epoch != 0) {
        recovery_.not_found(x);
        return false;
    }
    gate_.answered(x);
    return true;
}

void http_link::connection_failed(link_exchange& x) {
    unsent_.remove(x);
    gate_.answered(x);
}

void http_link::take_session_id(std::string_view id) {
    if (!session_.take_id(id)) context_.note("invalid Mcp-Session-Id from the server");
}

void http_link::refused(link_exchange& x) {
    x.since = context_.now();
    sweep_.arm();  // in case the body never ends
}

void http_link::settled(link_exchange& x) {
    table_.remove_call(x);
    x.settled = true;
    x.since = context_.now();
    if (x.now != link_exchange::stage::sent) return drop(x);
    if (x.transfer != 0) sweep_.arm();
}

void http_link::fail(link_exchange& x, rpc::call_outcome outcome) {
    const rpc::serial call = x.message.owner;
    const bool told = std::exchange(x.settled, true);
    drop(x);
    if (!told) context_.peer().settle(call, std::move(outcome));
}

void http_link::drop(link_exchange& x) {
    if (x.now == link_exchange::stage::over) return;
    outbox_.forget(x);
    unsent_.remove(x);
    table_.end(x);
    gate_.answered(x);
    if (!x.busy()) table_.recycle(x);
    closing_.exchange_ended();
}

}  // namespace keel::http_client
