#include "http_client/http_link_exchange.hpp"

#include "http_client/http_link_headers.hpp"
#include "http_client/link_context.hpp"
#include "http_client/message_inbox.hpp"
#include "http_common/media_type.hpp"

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
    explicit visit(link_exchange& x) noexcept : exchange_(x) { ++x.visits_; }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() {
        if (--exchange_.visits_ == 0 && exchange_.now == stage::over) exchange_.owner_.release(exchange_);
    }

private:
    link_exchange& exchange_;
};

void posted_message::reset() {
    owner = 0;
    answers = {};
    method.clear();
    name.clear();
    extra.clear();
    body.clear();
    repeated = false;
}

void partial_response::reset() {
    body_form = form::nothing;
    has_head = resumed = heard_other = false;
    status = 0;
    ignored = 0;
    body.clear();
    if (body.capacity() > max_kept_buffer) std::string().swap(body);
    events.reset();
    pace = {};
}

void link_exchange::free_buffers() noexcept {
    for (std::string* each : {&response_.body, &message.body}) {
        if (each->capacity() > max_kept_buffer) std::string().swap(*each);
    }
    response_.events.reset();
}

void link_exchange::reset() {
    message.reset();
    sent_in = {};
    now = stage::queued;
    transfer = 0;
    pause = 0;
    settled = given_up = false;
    response_.reset();
}

void link_exchange::prepare_repetition() noexcept {
    message.repeated = true;
    response_.has_head = false;
    sent_in.epoch = 0;
}

// ---- the head ----

void link_exchange::on_response(const response_view& r) {
    visit v(*this);
    response_.status = r.status;
    if (response_.resumed) return read_resumed(r);
    response_.has_head = true;
    if (!owner_.answered(*this, r.status)) return;
    if (is_request()) return read_answer(r);
    read_notification_reply(r);
}

void link_exchange::read_answer(const response_view& r) {
    if (!is_success(r.status)) {
        response_.body_form = form::refusal;
        return owner_.refused(*this);
    }
    if (sent_in.by_stream) {
        // Accepted; the response arrives on the SSE stream.
        response_.body_form = form::ignored;
        return owner_.settled(*this);
    }
    if (!sent_in.modern && message.opens_session()) owner_.take_session_id(r.header("mcp-session-id"));
    std::string_view type = r.header("content-type");
    if (r.status == 202 || r.status == 204) {
        fail(error_kind::bad_message, "the server returned no result: " + describe_refusal(r.status, {}));
    } else if (http::is_json_type(type)) {
        response_.body_form = form::json;
    } else if (is_event_stream_type(type)) {
        response_.body_form = form::events;
        response_.events.emplace(http::sse_limits{context_.max_body()});
    } else {
        fail(error_kind::bad_message,
             "unexpected content type \"" + rpc::printable(type, 80) +
                 "\" in the server's response: expected application/json or text/event-stream");
    }
}

void link_exchange::read_notification_reply(const response_view& r) {
    if (!is_success(r.status)) {
        response_.body_form = form::refusal;
        return;
    }
    // An event stream could stay open forever, and its content does not matter.
    if (is_event_stream_type(r.header("content-type"))) return owner_.drop(*this);
    response_.body_form = form::ignored;
    owner_.settled(*this);
}

void link_exchange::read_resumed(const response_view& r) {
    if (is_success(r.status) && is_event_stream_type(r.header("content-type"))) {
        response_.body_form = form::events;
        response_.events->restart();
        return;
    }
    std::string why = describe_refusal(r.status, {});
    if (r.status < 500) return fail(error_kind::stream_lost, "the event stream cannot be resumed: " + why);
    context_.cancel(transfer);
    resume_later(why);
}

// ---- the body ----

void link_exchange::on_body(std::string_view bytes) {
    visit v(*this);
    switch (response_.body_form) {
        case form::json:
            if (bytes.size() > context_.max_body() - response_.body.size()) {  // E3
                return fail(error_kind::bad_message, "the response is too large");
            }
            response_.body.append(bytes);
            break;
        case form::events: take_events(bytes); break;
        case form::refusal:
            response_.body.append(bytes.substr(0, max_refusal - response_.body.size()));
            if (response_.body.size() == max_refusal) take_refusal();
            break;
        case form::ignored:
        case form::nothing:
            response_.ignored += bytes.size();
            if (response_.ignored > max_ignored) owner_.drop(*this);
            break;
    }
}

void link_exchange::take_events(std::string_view bytes) {
    response_.events->feed(
        bytes,
        [this](const http::sse_event& e) {
            if (now == stage::over) return;
            response_.pace.event_received();
            inbox_.take_event(this, e);
        },
        [this](std::string_view beginning) {
            if (now == stage::over) return;
            response_.pace.event_received();
            take_large_event(beginning);
        });
}

// E3: the event is skipped. If it was the response, the call fails.
void link_exchange::take_large_event(std::string_view beginning) {
    const rpc::truncated_message seen = rpc::read_truncated(beginning);
    const bool ours = !seen.method && (!seen.id.present() || call_of(seen.id) == message.owner);
    if (ours && !settled) return fail(error_kind::bad_message, "the response is too large");
    inbox_.take_large_message(beginning);
}

void link_exchange::on_end() {
    visit v(*this);
    transfer = 0;
    switch (response_.body_form) {
        case form::json: take_json(); break;
        case form::events: stream_over("the server closed the stream"); break;
        case form::refusal: take_refusal(); break;
        case form::ignored:
        case form::nothing: break;
    }
    if (now == stage::sent) owner_.drop(*this);
}

void link_exchange::on_failure(transfer_failure what, std::string_view why) {
    visit v(*this);
    transfer = 0;
    owner_.connection_failed(*this);
    if (settled) return owner_.drop(*this);
    if (!is_request()) {
        context_.note("could not send a message to the server: " + rpc::printable(why));
        return owner_.drop(*this);
    }
    if (response_.body_form == form::refusal) return take_refusal();  // the status is sufficient
    if (what == transfer_failure::malformed && !(response_.body_form == form::events && resumable())) {
        return fail(failed_transfer(what, why));
    }
    if (response_.body_form == form::events) return stream_over(why);
    if (response_.resumed) return resume_later(why);
    fail(failed_transfer(what, why));
}

// One message, or before 2026-07-28 a batch that contains the response.
void link_exchange::take_json() {
    json::document& reader = inbox_.document();
    const json::value* v = reader.read(response_.body, {.max_depth = context_.bounds().max_depth});
    if (!v) {
        std::string why = response_.body.empty() ? "empty body" : reader.error().what;
        return fail(error_kind::bad_message, "invalid response: " + why);
    }
    if (v->is_array() && !sent_in.modern) {
        if (!inbox_.takes_batch(*v))
            return fail(error_kind::bad_message, "the response is a batch, which this protocol version does not allow");
        for (const json::value& each : v->items()) {
            if (now != stage::over) inbox_.take_message(this, rpc::classify(each));
        }
    } else if (!take_whole_message(*v)) {
        return;
    }
    if (!settled) fail(error_kind::bad_message, "the response does not contain an answer to this request");
    if (response_.body.size() > max_kept_buffer) reader.clear();
}

// Returns false if the call has failed.
bool link_exchange::take_whole_message(const json::value& v) {
    rpc::message m = rpc::classify(v);
    if (m.names_method) return true;
    // An error without an id in place of the response can only refer to this request.
    if (!m.id.present() && m.kind == rpc::message_kind::response && m.error && !*m.problem) {
        fail(refused_call(response_.status, response_.body, message.owner, inbox_.document()));
        return false;
    }
    if (call_of(m.id) == message.owner) inbox_.take_message(this, m);
    return true;
}

void link_exchange::take_refusal() {
    if (is_request()) return fail(refused_call(response_.status, response_.body, message.owner, inbox_.document()));
    context_.note("the server rejected " + (message.method.empty() ? "a response" : message.method) + ": " +
                  describe_refusal(response_.status, response_.body));
    owner_.drop(*this);
}

// ---- streams that end too early ----

void link_exchange::stream_over(std::string_view why) {
    if (settled) return owner_.drop(*this);
    if (response_.heard_other)
        return fail(error_kind::bad_message, "the event stream contained a response, but not to this request");
    if (resumable()) return resume_later(why);
    fail(error_kind::stream_lost, "the event stream ended before the response: " + rpc::printable(why));
}

bool link_exchange::resumable() const {
    std::string_view id = response_.events->last_event_id();
    return !sent_in.modern && !id.empty() && is_writable_header("last-event-id", id);
}

// LHTTP-07, LHTTP-19: not before the `retry` time of the server, however the stream ended.
void link_exchange::resume_later(std::string_view why) {
    if (response_.pace.exhausted()) {
        return fail(error_kind::stream_lost, "the event stream could not be resumed: " + rpc::printable(why));
    }
    now = stage::pausing;
    response_.body_form = form::nothing;
    response_.resumed = true;
    pause = context_.start_timer(response_.pace.next(response_.events->retry()), [this] {
        pause = 0;
        owner_.resume(*this, response_.events->last_event_id());
    });
}

void link_exchange::fail(rpc::call_outcome outcome) { owner_.fail(*this, std::move(outcome)); }

}  // namespace keel::http_client
