#include "http_client/http_link_exchange.hpp"

#include "http/media_type.hpp"
#include "http_client/http_link.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::http_client {

namespace {

constexpr std::size_t max_refusal = 1024 * 1024;    // bytes of the body of an error response
constexpr std::size_t max_ignored = 64 * 1024;      // bytes discarded so that the connection can be reused
constexpr std::size_t max_kept_buffer = 64 * 1024;  // bytes of a buffer that is kept for reuse

bool is_success(int status) noexcept { return status >= 200 && status < 300; }

}  // namespace

/// Keeps the memory of an exchange while one of its functions is on the stack, because callbacks may end it.
class link_exchange::visit {
public:
    explicit visit(link_exchange& x) noexcept : exchange_(x) { ++x.busy; }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() {
        if (--exchange_.busy == 0 && exchange_.now == stage::over) exchange_.home_.recycle(exchange_);
    }

private:
    link_exchange& exchange_;
};

void link_exchange::free_buffers() noexcept {
    for (std::string* each : {&body_, &message.body}) {
        if (each->capacity() > max_kept_buffer) std::string().swap(*each);
    }
    reader_.reset();
}

void link_exchange::reset() {
    message.owner = 0;
    message.answers = {};
    message.method.clear();
    message.name.clear();
    message.extra.clear();
    message.body.clear();
    message.repeated = false;
    now = stage::queued;
    transfer = 0;
    pause = 0;
    epoch = 0;
    modern = by_stream = settled = given_up = false;
    form_ = form::nothing;
    has_head_ = resumed_ = heard_other_ = false;
    status_ = 0;
    ignored_ = 0;
    body_.clear();
    if (body_.capacity() > max_kept_buffer) std::string().swap(body_);
    reader_.reset();
    pace_ = {};
}

// ---- the head ----

void link_exchange::on_response(const response_view& r) {
    visit v(*this);
    home_.uncount(*this);
    status_ = r.status;
    if (resumed_) return read_resumed(r);
    has_head_ = true;
    // Only requests prove that the session works: the handshake sends notifications in every session.
    if (is_request() && epoch != 0 && epoch == home_.epoch_ && r.status != 404) home_.unproven_ = 0;
    if (r.status == 404 && epoch != 0) return home_.not_found(*this);
    if (is_request()) return read_answer(r);
    home_.open_gate(*this);
    read_notification_reply(r);
}

void link_exchange::read_answer(const response_view& r) {
    if (!is_success(r.status)) {
        form_ = form::refusal;
        since = home_.loop_->now();
        return home_.arm_sweep();  // in case its body never ends
    }
    if (by_stream) {
        // Accepted; the response arrives on the SSE stream.
        form_ = form::ignored;
        return home_.mark_settled(*this);
    }
    if (!modern && message.method == "initialize") home_.take_session_id(r);
    std::string_view type = r.header("content-type");
    if (r.status == 202 || r.status == 204) {
        fail(error_kind::bad_message, "the server returned no result: " + describe_refusal(r.status, {}));
    } else if (http::is_json_type(type)) {
        form_ = form::json;
    } else if (is_event_stream_type(type)) {
        form_ = form::events;
        reader_.emplace(http::sse_limits{home_.options_.max_body});
    } else {
        fail(error_kind::bad_message,
             "unexpected content type \"" + rpc::printable(type, 80) +
                 "\" in the server's response: expected application/json or text/event-stream");
    }
}

void link_exchange::read_notification_reply(const response_view& r) {
    if (!is_success(r.status)) {
        form_ = form::refusal;
        return;
    }
    // An event stream could stay open forever, and its content does not matter.
    if (is_event_stream_type(r.header("content-type"))) return home_.drop(*this);
    form_ = form::ignored;
    home_.mark_settled(*this);
}

void link_exchange::read_resumed(const response_view& r) {
    if (is_success(r.status) && is_event_stream_type(r.header("content-type"))) {
        form_ = form::events;
        reader_->restart();
        return;
    }
    std::string why = describe_refusal(r.status, {});
    if (r.status < 500) return fail(error_kind::stream_lost, "the event stream cannot be resumed: " + why);
    home_.pool_->cancel(std::exchange(transfer, 0));
    resume_later(why);
}

// ---- the body ----

void link_exchange::on_body(std::string_view bytes) {
    visit v(*this);
    switch (form_) {
        case form::json:
            if (bytes.size() > home_.options_.max_body - body_.size()) {  // E3
                return fail(error_kind::bad_message, "the response is too large");
            }
            body_.append(bytes);
            break;
        case form::events: take_events(bytes); break;
        case form::refusal:
            body_.append(bytes.substr(0, max_refusal - body_.size()));
            if (body_.size() == max_refusal) take_refusal();
            break;
        case form::ignored:
        case form::nothing:
            ignored_ += bytes.size();
            if (ignored_ > max_ignored) home_.drop(*this);
            break;
    }
}

void link_exchange::take_events(std::string_view bytes) {
    reader_->feed(
        bytes,
        [this](const http::sse_event& e) {
            if (now == stage::over) return;
            pace_.event_received();
            home_.take_event(this, e);
        },
        [this](std::string_view beginning) {
            if (now == stage::over) return;
            pace_.event_received();
            take_large_event(beginning);
        });
}

// E3: the event is skipped. If it was the response, the call fails.
void link_exchange::take_large_event(std::string_view beginning) {
    const rpc::truncated_message seen = rpc::read_truncated(beginning);
    const bool ours = !seen.method && (!seen.id.present() || call_of(seen.id) == message.owner);
    if (ours && !settled) return fail(error_kind::bad_message, "the response is too large");
    home_.take_large_message(beginning);
}

void link_exchange::on_end() {
    visit v(*this);
    transfer = 0;
    switch (form_) {
        case form::json: take_json(); break;
        case form::events: stream_over("the server closed the stream"); break;
        case form::refusal: take_refusal(); break;
        case form::ignored:
        case form::nothing: break;
    }
    if (now == stage::sent) home_.drop(*this);
}

void link_exchange::on_failure(transfer_failure what, std::string_view why) {
    visit v(*this);
    transfer = 0;
    home_.uncount(*this);
    home_.open_gate(*this);
    if (settled) return home_.drop(*this);
    if (!is_request()) {
        home_.note("could not send a message to the server: " + rpc::printable(why));
        return home_.drop(*this);
    }
    if (form_ == form::refusal) return take_refusal();  // the status is sufficient
    if (what == transfer_failure::malformed && !(form_ == form::events && resumable())) {
        return fail(failed_transfer(what, why));
    }
    if (form_ == form::events) return stream_over(why);
    if (resumed_) return resume_later(why);
    fail(failed_transfer(what, why));
}

// One message, or before 2026-07-28 a batch that contains the response.
void link_exchange::take_json() {
    json::document& reader = home_.document();
    const json::value* v = reader.read(body_, {.max_depth = home_.limits_.max_depth});
    if (!v) {
        std::string why = body_.empty() ? "empty body" : reader.error().what;
        return fail(error_kind::bad_message, "invalid response: " + why);
    }
    if (v->is_array() && !modern) {
        if (!home_.takes_batch(*v))
            return fail(error_kind::bad_message, "the response is a batch, which this protocol version does not allow");
        for (const json::value& each : v->items()) {
            if (now != stage::over) home_.take_message(this, rpc::classify(each));
        }
    } else if (!take_whole_message(*v)) {
        return;
    }
    if (!settled) fail(error_kind::bad_message, "the response does not contain an answer to this request");
    if (body_.size() > max_kept_buffer) reader.clear();
}

// Returns false if the call has failed.
bool link_exchange::take_whole_message(const json::value& v) {
    rpc::message m = rpc::classify(v);
    if (m.names_method) return true;
    // An error without an id in place of the response can only refer to this request.
    if (!m.id.present() && m.kind == rpc::message_kind::response && m.error && !*m.problem) {
        fail(refused_call(status_, body_, message.owner, home_.document()));
        return false;
    }
    if (call_of(m.id) == message.owner) home_.take_message(this, m);
    return true;
}

void link_exchange::take_refusal() {
    if (is_request()) return fail(refused_call(status_, body_, message.owner, home_.document()));
    home_.note("the server rejected " + (message.method.empty() ? "a response" : message.method) + ": " +
               describe_refusal(status_, body_));
    home_.drop(*this);
}

// ---- streams that end too early ----

void link_exchange::stream_over(std::string_view why) {
    if (settled) return home_.drop(*this);
    if (heard_other_)
        return fail(error_kind::bad_message, "the event stream contained a response, but not to this request");
    if (resumable()) return resume_later(why);
    fail(error_kind::stream_lost, "the event stream ended before the response: " + rpc::printable(why));
}

bool link_exchange::resumable() const {
    std::string_view id = reader_->last_event_id();
    return !modern && !id.empty() && is_writable_header("last-event-id", id);
}

// LHTTP-07, LHTTP-19: not before the `retry` time of the server, however the stream ended.
void link_exchange::resume_later(std::string_view why) {
    if (pace_.exhausted()) {
        return fail(error_kind::stream_lost, "the event stream could not be resumed: " + rpc::printable(why));
    }
    now = stage::pausing;
    form_ = form::nothing;
    resumed_ = true;
    pause = start_timer_after(*home_.loop_, pace_.next(reader_->retry()), [this] {
        pause = 0;
        home_.resume_stream(*this, reader_->last_event_id());
    });
}

void link_exchange::fail(rpc::call_outcome outcome) { home_.fail(*this, std::move(outcome)); }

}  // namespace keel::http_client
