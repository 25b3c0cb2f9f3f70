#include "http_client/http_link.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

using rpc::outgoing_message;
using kind = posted_message::kind;
using stage = link_exchange::stage;

constexpr std::size_t kept_exchanges = 64;
constexpr std::size_t usual_message = 512;  // bytes
constexpr duration gate_timeout = std::chrono::seconds(5);

kind kind_of(const outgoing_message& about) noexcept {
    if (about.is_response()) return kind::response;
    return about.type == outgoing_message::kind::request ? kind::request : kind::notification;
}

}  // namespace

http_link::http_link(std::shared_ptr<loop> on, std::unique_ptr<transfer_pool> pool, http_link_options options)
    : loop_(std::move(on)), pool_(std::move(pool)), options_(std::move(options)), listener_(*this) {
    for (const auto& [name, value] : options_.headers) {
        if (!is_writable_header(name, value)) {
            throw std::invalid_argument("keel: invalid header \"" + rpc::printable(name, 80) +
                                        "\": the name must be a token, the value must not contain control characters");
        }
        if (is_protocol_header(name)) {
            throw std::invalid_argument("keel: the header \"" + name +
                                        "\" cannot be set: it is reserved for the protocol");
        }
    }
    terms_.own = options_.headers;
}

std::shared_ptr<rpc::peer> http_link::open(std::shared_ptr<loop> on, const limits& bounds,
                                           client_side::link_user& user) {
    limits_ = bounds;
    user_ = &user;
    peer_ = std::make_shared<rpc::peer>(std::move(on), static_cast<rpc::message_sink&>(*this), rpc::role::client,
                                        bounds, nullptr, static_cast<rpc::peer_user&>(*this));
    peer_->start();
    return peer_;
}

void http_link::speak(bool modern, std::string_view version) {
    terms_.modern = modern;
    terms_.version = version;
}

void http_link::on_request(rpc::peer& p, rpc::serial request, std::string_view method, const json::value* params) {
    user_->on_request(p, request, method, params);
}

void http_link::on_notification(rpc::peer& p, std::string_view method, const json::value* params) {
    user_->on_notification(p, method, params);
}

// ---- messages of the peer ----

link_exchange& http_link::take_exchange() {
    if (spare_.empty()) {
        live_.emplace_back(*this);
    } else {
        live_.splice(live_.end(), spare_, spare_.begin());
    }
    link_exchange& x = live_.back();
    x.reset();
    x.place = std::prev(live_.end());
    return x;
}

std::string& http_link::begin(const outgoing_message&) {
    writing_ = &take_exchange();
    std::string& body = writing_->message.body;
    if (body.capacity() < usual_message) body.reserve(usual_message);
    return body;
}

void http_link::end(const outgoing_message& about) {
    link_exchange& x = *std::exchange(writing_, nullptr);
    posted_message& m = x.message;
    m.what = kind_of(about);
    m.owner = about.owner;
    m.number = next_number_++;
    m.method = about.method;
    m.name = about.name;
    m.size = m.body.size();
    if (about.answered_id) m.answers = *about.answered_id;
    if (about.headers) {
        m.extra = *about.headers;
        for (const auto& [name, value] : m.extra) {
            if (is_protocol_header(name) || !is_writable_header(name, value)) {
                note("invalid or reserved header not sent: " + rpc::printable(name, 80));
            }
        }
    }
    // BASE-17: in the modern era the server sends no requests, so it gets no responses.
    if (terms_.modern && about.is_reply()) return drop(x);
    // The peer's core limits queued requests, but not responses and notifications.
    if (m.what != kind::request && queued_bytes(0) >= limits_.out_queue) {
        note("message dropped, because the output queue to the server is full");
        return drop(x);
    }
    if (m.what == kind::request) requests_.add(m.owner, &x);
    if (!terms_.modern && m.what == kind::notification && m.method == "notifications/initialized") {
        gate_ = &x;
        loop_->stop_timer(gate_timer_);
        gate_timer_ = start_timer_after(*loop_, gate_timeout, [this] {
            gate_timer_ = 0;
            if (gate_) open_gate(*gate_);
        });
    }
    count(x);
    queued_.push_back(&x);
}

void http_link::flush(time_point) {
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
    for (link_exchange* x : std::exchange(given_up_, {})) drop(*x);
}

bool http_link::must_wait(const link_exchange& x) const noexcept {
    if (closed_ || x.message.what == kind::response || &x == gate_) return false;
    if (x.is_request() && x.message.method == "initialize") return false;
    return renewing_ || gate_ != nullptr;
}

void http_link::hold(link_exchange& x) {
    x.now = stage::held;
    held_.push_back(&x);
    count(x);
}

void http_link::release_held() {
    if (renewing_ || gate_) return;
    for (link_exchange* x : std::exchange(held_, {})) send(*x);
}

void http_link::send(link_exchange& x) {
    posted_message& m = x.message;
    x.now = stage::sent;
    const bool opens_session = x.is_request() && m.method == "initialize";
    // A response in an expired session has no receiver.
    if (!pool_ || (renewing_ && m.what == kind::response)) return drop(x);
    transfer_request out;
    if (old_) out.path = old_->endpoint();
    out.headers = headers_of_message(terms_, {m.method, m.name, &m.extra, opens_session});
    const bool in_session = !terms_.modern && !old_ && !opens_session && !terms_.session.empty();
    // In a session the message may have to be sent again (D18).
    out.body = in_session ? m.body : std::move(m.body);
    x.modern = terms_.modern;
    x.by_stream = old_ != nullptr;
    x.epoch = in_session ? epoch_ : 0;
    x.since = loop_->now();
    // Pending calls may occupy all connections while they wait for our responses.
    out.urgent = !x.is_request() || m.method == "ping" || opens_session;
    out.lasting = m.method == "subscriptions/listen";
    x.transfer = pool_->start(std::move(out), x);
    if (!x.is_request()) arm_sweep();
}

void http_link::resume_stream(link_exchange& x, std::string_view last_event_id) {
    transfer_request out;
    out.method = "GET";
    out.headers = headers_of_stream(terms_, last_event_id);
    x.now = stage::sent;
    x.transfer = pool_->start(std::move(out), x);
}

void http_link::open_gate(const link_exchange& x) {
    if (gate_ != &x) return;
    gate_ = nullptr;
    loop_->stop_timer(std::exchange(gate_timer_, 0));
    // The notification stream first, so that notifications caused by a call are not lost.
    if (wants_listener_ && !renewing_ && !closed_ && !listener_.is_open()) listener_.open();
    release_held();
}

// ---- unsent messages ----

bool http_link::untouched(const link_exchange& x) const noexcept {
    if (x.now == stage::queued || x.now == stage::held) return true;
    return x.now == stage::sent && !x.accepted() && pool_ && x.transfer != 0 && pool_->unsent(x.transfer);
}

void http_link::count(link_exchange& x) noexcept {
    if (x.counted) return;
    x.counted = true;
    x.next = nullptr;
    x.previous = last_unsent_;
    (last_unsent_ ? last_unsent_->next : first_unsent_) = &x;
    last_unsent_ = &x;
    unsent_bytes_ += x.message.size;
}

void http_link::uncount(link_exchange& x) const noexcept {
    if (!x.counted) return;
    x.counted = false;
    (x.previous ? x.previous->next : first_unsent_) = x.next;
    (x.next ? x.next->previous : last_unsent_) = x.previous;
    unsent_bytes_ -= x.message.size;
}

std::size_t http_link::queued_bytes(rpc::stream_id) const noexcept {
    while (first_unsent_ && !untouched(*first_unsent_)) uncount(*first_unsent_);
    return unsent_bytes_;
}

std::uint64_t http_link::oldest_unsent() const noexcept {
    queued_bytes(0);
    return first_unsent_ ? first_unsent_->message.number : next_number_;
}

std::size_t http_link::withdraw(rpc::serial owner) {
    if (auto at = requests_.find(owner); at != requests_.end()) {
        if (!untouched(*at->second)) return 0;
        drop(*at->second);
        return 1;
    }
    std::size_t taken = 0;
    for (link_exchange* x = first_unsent_; x;) {
        link_exchange& each = *std::exchange(x, x->next);
        if (each.is_request() || each.message.owner != owner || !untouched(each)) continue;
        drop(each);
        ++taken;
    }
    return taken;
}

rpc::serial http_link::owner_of_response(const rpc::request_id& id) const noexcept {
    rpc::serial owner = 0;
    for (const link_exchange* x = first_unsent_; x; x = x->next) {
        if (x->message.what == kind::response && x->message.answers == id && untouched(*x)) owner = x->message.owner;
    }
    return owner;
}

bool http_link::give_up(rpc::serial call) {
    auto at = requests_.find(call);
    if (at == requests_.end()) return terms_.modern;
    link_exchange& x = *at->second;
    if (x.modern) {
        drop(x);  // closing the stream cancels the request (D7)
        return true;
    }
    requests_.erase(at);
    x.settled = true;
    x.given_up = true;
    given_up_.push_back(&x);
    return false;
}

// ---- the end of an exchange ----

void http_link::drop(link_exchange& x) {
    if (x.now == stage::over) return;
    if (x.now == stage::queued) std::erase(queued_, &x);
    if (x.now == stage::held) std::erase(held_, &x);
    if (x.given_up) std::erase(given_up_, &x);
    uncount(x);
    x.now = stage::over;
    if (pool_ && x.transfer != 0) pool_->cancel(x.transfer);
    x.transfer = 0;
    loop_->stop_timer(std::exchange(x.pause, 0));
    if (auto at = requests_.find(x.message.owner); at != requests_.end() && at->second == &x) requests_.erase(at);
    dying_.splice(dying_.end(), live_, x.place);
    open_gate(x);
    if (x.busy == 0) recycle(x);
    if (leaving_ && live_.empty()) delete_session();
}

void http_link::recycle(link_exchange& x) noexcept {
    x.free_buffers();
    if (spare_.size() >= kept_exchanges) {
        dying_.erase(x.place);
    } else {
        spare_.splice(spare_.end(), dying_, x.place);
    }
}

}  // namespace keel::http_client
