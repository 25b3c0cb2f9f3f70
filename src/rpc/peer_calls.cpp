// Requests that we send (docs/lifecycle.md, group D).

#include "async/duration_text.hpp"
#include "json/container.hpp"
#include "rpc/peer_core.hpp"
#include "rpc/planted.hpp"

#include <algorithm>
#include <charconv>

namespace keel::inline KEEL_ABI::rpc {

namespace {

// Some peers return our numeric id as a string. Only its canonical form is accepted (A5).
std::optional<serial> as_serial(const request_id& id) {
    if (id.is_integer()) return id.number() > 0 ? std::optional(static_cast<serial>(id.number())) : std::nullopt;
    if (!id.is_string()) return std::nullopt;
    const std::string& text = id.text();
    if (text.empty() || text[0] < '1' || text[0] > '9') return std::nullopt;
    serial n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
}

call_outcome refused(error_kind kind, std::string why) {
    return {.result = {}, .kind = kind, .error = {0, std::move(why), {}}};
}

}  // namespace

bool peer_core::may_call(serial parent, stream_id& on, call_outcome& why) {
    if (!can_send() || !wants_input()) {
        why = refused(error_kind::closed, "connection closed");
        return false;
    }
    on = 0;
    if (parent != 0) {
        auto at = incoming_.find(parent);
        if (at == incoming_.end() || at->second.state != request_state::open) {
            why = refused(error_kind::cancelled, "the request on whose behalf it would be sent has ended");
            return false;
        }
        on = at->second.stream;
    }
    if (streams_ && !streams_->may_send_request(on)) {
        why = refused(error_kind::unavailable, "the client cannot receive requests on this stream");
        return false;
    }
    // A server sends few requests and can do without; a client exists to send them.
    if (sink_.queued_bytes(on) >= (role_ == role::client ? limits_.out_queue : limits_.out_queue_soft)) {
        why = refused(error_kind::unavailable, "the peer reads too slowly");
        return false;
    }
    return true;
}

serial peer_core::call(serial parent, std::string_view method, json::value params, const call_options& options,
                       call_outcome& why) {
    stream_id on = 0;
    if (!may_call(parent, on, why)) return 0;
    serial id = next_serial_++;
    if (options.want_progress && (params.is_null() || params.is_object())) {
        json::value meta = params["_meta"];
        meta.set("progressToken", id);
        params.set("_meta", std::move(meta));
    }
    std::string text;
    if (!params.is_null() && !json::write(text, params)) {
        why = refused(error_kind::unavailable,
                      "the parameters cannot be written as JSON (NaN, infinity, or text that is not UTF-8)");
        return 0;
    }
    add_call(id, parent, on, method, options);
    outgoing_message about = describe_request(id, on, method, options);
    write_request(sink_.begin(about), static_cast<std::int64_t>(id), method, text);
    sink_.end(about);
    return id;
}

serial peer_core::call(serial parent, std::string_view method, const call_params& params, const call_options& options,
                       call_outcome& why) {
    stream_id on = 0;
    if (!may_call(parent, on, why)) return 0;
    serial id = next_serial_++;
    add_call(id, parent, on, method, options);
    outgoing_message about = describe_request(id, on, method, options);
    std::string& out = sink_.begin(about);
    begin_request(out, static_cast<std::int64_t>(id), method);
    bool has_meta = !params.meta.empty() || options.want_progress;
    if (has_meta || !params.members.empty()) {
        out += R"(,"params":{)";
        out += params.members;
        if (has_meta) {
            out += params.members.empty() ? R"("_meta":{)" : R"(,"_meta":{)";
            out += params.meta;
            if (options.want_progress) {
                out += params.meta.empty() ? R"("progressToken":)" : R"(,"progressToken":)";
                json::write_uint(out, id);
            }
            out += '}';
        }
        out += '}';
    }
    out += '}';
    sink_.end(about);
    return id;
}

outgoing_message peer_core::describe_request(serial id, stream_id on, std::string_view method,
                                             const call_options& options) noexcept {
    return {.type = kind::request,
            .owner = id,
            .stream = on,
            .method = method,
            .name = options.name,
            .attributes = options.attributes};
}

// Before the request is written, so that the response finds the call.
void peer_core::add_call(serial id, serial parent, stream_id on, std::string_view method, const call_options& options) {
    outgoing_call& c = calls_.add(id);
    c.parent = parent;
    c.stream = on;
    c.cancellable = options.cancellable && method != "initialize";  // B10
    c.peer_may_end = options.peer_may_end;
    c.borrow_result = options.borrow_result;
    c.idle = options.idle > duration::zero() ? options.idle : limits_.request_idle;
    c.idle_deadline = after(now_, c.idle);
    c.total = options.total > duration::zero() ? options.total : limits_.request_total;
    c.total_deadline = after(now_, c.total);
    calls_due_ = std::min(calls_due_, c.due());
    if (parent != 0) incoming_.at(parent).nested.push_back(id);
}

call_outcome peer_core::timed_out(const outgoing_call& c) const {
    const bool in_all = c.total_deadline <= now_;
    call_outcome outcome =
        refused(error_kind::timed_out, in_all ? "no answer within " : "no answer or progress within ");
    outcome.error.message += async::duration_text(in_all ? c.total : c.idle);
    outcome.limit = in_all ? time_limit::total : time_limit::idle;
    return outcome;
}

void peer_core::time_out_calls() {
    if (calls_due_ > now_) return;
    std::vector<deliver> late;
    calls_due_ = time_point::max();
    for (const auto& [call, c] : calls_) {
        if (c.due() <= now_) late.push_back({call, timed_out(c)});
        else calls_due_ = std::min(calls_due_, c.due());
    }
    for (deliver& each : late) {
        abandon(each.call, "timed out");
        actions_.push_back(std::move(each));
    }
}

void peer_core::on_response(const message& m) {
    if (!m.id.present()) {
        ++counters_.unmatched_responses;
        std::string_view said = m.error ? (*m.error)["message"].if_string().value_or("") : std::string_view();
        log("error without id from the peer: " + printable(said));
        return;
    }
    auto named = as_serial(m.id);
    auto at = named ? calls_.find(*named) : calls_.end();
    if (at == calls_.end()) {
        ++counters_.unmatched_responses;  // too late, or never sent
        return;
    }
    if (*m.problem) return settle_call(at->first, refused(error_kind::bad_message, m.problem));
    call_outcome outcome;
    if (m.result) {
        if (at->second.borrow_result) outcome.result = json::detail::container::alias(*m.result);
        else outcome.result = *m.result;
    } else {
        outcome.kind = error_kind::rejected;
        std::int64_t code = (*m.error)["code"].if_int().value_or(0);
        outcome.error.code = static_cast<int>(std::clamp<std::int64_t>(code, INT32_MIN, INT32_MAX));
        outcome.error.message = *(*m.error)["message"].if_string();
        outcome.error.data = (*m.error)["data"];
    }
    settle_call(at->first, std::move(outcome));
}

void peer_core::on_progress(const json::value* params) {
    if (!params) return;
    request_id token = request_id::from((*params)["progressToken"]);
    if (!token.is_integer() || !(*params)["progress"].is_number()) return;
    auto at = calls_.find(static_cast<serial>(token.number()));
    if (at == calls_.end()) return;
    at->second.idle_deadline = after(now_, at->second.idle);  // calls_due_ may now be too early, which is harmless
    actions_.push_back(deliver_progress{at->first, params});
}

void peer_core::settle_call(serial call, call_outcome outcome) {
    auto at = calls_.find(call);
    if (at == calls_.end()) return;
    erase_call(at);
    actions_.push_back(deliver{call, std::move(outcome)});
}

void peer_core::erase_call(call_table::iterator at) {
    if (at->second.parent != 0) {
        auto asker = incoming_.find(at->second.parent);
        if (asker != incoming_.end()) std::erase(asker->second.nested, at->first);
    }
    calls_.erase(at);
    if (calls_.empty()) calls_due_ = time_point::max();
}

void peer_core::abandon(serial call, std::string_view reason) {
    auto at = calls_.find(call);
    if (at == calls_.end()) return;
    bool tell = at->second.cancellable;
    stream_id on = at->second.stream;
    erase_call(at);
    if (withdraw(call) > 0 && !planted::is(planted::cancel_for_unwritten)) return;  // the peer never received it (D6)
    bool told = give_up(call);
    if (tell && !told) send_cancelled(call, on, reason);
}

bool peer_core::give_up(serial call) { return streams_ && streams_->give_up(call); }

void peer_core::send_cancelled(serial call, stream_id on, std::string_view reason) {
    if (!can_send()) return;
    std::string params = R"({"requestId":)";
    json::write_uint(params, call);
    if (!reason.empty()) {
        std::size_t before = params.size();
        params += R"(,"reason":)";
        if (!json::write_string(params, reason)) params.resize(before);
    }
    params += '}';
    outgoing_message about{.stream = on, .method = "notifications/cancelled"};
    write_notification(sink_.begin(about), about.method, params);
    sink_.end(about);
}

// The request on whose behalf the calls were made was cancelled or has ended (B12).
void peer_core::cancel_nested(incoming_request& r) {
    std::vector<serial> nested = std::exchange(r.nested, {});
    for (serial call : nested) {
        if (!calls_.contains(call)) continue;
        abandon(call, "the request that asked was cancelled");
        actions_.push_back(deliver{call, refused(error_kind::cancelled, "cancelled")});
    }
}

void peer_core::fail_calls(std::string_view cause) {
    std::string why = cause.empty() ? "connection closed" : "connection closed: " + std::string(cause);
    std::vector<serial> all;
    all.reserve(calls_.size());
    for (const auto& [call, c] : calls_) all.push_back(call);
    std::sort(all.begin(), all.end());
    calls_.clear();
    calls_due_ = time_point::max();
    for (auto& [request, r] : incoming_) r.nested.clear();
    if (planted::is(planted::waiter_forgotten) && !all.empty()) all.pop_back();
    for (serial call : all) actions_.push_back(deliver{call, refused(error_kind::closed, why)});
}

}  // namespace keel::rpc
