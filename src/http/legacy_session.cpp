#include "http/legacy_session.hpp"

#include "async/reactor.hpp"
#include "async/release_later.hpp"
#include "http/http_server_core.hpp"
#include "http/sse_writer.hpp"
#include "http/unavailable.hpp"
#include "http_common/media_type.hpp"

#include <keel/error.hpp>

#include <unordered_set>

namespace keel::inline KEEL_ABI::http {

namespace {

using rpc::outgoing_message;
using rpc::stream_id;
using answer_form = http_options::answer_form;

constexpr stream_id no_stream = 0;
constexpr std::size_t most_idle_streams = 4;       // H12
constexpr std::size_t replay_window = 256 * 1024;  // bytes of stored events that wait for a resumed connection

std::string error_text(int code, std::string_view message, const rpc::request_id& id = {}) {
    std::string text;
    rpc::write_error(text, id, {code, std::string(message), {}});
    return text;
}

void refuse(exchange& ex, const unavailable& why, const rpc::request_id& id) {
    std::string text;
    rpc::write_error(text, id, why.error);
    ex.respond(why.status, json_type, text, why.headers);
}

}  // namespace

legacy_session::legacy_session(http_worker& l, std::shared_ptr<const tenant> by, std::string id, std::string credential,
                               counted_pair use, bool one_stream)
    : worker_(l), by_(std::move(by)), id_(std::move(id)), credential_(std::move(credential)), one_stream_(one_stream),
      log_(l.shared.options.limits.max_events, l.shared.options.limits.max_event_bytes, l.shared.budget),
      used_(l.coarse_now()), use_(std::move(use)) {}

std::shared_ptr<legacy_session> legacy_session::create(http_worker& l, std::shared_ptr<const tenant> by, std::string id,
                                                       std::string credential, counted_pair use, bool one_stream) {
    auto made = std::make_shared<legacy_session>(l, std::move(by), std::move(id), std::move(credential), std::move(use),
                                                 one_stream);
    // Held by the server's session until it has ended: it speaks through us.
    made->session_ = made->by_->server->attach(l.loop, [made](const connection_end&) {
        made->on_session_ended();
        detail::release_later(*made->worker_.loop, made);  // the peer uses this object until the end of the turn
    });
    if (!made->session_) return nullptr;
    l.hold();
    ++l.shared.counters.sessions;
    made->session_->start(l.loop, *made, made->by_->server->core().options.limits);
    const client_pair client = made->use_.of();
    made->calls_.count_for(client);
    made->unused_ = l.shared.unused.add(client, [weak = std::weak_ptr(made), on = l.loop] {
        auto end = [weak] {
            if (auto self = weak.lock()) self->end("too many sessions are open");
        };
        if (on->here()) end();
        else on->post(end);
    });
    return made;
}

bool legacy_session::client_returns() {
    const auto place = std::exchange(unused_, 0);
    return place == 0 || worker_.shared.unused.remove(place);
}

void legacy_session::touch() noexcept { used_ = worker_.coarse_now(); }

bool legacy_session::has_ids() const noexcept {
    return log_.keeps_any() && !one_stream_ && session_ && session_->initialized();
}

legacy_session::stream* legacy_session::find(stream_id on) noexcept {
    auto at = streams_.find(place_of(on));
    return at == streams_.end() ? nullptr : &at->second;
}

const legacy_session::stream* legacy_session::find(stream_id on) const noexcept {
    return const_cast<legacy_session*>(this)->find(on);
}

// ---- received messages ----

bool legacy_session::open(const rpc::message& message, std::shared_ptr<exchange> ex) {
    auto self = shared_from_this();
    opening_ = true;
    stream_id on = next_stream_++;
    stream& s = streams_[on];
    s.at = std::move(ex);
    s.unanswered = 1;
    s.json_only = worker_.shared.options.answers == answer_form::json;
    s.at->attach(weak_from_this(), worker_.loop, on);
    session_->peer().receive(message, on);
    opening_ = false;
    if (session_ && session_->initialized()) return true;
    if (!ending_ && session_) end("initialize failed");
    return false;
}

void legacy_session::post(std::span<const rpc::message> messages, bool batch, std::shared_ptr<exchange> ex) {
    auto self = shared_from_this();
    touch();
    auto session = session_;
    rpc::peer_core& core = session->peer().core();
    std::size_t requests = 0;
    std::unordered_set<rpc::request_id, rpc::request_id_hash> ids;  // ids in a batch
    for (const rpc::message& m : messages) {
        if (m.kind != rpc::message_kind::request) continue;
        ++requests;
        bool twice = messages.size() > 1 && !ids.insert(m.id).second;
        if (twice || core.in_flight(m.id)) {  // A7
            return ex->respond(400, json_type, error_text(error_code::invalid_request, "id is already in flight"));
        }
    }
    if (requests > 0 && core.closing()) {
        return refuse(*ex, shutting_down(), messages.front().id);
    }
    const std::size_t quota = worker_.shared.quotas.limits().calls;
    const std::size_t connection = by_->server->core().options.limits.max_in_flight;
    const std::size_t most = quota > 0 ? std::min(quota, connection) : connection;
    if (requests > most) {  // it can never be accepted
        return ex->respond(400, json_type,
                           error_text(error_code::invalid_request,
                                      "a batch may contain at most " + std::to_string(most) + " requests"));
    }
    bool only_pings = messages.size() == 1 && messages[0].method == "ping";  // A12
    if (requests > client_room() && !only_pings) {
        return refuse(*ex, too_many_requests_of_client(), messages.size() == 1 ? messages[0].id : rpc::request_id());
    }
    if (requests > core.room() && !only_pings) {  // F8
        return refuse(*ex, too_many_requests(), messages.size() == 1 ? messages[0].id : rpc::request_id());
    }
    stream_id on = no_stream;
    if (requests > 0 && !one_stream_) {
        on = next_stream_++;
        stream& s = streams_[on];
        s.at = ex;
        s.unanswered = requests;
        if (messages.size() == 1) s.id = messages[0].id;
        s.batch = batch;
        s.json_only = worker_.shared.options.answers == answer_form::json;
        ex->attach(weak_from_this(), worker_.loop, on);
        if (worker_.shared.options.answers == answer_form::events) open_stream(on, s);
    }
    for (const rpc::message& m : messages) session->peer().receive(m, on, batch ? nullptr : ex->large_input());
    if (on == no_stream) ex->respond(202, {}, {});
}

// ---- streams for messages that belong to no request ----

void legacy_session::listen(std::string_view last_event, std::shared_ptr<exchange> ex) {
    touch();
    if (!last_event.empty()) {
        auto from = event_log::read_id(last_event);
        if (!from || !has_ids() || !log_.can_resume(*from) || !find(from->stream)) {  // H16
            return ex->respond(400, json_type,
                               error_text(error_code::invalid_request, "Last-Event-ID: unknown or expired event id"));
        }
        return resume(*from, std::move(ex));
    }
    stream_id on = next_stream_++;
    stream& s = streams_[on];
    s.general = true;
    s.at = std::move(ex);
    s.at->attach(weak_from_this(), worker_.loop, on);
    be_newest(on);
    open_stream(on, s);
    worker_.flush_dirty();
}

// Messages go to the newest stream only; older ones stay open without messages (H12). Disconnected ones can be resumed for a while.
void legacy_session::be_newest(stream_id on) {
    stream_id before = std::exchange(general_, on);
    std::erase(older_, on);
    if (before == on || before == 0) return;
    auto at = streams_.find(before);
    if (at == streams_.end()) return;
    if (at->second.at) older_.push_back(before);
    else has_ended(before, at->second);
    if (older_.size() <= most_idle_streams) return;
    stream_id last = older_.front();
    stream& oldest = streams_.at(last);
    older_.pop_front();
    if (auto to = std::exchange(oldest.at, nullptr)) to->end_stream();
    has_ended(last, oldest);
}

void legacy_session::listen_old(std::string_view message_path, std::shared_ptr<exchange> ex) {
    general_ = next_stream_++;
    stream& s = streams_[general_];
    s.general = true;
    s.at = std::move(ex);
    s.at->attach(weak_from_this(), worker_.loop, general_);
    s.at->open_stream({});
    s.open = true;
    events_.clear();
    append_event(events_, {}, "endpoint", std::string(message_path) + "?sessionId=" + id_);
    s.at->send(events_);
    worker_.flush_dirty();
}

void legacy_session::resume(const event_log::position& from, std::shared_ptr<exchange> ex) {
    stream& s = *find(from.stream);
    // H11: the old connection is dead, although not detected yet. Nobody reads its queue.
    if (auto old = std::exchange(s.at, nullptr)) old->abort();
    s.at = std::move(ex);
    s.at->attach(weak_from_this(), worker_.loop, from.stream);
    if (s.general) {
        s.ended = time_point::max();
        be_newest(from.stream);
    }
    s.at->open_stream({});
    s.open = true;
    events_.clear();
    append_comment(events_);
    if (protocol::has_priming_events(session_->negotiated())) {
        // Keeps the position of clients that lose this stream before its first event.
        append_priming_event(events_, event_log::id_of(from.stream, from.number));
    }
    s.at->send(events_);
    s.replayed = from.number;
    replay(from.stream, s);
    worker_.flush_dirty();
}

// Sends stored events until enough bytes wait for the client; on_exchange_drained continues. Otherwise a client that resumes often and
// never reads would make us keep a copy of the log for each of its connections.
void legacy_session::replay(stream_id on, stream& s) {
    if (!log_.can_resume({on, s.replayed})) {  // evicted meanwhile: the client is too slow
        s.replayed = 0;
        return std::exchange(s.at, nullptr)->abort();
    }
    events_.clear();
    bool complete = log_.replay({on, s.replayed}, [&](std::uint64_t number, std::string_view data) {
        if (s.at->waiting() + events_.size() >= replay_window) return false;
        append_event(events_, event_log::id_of(on, number), {}, data);
        s.replayed = number;
        return true;
    });
    if (!events_.empty()) s.at->send(events_);
    if (!complete) return;
    s.replayed = 0;
    if (!s.general && s.ended != time_point::max()) std::exchange(s.at, nullptr)->end_stream();
}

// ---- sent messages ----

std::string& legacy_session::begin(const outgoing_message& about) {
    if (about.size > 0) {
        std::string* buffer = begin_direct(about);
        direct_ = buffer != nullptr;
        if (direct_) return *buffer;
    }
    text_.clear();
    return text_;
}

// A large response that is one JSON body is not copied here first.
std::string* legacy_session::begin_direct(const outgoing_message& about) {
    const bool may_be_json =
        about.is_response() && !one_stream_ && worker_.shared.options.answers != answer_form::events;
    stream* s = may_be_json ? find(place_of(about.stream)) : nullptr;
    return s && s->at && !s->open && !s->batch ? s->at->begin_json(about.swaps ? 0 : about.size, answer_headers())
                                               : nullptr;
}

void legacy_session::end(const outgoing_message& about) {
    constexpr std::size_t kept_capacity = 64 * 1024;
    stream_id on = place_of(about.stream);
    stream* s = find(on);
    if (std::exchange(direct_, false)) {
        touch();
        std::exchange(s->at, nullptr)->end_json();
        return request_done(on, *s);
    }
    // Messages of an ended stream go to the general stream.
    if (!s && !about.is_response()) s = find(on = general_);
    if (!s) {
        worker_.shared.counters.undeliverable.fetch_add(1, std::memory_order_relaxed);
    } else if (about.is_response() && !one_stream_) {
        answer(on, *s, text_);
    } else if (!s->json_only) {
        say(on, *s, text_);
    }
    if (text_.capacity() > kept_capacity) async::give_back(text_, async::spares_of(*worker_.loop));
    if (events_.capacity() > kept_capacity) async::give_back(events_, async::spares_of(*worker_.loop));
}

std::string legacy_session::answer_headers() const {
    return opening_ && session_->initialized() ? session_header() : std::string();
}

void legacy_session::open_stream(stream_id on, stream& s) {
    s.at->open_stream(answer_headers());
    s.open = true;
    events_.clear();
    append_comment(events_);  // makes proxies forward the head (H19)
    if (has_ids() && protocol::has_priming_events(session_->negotiated())) {
        append_priming_event(events_, event_log::id_of(on, log_.add(on, {})));  // LHTTP-20
        s.has_id = true;
    }
    s.at->send(events_);
    // Answers of a batch that were held back for a plain JSON response.
    for (const auto& each : std::exchange(s.answers, {})) say(on, s, each->get());
}

void legacy_session::say(stream_id on, stream& s, std::string_view text) {
    // A stream that was never opened cannot be resumed.
    bool kept = has_ids() && s.open;
    if (!s.at && !kept) {
        worker_.shared.counters.undeliverable.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (s.replayed > 0) {  // comes after the stored events
        log_.add(on, text);
        return;
    }
    if (s.at && !s.open) open_stream(on, s);
    events_.clear();
    if (has_ids()) {
        append_event(events_, event_log::id_of(on, log_.add(on, text)), {}, text);
        s.has_id = true;
    } else {
        append_event(events_, {}, one_stream_ ? "message" : "", text);
    }
    if (s.at) s.at->send(events_);
}

void legacy_session::answer(stream_id on, stream& s, std::string_view text) {
    touch();
    if (s.at && !s.open && !s.batch && worker_.shared.options.answers == answer_form::events) open_stream(on, s);
    if (s.open) {
        say(on, s, text);
    } else if (s.batch && s.at) {
        s.answers.push_back(worker_.shared.keep(text));
        if (!s.answers.back()) {  // the memory budget is exceeded
            s.answers.clear();
            std::exchange(s.at, nullptr)->abort();
        }
    } else if (auto to = std::exchange(s.at, nullptr)) {
        to->respond(200, json_type, text, answer_headers());
    } else {
        worker_.shared.counters.undeliverable.fetch_add(1, std::memory_order_relaxed);
    }
    request_done(on, s);
}

void legacy_session::request_done(stream_id on, stream& s) {
    if (--s.unanswered > 0) return;
    if (s.batch && s.at && !s.open) {
        std::string all = "[";
        for (const auto& each : s.answers) {
            if (all.size() > 1) all += ',';
            all += each->get();
        }
        all += ']';
        std::exchange(s.at, nullptr)->respond(200, json_type, all);
    }
    end_stream(on, s);
}

void legacy_session::end_stream(stream_id on, stream& s) {
    if (s.replayed > 0) return has_ended(on, s);  // replay() ends it
    if (auto to = std::exchange(s.at, nullptr)) to->end_stream();
    if (s.open && has_ids()) {
        has_ended(on, s);
    } else {
        streams_.erase(on);
    }
}

// The stream can be resumed for a while, unless too many others have ended since (J5).
void legacy_session::has_ended(stream_id on, stream& s) {
    s.ended = worker_.coarse_now();
    ended_.push_back(on);
    while (ended_.size() > worker_.shared.options.limits.max_events) {
        stream_id oldest = ended_.front();
        ended_.pop_front();
        auto at = streams_.find(oldest);
        if (oldest == on || at == streams_.end() || at->second.ended == time_point::max()) continue;
        erase(oldest);
    }
}

void legacy_session::erase(stream_id on) {
    auto at = streams_.find(on);
    if (auto to = std::exchange(at->second.at, nullptr)) to->abort();  // it is still being replayed
    streams_.erase(at);
    log_.forget(on);
}

// B18: the request was cancelled; its HTTP exchange must still end.
void legacy_session::on_unanswered(stream_id on, const rpc::request_id& id) {
    stream* s = find(on);
    if (ending_ || one_stream_ || !s) return;
    if (s->open && !s->has_id) return request_done(on, *s);
    answer(on, *s, error_text(error_code::request_cancelled, "request cancelled", id));
}

bool legacy_session::may_send_request(stream_id on) const noexcept {
    const stream* s = find(on);
    return s && !ending_ && !s->json_only && (s->at || (s->open && has_ids()));
}

void legacy_session::release(stream_id on, duration retry) {
    stream* s = find(on);
    if (!s || !s->at || s->json_only || !has_ids() || session_->negotiated() < revision::r2025_11_25) return;
    if (!s->open) open_stream(on, *s);
    events_.clear();
    append_retry(events_, std::chrono::duration_cast<std::chrono::milliseconds>(retry));  // LHTTP-21
    s->at->send(events_);
    s->replayed = 0;  // the client resumes where it was
    std::exchange(s->at, nullptr)->end_stream();
}

std::size_t legacy_session::queued_bytes(stream_id on) const noexcept {
    const stream* s = find(on);
    return s && s->at ? s->at->waiting() : 0;
}

// The end of a turn of the peer: handlers may have started or ended.
void legacy_session::flush(time_point) {
    calls_.update(session_ ? session_->peer().core().running() : 0);
    worker_.flush_dirty();
}

std::size_t legacy_session::client_room() const noexcept { return calls_.room(worker_.shared.quotas.limits().calls); }

// ---- connection events ----

void legacy_session::on_exchange_gone(std::uint64_t tag) {
    auto self = shared_from_this();
    touch();
    if (one_stream_) return end("the client closed its stream");
    stream* s = find(tag);
    if (!s || !s->at || !s->at->gone()) return;
    s->at.reset();  // H6: the request continues
    s->replayed = 0;
    if (!s->general) return;
    if (tag != general_) {
        std::erase(older_, tag);
        has_ended(tag, *s);
    } else if (!older_.empty()) {
        be_newest(older_.back());
    }
}

void legacy_session::on_exchange_drained(std::uint64_t tag) {
    if (stream* s = find(tag); s && s->at && s->replayed > 0) replay(tag, *s);
    if (session_) session_->peer().drained();
}

void legacy_session::on_exchange_quiet(std::uint64_t tag) {
    stream* s = find(tag);
    if (s && s->at && !s->open && !s->json_only) open_stream(tag, *s);
}

// ---- the end ----

void legacy_session::end(const char* why) {
    auto self = shared_from_this();
    if (std::exchange(ending_, true)) return;
    worker_.remove_session(id_);
    client_returns();  // it can no longer be chosen to end
    for (auto& [on, s] : streams_) {
        auto to = std::exchange(s.at, nullptr);
        if (!to) continue;
        if (s.open) to->end_stream();
        else to->respond(404, json_type, error_text(session_not_found, why, s.id));
    }
    older_.clear();
    streams_.clear();
    if (auto session = session_) session->peer().fail(why);
    worker_.flush_dirty();
}

void legacy_session::stop(duration drain) {
    if (auto session = session_) session->close(drain);
}

// The server_session has ended: after `end`, or because the server stops.
void legacy_session::on_session_ended() {
    auto self = shared_from_this();
    session_.reset();
    end("the session has ended");
    --worker_.shared.counters.sessions;
    use_.release();
    calls_.update(0);
    worker_.let_go();
}

bool legacy_session::check_idle(time_point now) {
    const http_limits& bounds = worker_.shared.options.limits;
    bool in_use = !session_ || session_->peer().core().running() > 0;
    std::vector<stream_id> over;
    for (auto& [on, s] : streams_) {
        in_use = in_use || s.at;
        if (s.ended != time_point::max() && now - s.ended >= bounds.ended_stream) over.push_back(on);
    }
    for (stream_id on : over) erase(on);
    std::erase_if(ended_, [this](stream_id on) { return !streams_.contains(on); });
    if (in_use) used_ = now;
    return now - used_ >= (unused_ != 0 ? std::min(bounds.unused_session, bounds.session_idle) : bounds.session_idle);
}

}  // namespace keel::http
