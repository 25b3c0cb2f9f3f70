#include "rpc/peer_core.hpp"

#include "rpc/planted.hpp"

#include <algorithm>
#include <cmath>

// Requests that we receive, and messages on their behalf. Requests that we send are in peer_calls.cpp, closing is in peer_end.cpp.

namespace keel::inline KEEL_ABI::rpc {

namespace {
constexpr double reports_per_second = 10;         // log messages that a peer can cause
constexpr std::size_t max_progress_token = 1024;  // bytes; it is kept and repeated in every progress notification

/// The size of a text, or 0 if it is not large.
std::size_t large_size(text_pieces text) noexcept {
    constexpr std::size_t large = 32 * 1024;
    std::size_t size = 0;
    for (std::string_view piece : text) size += piece.size();
    return size >= large ? size : 0;
}
}  // namespace

peer_core::peer_core(role r, const limits& bounds, message_sink& sink, std::shared_ptr<flight_budget> budget)
    : role_(r), limits_(bounds), budget_(std::move(budget)), sink_(sink), unsent_(sink.unsent()),
      streams_(sink.streams()), queue_(sink.queue()), errors_(bounds.anonymous_errors_per_second),
      reports_(reports_per_second) {}

peer_core::~peer_core() {
    if (budget_) budget_->used -= incoming_.size() - exempt_;
}

// ---- input ----

void peer_core::on_line(std::string_view line, bool writable) {
    if (!wants_input()) return;
    const json::parse_options how{.max_depth = limits_.max_depth};
    const json::value* v = writable ? document_.read_in_place(const_cast<char*>(line.data()), line.size(), how)
                                    : document_.read(line, how);
    if (v) return serve(*v);
    ++counters_.rejected_input;
    // A client shows the text, so that a user who started the wrong program sees its output. A server does not: clients may send secrets.
    log("invalid JSON: " + (role_ == role::client ? printable(line, 80) + ": " : std::string()) +
        document_.error().what + " at byte " + std::to_string(document_.error().offset));
    reject_anonymously(error_code::parse, document_.error().what);
}

void peer_core::on_read(const message& m, stream_id from) {
    if (!wants_input()) return;
    current_stream_ = from;
    on_message(m, nullptr);
    current_stream_ = 0;
}

std::size_t peer_core::room() const noexcept {
    if (phase_ != phase::open || incoming_.size() >= limits_.max_in_flight) return 0;
    std::size_t here = limits_.max_in_flight - incoming_.size();
    if (!budget_) return here;
    std::size_t used = budget_->used;
    return used >= budget_->limit ? 0 : std::min(here, budget_->limit - used);
}

void peer_core::on_remainder(std::string_view text) {
    if (!wants_input()) return;
    const json::value* v = document_.read(text, {.max_depth = limits_.max_depth});
    if (!v) return;
    bool valid = v->is_array() ? batches_ : classify(*v).kind != message_kind::invalid;
    if (valid) serve(*v);
}

void peer_core::on_too_large(std::string_view beginning) {
    if (!wants_input()) return;
    ++counters_.rejected_input;
    log("line skipped: longer than " + std::to_string(limits_.max_message) + " bytes");
    truncated_message seen = read_truncated(beginning);
    if (seen.id.is_integer() && !seen.method && (seen.result || role_ == role::client)) {
        // It may be the response to a call (E3).
        auto at = calls_.find(static_cast<serial>(seen.id.number()));
        if (at != calls_.end()) {
            settle_call(at->first,
                        {.result = {}, .kind = error_kind::bad_message, .error = {0, "response too large", {}}});
        }
    }
    bool response = seen.result && !seen.method;  // a response is never answered
    if (role_ == role::server && !response) reject(seen.id, {error_code::invalid_request, "message too large", {}});
}

void peer_core::serve(const json::value& v) {
    if (v.is_array()) return on_batch(v);
    on_message(classify(v), {});
}

void peer_core::on_batch(const json::value& v) {
    if (const char* why = batch_problem(v, batches_, limits_.max_batch)) {
        ++counters_.rejected_input;
        log("batch rejected");
        return reject_anonymously(error_code::invalid_request, why);
    }
    auto group = std::make_shared<batch>();
    ++group->unsettled;  // for this loop, so that immediate responses do not complete the batch
    for (const json::value& each : v.items()) on_message(classify(each), group);
    member_settled(group);
}

void peer_core::on_message(const message& m, const std::shared_ptr<batch>& group) {
    ++counters_.received;
    switch (m.kind) {
        case message_kind::request: return on_request(m, group);
        case message_kind::notification: return on_notification(m);
        case message_kind::response: return on_response(m);
        case message_kind::invalid: break;
    }
    // A message with the id of a call and without a method is an invalid response to that call (D10).
    if (!m.names_method && m.id.is_integer()) {
        auto at = calls_.find(static_cast<serial>(m.id.number()));
        if (at != calls_.end()) {
            return settle_call(
                at->first,
                {.result = {}, .kind = error_kind::bad_message, .error = {0, "neither result nor error", {}}});
        }
    }
    ++counters_.rejected_input;
    log(std::string("invalid message: ") + m.problem);
    if (role_ == role::server) reject(m.id, {m.code, m.problem, {}}, group);
}

void peer_core::on_request(const message& m, const std::shared_ptr<batch>& group) {
    if (!requests_accepted_) {
        log("request ignored, servers must not send requests: " + printable(m.method));
        return;
    }
    if (open_ids_.contains(m.id)) {
        // The error must not carry the id: the peer would take it for the response to the first request (A7).
        ++counters_.rejected_input;
        log("request rejected: its id is already in flight");
        if (role_ == role::server) reject_anonymously(error_code::invalid_request, "id is already in flight");
        return;
    }
    if (m.params && !m.params->is_object()) {
        return reject(m.id, {error_code::invalid_params, m.problem, {}}, group);
    }
    if (phase_ != phase::open) return reject(m.id, refused_by_shutdown_error(), group);
    bool over = incoming_.size() >= limits_.max_in_flight || (budget_ && budget_->used >= budget_->limit);
    if (over && m.method != "ping") {  // ping needs no handler thread (A12)
        ++counters_.overloaded;
        failure why = overloaded_error();
        incoming_request rejected;
        rejected.id = m.id;
        rejected.stream = current_stream_;
        rejected.group = group;
        if (group) ++group->unsettled;
        return write_response(0, rejected, {}, &why);
    }

    const json::value* meta = m.params ? m.params->find("_meta") : nullptr;
    const json::value* token = meta ? meta->find("progressToken") : nullptr;
    if (token && token->is_string() && token->as_string().size() > max_progress_token) {
        return reject(m.id, {error_code::invalid_params, "_meta.progressToken is longer than 1024 bytes", {}}, group);
    }
    serial request = next_serial_++;
    incoming_request& r = incoming_.add(request);
    r.id = m.id;
    r.stream = current_stream_;
    r.since = now_;
    if (watch_) r.kind = watch_->kind_of(m.method);
    if (budget_) ++budget_->used;
    if (token && (token->is_integer() || token->is_string())) {
        if (!json::write(r.progress_token, *token)) r.progress_token.clear();
    }
    if (group) {
        ++group->unsettled;
        r.group = group;
    }
    open_ids_.add(r.id, request);
    ++counters_.requests;
    actions_.emplace_back(std::in_place_type<start_handler>, request, m.method, m.params);
}

void peer_core::on_notification(const message& m) {
    if (m.params && !m.params->is_object()) return;
    if (m.method == "notifications/cancelled") return on_cancel(m.params);
    if (m.method == "notifications/progress") return on_progress(m.params);
    if (phase_ == phase::open) actions_.push_back(deliver_notification{m.method, m.params});
}

void peer_core::on_cancel(const json::value* params) {
    if (!params) return;
    const json::value* named = params->find("requestId");
    if (!named) return;
    request_id id = request_id::from(*named);
    if (!id.present()) return;
    auto found = open_ids_.find(id);
    if (found == open_ids_.end()) {
        auto listen =
            role_ == role::client && id.is_integer() ? calls_.find(static_cast<serial>(id.number())) : calls_.end();
        if (listen != calls_.end() && listen->second.peer_may_end) {
            call_outcome ended{
                .result = {}, .kind = error_kind::cancelled, .error = {0, "cancelled by the server", {}}};
            serial call = listen->first;
            settle_call(call, std::move(ended));
            give_up(call);  // closes its stream over HTTP
            return;
        }
        if (withdraw_response(id)) log("response withdrawn: the peer cancelled the request", true);
        return;
    }
    serial request = found->second;
    incoming_request& r = incoming_.at(request);
    if (r.shielded) return;
    std::string reason = printable((*params)["reason"].if_string().value_or(""));
    drop_request(request, r, request_state::silent, stop_cause::peer, reason);
    close_when_done();
}

// Ends an open request without a response. Its handler is told to stop, its unsent messages and its nested calls are withdrawn.
void peer_core::drop_request(serial request, incoming_request& r, request_state to, stop_cause cause,
                             std::string_view reason) {
    settle(r, to);
    fire(request, r, cause, reason);
    if (!planted::is(planted::frames_not_withdrawn)) counters_.withdrawn += withdraw(request);
    if (!planted::is(planted::nested_not_dropped)) cancel_nested(r);
    if (r.group) member_settled(r.group);
    on_unanswered(r);  // last: the messages above may go to the same stream
}

void peer_core::on_unanswered(const incoming_request& r) {
    if (streams_) streams_->on_unanswered(r.stream, r.id);
}

// Withdraws the response to a request that was answered, if no byte of it was sent (B4).
bool peer_core::withdraw_response(const request_id& id) {
    if (planted::is(planted::answer_not_withdrawn)) return false;
    if (!unsent_) return false;
    if (serial owner = unsent_->owner_of_response(id)) {
        counters_.withdrawn += withdraw(owner);
        return true;
    }
    for (auto at = queued_batches_.begin(); at != queued_batches_.end(); ++at) {
        auto group = at->second;
        if (!group->holds(id)) continue;
        if (unsent_->withdraw(at->first) == 0) continue;  // it is being sent
        queued_batches_.erase(at);
        withdraw_member(*group, id);
        write_batch(group);
        on_output_shrunk();
        return true;
    }
    if (!batches_) return false;
    // The response may wait for the other members of its batch, of which at least one is still running. The newest counts, as above. A
    // batch that was sent may still have a cancelled handler that runs.
    batch* waiting = nullptr;
    for (auto& [request, r] : incoming_) {
        if (r.group && r.group->unsettled != 0 && r.group->holds(id)) waiting = r.group.get();
    }
    return waiting && withdraw_member(*waiting, id);
}

// Removes a response from its batch, and the other messages of its request from the queue.
bool peer_core::withdraw_member(batch& group, const request_id& id) {
    auto member = std::find_if(group.answers.begin(), group.answers.end(),
                               [&](const batch::answer& answer) { return answer.id == id; });
    if (member == group.answers.end()) return false;
    serial request = member->request;
    group.answers.erase(member);
    ++counters_.withdrawn;
    if (request != 0) counters_.withdrawn += withdraw(request);
    return true;
}

// ---- rejecting ----

void peer_core::reject(const request_id& id, const failure& why, const std::shared_ptr<batch>& group) {
    // An error with the id of a request in flight would be taken for its response.
    if (!id.present() || open_ids_.contains(id)) {
        if (!group) return reject_anonymously(why.code, why.message.c_str());
    }
    incoming_request rejected;
    if (!open_ids_.contains(id)) rejected.id = id;
    rejected.stream = current_stream_;
    rejected.group = group;
    if (group) ++group->unsettled;
    write_response(0, rejected, {}, &why);
}

void peer_core::reject_anonymously(int code, const char* message) {
    if (role_ != role::server) return;  // two peers that answer each other's errors would never stop
    if (!errors_.take(now_)) {
        ++counters_.suppressed_errors;
        return;
    }
    if (!can_send()) return;
    outgoing_message about{.type = kind::error, .stream = current_stream_, .code = code};
    write_error(sink_.begin(about), {}, {code, message, {}});
    sink_.end(about);
}

// Log messages that a peer can cause are rate-limited (J6).
void peer_core::log(std::string text, bool ordinary) {
    if (!reports_.take(now_)) {
        ++suppressed_reports_;
        return;
    }
    if (suppressed_reports_ != 0)
        text += " (" + std::to_string(std::exchange(suppressed_reports_, 0)) + " more before it)";
    actions_.push_back(report{std::move(text), ordinary});
}

// ---- handlers ----

bool peer_core::begin(serial request) {
    auto at = incoming_.find(request);
    if (at == incoming_.end()) return false;
    if (at->second.state != request_state::open) {
        if (!planted::is(planted::cancelled_before_begin_kept))
            remove_request(at);  // cancelled before it could start (B1)
        return false;
    }
    at->second.begun = true;
    return true;
}

void peer_core::finish(serial request, text_pieces result, request_outcome how, std::string* body) {
    auto at = incoming_.find(request);
    if (at == incoming_.end()) {  // abandoned
        ++counters_.dropped_late;
        return;
    }
    std::size_t size = 0;
    for (std::string_view piece : result) size += piece.size();
    if (size == 0 || size > limits_.max_message) {
        return finish(request, failure{error_code::internal, size == 0 ? "no result" : "result too large", {}});
    }
    incoming_request& r = at->second;
    bool wrong = (planted::is(planted::answer_after_cancel) && r.state == request_state::silent) ||
                 (planted::is(planted::second_answer_at_shutdown) && r.state == request_state::answered);
    if (r.state == request_state::open || wrong) {
        settle(r, request_state::answered, how);
        if (!r.nested.empty()) cancel_nested(r);  // first: the response is the last message of a request
        send_deferred(request, r);
        write_response(request, r, result, nullptr, body);
    } else {
        ++counters_.dropped_late;
    }
    remove_request(at);
}

void peer_core::finish(serial request, const failure& why) {
    auto at = incoming_.find(request);
    if (at == incoming_.end()) {
        ++counters_.dropped_late;
        return;
    }
    incoming_request& r = at->second;
    if (r.state == request_state::open) {
        settle(r, request_state::answered, request_outcome::error);
        cancel_nested(r);
        send_deferred(request, r);
        write_response(request, r, {}, &why);
    } else {
        ++counters_.dropped_late;
    }
    remove_request(at);
}

void peer_core::finish_silently(serial request) {
    auto at = incoming_.find(request);
    if (at == incoming_.end()) return;
    // A handler that was not told to stop must not leave the peer without a response.
    if (at->second.state == request_state::open)
        return finish(request, failure{error_code::internal, "internal error", {}});
    remove_request(at);
}

void peer_core::settle(incoming_request& r, request_state to, request_outcome how) {
    r.state = to;
    if (watch_) watch_->on_settled({r.id, r.kind, r.label, r.since}, how);
    if (planted::is(planted::id_not_released)) return;
    open_ids_.erase(r.id);  // first: the peer may reuse the id as soon as it has the response
}

void peer_core::fire(serial request, incoming_request& r, stop_cause cause, std::string_view reason) {
    if (r.fired && !planted::is(planted::token_fires_twice)) return;
    r.fired = true;
    deferred_.erase(request);
    r.deferred_progress.clear();
    actions_.push_back(fire_token{request, cause, std::string(reason)});
}

void peer_core::remove_request(incoming_table::iterator at) {
    if (!at->second.nested.empty()) cancel_nested(at->second);
    if (planted::is(planted::old_handler_frees_id)) open_ids_.erase(at->second.id);
    if (!deferred_.empty()) deferred_.erase(at->first);
    bool counted = at->second.counted;
    incoming_.erase(at);
    if (!counted) --exempt_;
    else if (budget_) --budget_->used;
    if (phase_ != phase::open) close_when_done();
}

json::value peer_core::wire_id(serial request) const {
    auto at = incoming_.find(request);
    return at == incoming_.end() ? json::value() : at->second.id.as_json();
}

std::optional<request_facts> peer_core::facts(serial request) const noexcept {
    auto at = incoming_.find(request);
    if (at == incoming_.end()) return std::nullopt;
    const incoming_request& r = at->second;
    return request_facts{r.id, r.kind, r.label, r.since};
}

void peer_core::set_label(serial request, std::uint16_t label) noexcept {
    auto at = incoming_.find(request);
    if (at != incoming_.end()) at->second.label = label;
}

bool peer_core::is_open(serial request) const noexcept {
    auto at = incoming_.find(request);
    return at != incoming_.end() && at->second.state == request_state::open;
}

void peer_core::exempt(serial request) noexcept {
    auto at = incoming_.find(request);
    if (at == incoming_.end() || !std::exchange(at->second.counted, false)) return;
    ++exempt_;
    if (budget_) --budget_->used;
}

void peer_core::shield(serial request) noexcept {
    auto at = incoming_.find(request);
    if (at != incoming_.end()) at->second.shielded = true;
}

bool peer_core::in_batch(serial request) const noexcept {
    auto at = incoming_.find(request);
    return at != incoming_.end() && at->second.group != nullptr;
}

// ---- responses ----

void peer_core::write_response(serial request, const incoming_request& r, text_pieces result, const failure* why,
                               std::string* body) {
    if (!can_send()) {
        ++counters_.dropped_late;
        return;
    }
    ++counters_.answers;
    auto append = [&](std::string& out) {
        if (why) {
            write_error(out, r.id, *why);
        } else {
            write_result(out, r.id, result);
        }
    };
    if (r.group) {
        append(r.group->answers.emplace_back(batch::answer{r.shielded ? request_id() : r.id, request, {}}).text);
        return member_settled(r.group);
    }
    if (request == 0 && r.id.present()) request = next_serial_++;  // so that a cancel can withdraw it
    outgoing_message about{.type = why ? kind::error : kind::result,
                           .owner = request,
                           .stream = r.stream,
                           .answered_id = r.shielded ? nullptr : &r.id,  // a cancel cannot withdraw it (B10)
                           .code = why ? why->code : 0,
                           .size = large_size(result)};
    about.swaps = body && about.size > 0;
    std::string& out = sink_.begin(about);
    if (about.swaps) write_large_result(out, r.id, result, *body);
    else append(out);
    sink_.end(about);
}

void peer_core::member_settled(const std::shared_ptr<batch>& group) {
    if (--group->unsettled == 0) write_batch(group);
}

void peer_core::write_batch(std::shared_ptr<batch> group) {
    if (group->answers.empty() || !can_send()) return;
    outgoing_message about{.type = kind::result, .owner = next_serial_++};
    std::string& out = sink_.begin(about);
    char before = '[';
    for (const batch::answer& each : group->answers) {
        out += before;
        out += each.text;
        before = ',';
    }
    out += ']';
    sink_.end(about);
    if (!unsent_) return;
    group->number = unsent_->newest();
    queued_batches_.emplace(about.owner, std::move(group));
}

std::size_t peer_core::withdraw(serial owner) {
    std::size_t withdrawn = unsent_ ? unsent_->withdraw(owner) : 0;
    if (withdrawn > 0) on_output_shrunk();
    return withdrawn;
}

void peer_core::on_output_shrunk() {
    if (!deferred_.empty()) send_all_deferred();
    // Messages and batches are queued in the same order.
    while (!queued_batches_.empty() && queued_batches_.begin()->second->number < unsent_->oldest_unsent()) {
        queued_batches_.erase(queued_batches_.begin());
    }
}

void peer_core::on_drained() {
    if (!can_send()) return;  // writing may be reported after the connection was lost
    on_output_shrunk();
    if (phase_ != phase::open) close_when_done();
}

// ---- messages on behalf of a request ----

bool peer_core::wants_progress(serial request) const noexcept {
    auto at = incoming_.find(request);
    return at != incoming_.end() && at->second.state == request_state::open && !at->second.progress_token.empty();
}

void peer_core::send_progress(serial request, double progress, std::optional<double> total, std::string_view message) {
    auto at = incoming_.find(request);
    bool open = at != incoming_.end() &&
                (at->second.state == request_state::open || planted::is(planted::progress_after_settle));
    if (!open || !can_send()) {
        ++counters_.dropped_late;
        return;
    }
    incoming_request& r = at->second;
    if (r.progress_token.empty()) return;                                   // the peer wants no progress
    if (!std::isfinite(progress) || !(progress > r.last_progress)) return;  // must increase (D15)
    r.last_progress = progress;

    std::string params = R"({"progressToken":)";
    params += r.progress_token;
    params += R"(,"progress":)";
    bool whole = progress == std::floor(progress) && std::fabs(progress) < 9e15;
    if (whole) json::write_int(params, static_cast<std::int64_t>(progress));
    else if (!json::write_double(params, progress)) return;
    if (total && std::isfinite(*total)) {
        params += R"(,"total":)";
        if (*total == std::floor(*total) && std::fabs(*total) < 9e15)
            json::write_int(params, static_cast<std::int64_t>(*total));
        else if (!json::write_double(params, *total)) return;
    }
    if (!message.empty()) {
        std::size_t before = params.size();
        params += R"(,"message":)";
        if (!json::write_string(params, message)) params.resize(before);
    }
    params += '}';

    if (sink_.queued_bytes(r.stream) >= limits_.out_queue_soft) {  // keep only the newest progress (J1)
        if (!r.deferred_progress.empty()) ++counters_.merged_progress;
        r.deferred_progress = std::move(params);
        deferred_.insert(request);
        return;
    }
    send_deferred(request, r);
    send_for(request, r, "notifications/progress", params);
}

void peer_core::send_for(serial request, const incoming_request& r, std::string_view method, std::string_view params) {
    outgoing_message about{.type = kind::scoped_notification, .owner = request, .stream = r.stream};
    write_notification(sink_.begin(about), method, params);
    sink_.end(about);
}

void peer_core::send_deferred(serial request, incoming_request& r) {
    if (r.deferred_progress.empty()) return;
    std::string params = std::exchange(r.deferred_progress, {});
    deferred_.erase(request);
    send_for(request, r, "notifications/progress", params);
}

void peer_core::send_all_deferred() {
    for (auto at = deferred_.begin(); at != deferred_.end();) {
        serial request = *at++;  // send_deferred removes it
        incoming_request& r = incoming_.at(request);
        if (sink_.queued_bytes(r.stream) < limits_.out_queue_soft) send_deferred(request, r);
    }
}

std::size_t peer_core::queued_bytes(serial request) const noexcept {
    auto at = incoming_.find(request);
    return sink_.queued_bytes(at == incoming_.end() ? 0 : at->second.stream);
}

void peer_core::release_stream(serial request, duration retry) {
    auto at = incoming_.find(request);
    if (at == incoming_.end() || at->second.state != request_state::open || !can_send()) return;
    if (streams_) streams_->release(at->second.stream, retry);
}

void peer_core::send_scoped(serial request, std::string_view method, std::string_view params, bool droppable) {
    auto at = incoming_.find(request);
    if (at == incoming_.end() || at->second.state != request_state::open || !can_send()) {
        ++counters_.dropped_late;
        return;
    }
    incoming_request& r = at->second;
    if (sink_.queued_bytes(r.stream) >= (droppable ? limits_.out_queue_soft : limits_.out_queue)) {
        ++counters_.dropped_logs;
        return;
    }
    send_for(request, r, method, params);
}

bool peer_core::notify(std::string_view method, std::string_view params, bool droppable) {
    if (!can_send() || phase_ == phase::closing) {
        ++counters_.dropped_late;
        return true;
    }
    if (droppable && sink_.queued_bytes(0) >= limits_.out_queue_soft) return false;
    outgoing_message about{.method = method};
    write_notification(sink_.begin(about), method, params);
    sink_.end(about);
    return true;
}

}  // namespace keel::rpc
