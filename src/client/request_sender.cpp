#include "client/request_sender.hpp"

#include "async/duration_text.hpp"
#include "client/client_environment.hpp"
#include "client/client_session.hpp"
#include "client/connection_manager.hpp"
#include "client/input_rounds.hpp"
#include "client/open_elicitations.hpp"
#include "client/response_cache.hpp"
#include "protocol/cache_hints.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::client_side {

namespace {

progress_report report_of(const json::value& params) {
    progress_report r;
    r.progress = params["progress"].if_double().value_or(0);
    r.total = params["total"].if_double();
    r.message = params["message"].if_string().value_or("");
    return r;
}

// LIFE-04. Revision 2024-11-05 has completion, but no capability for it.
bool is_undeclared(const client_session& s, std::string_view feature) noexcept {
    if (feature.empty() || !s.capabilities[feature].is_null()) return false;
    return feature != "completions" || s.revision() != protocol::revision::r2024_11_05;
}

}  // namespace

void require_feature(const client_session& s, std::string_view feature) {
    if (!is_undeclared(s, feature)) return;
    throw keel::error(error_kind::unavailable, "the server does not support " + std::string(feature),
                      error_code::method_not_found);
}

// ---- timeouts ----

keel::error request_sender::timeout_error(const outgoing_request& what, rpc::time_limit limit,
                                          const char* missing) const {
    const bool idle = limit == rpc::time_limit::idle;
    const duration own = idle ? what.how.idle : what.how.total;
    const limits& usual = environment_.options.limits;
    const duration used = own > duration::zero() ? own : idle ? usual.request_idle : usual.request_total;
    std::string text = connections_.server_name() + ": " + rpc::printable(what.method, 100);
    if (!what.name.empty()) text += " \"" + rpc::printable(what.name, 200) + "\"";
    text += std::string(": ") + missing + " within " + async::duration_text(used);
    if (own > duration::zero()) text += idle ? " (call_options::idle)" : " (call_options::total)";
    else text += idle ? " (limits::request_idle)" : " (limits::request_total)";
    return {error_kind::timed_out, text};
}

task<session_ptr> request_sender::ready(const outgoing_request& what) {
    session_ptr s = connections_.in_use();
    if (!s) s = co_await connections_.ready(what.due);
    if (!s) throw timeout_error(what, rpc::time_limit::total, "no connection");
    co_return s;
}

// ---- one request ----

task<json::value> request_sender::send(session_ptr s, outgoing_request& what, std::string_view members) {
    require_feature(*s, what.feature);
    rpc::peer::call_options_with_progress how;
    how.idle = what.how.idle;
    how.total = what.how.total;
    if (what.due != time_point::max()) {
        how.total = what.due - environment_.on->now();
        if (how.total <= duration::zero()) throw timeout_error(what, rpc::time_limit::total, "no answer");
    }
    how.want_progress = what.progress;
    how.name = what.name;
    if (!what.how.headers.empty()) how.attributes = &what.how.headers;
    if (what.how.on_progress) {
        // A copy: the callback may end this call, which destroys this frame.
        how.on_progress = [report = what.how.on_progress](const json::value& params) { report(report_of(params)); };
    }
    how.borrow_result = true;
    std::string own_meta;
    if (!what.how.meta.is_null()) {
        own_meta = s->meta();
        append_meta(own_meta, what.how.meta);
    }
    rpc::call_params params{members, what.how.meta.is_null() ? s->meta() : own_meta};
    std::optional<std::string> loss;
    try {
        json::value result = co_await rpc::peer::ask_text(s->shared_peer(), what.method, params, how);
        connections_.server_answered();
        co_return result;
    } catch (const rpc::call_timeout& e) {
        throw timeout_error(what, e.limit, e.limit == rpc::time_limit::idle ? "no answer or progress" : "no answer");
    } catch (const keel::error& e) {
        if (e.code() == error_code::url_elicitation_required) {
            for (const json::value& each : e.data()["elicitations"].items()) {
                if (auto id = each["elicitationId"].if_string()) elicitations_.add(std::string(*id));
            }
        }
        if (e.kind() == error_kind::rejected) connections_.server_answered();
        if (e.kind() != error_kind::closed) throw;
        loss = e.what();
    }
    std::string why = co_await describe_loss(s, std::move(*loss), environment_.options.limits.child_exit);
    throw keel::error(error_kind::closed, why);
}

// ---- rounds ----

task<json::value> request_sender::send_in_rounds(session_ptr s, outgoing_request& what, bool* asked_back) {
    std::string with_answers;
    for (unsigned round = 0;; ++round) {
        json::value result = co_await send(s, what, round == 0 ? std::string_view(what.members) : with_answers);
        if (!s->modern() || is_complete(result, what.method)) co_return result;
        if (asked_back) *asked_back = true;
        if (round + 1 >= environment_.options.max_rounds) {
            throw keel::error(error_kind::unavailable, "the server still requests input after " +
                                                           std::to_string(round + 1) + " rounds (max_rounds)");
        }
        // Each round brings its own answers, and nothing of the round before (MRTR-10, MRTR-13).
        json::value questions =
            std::as_const(result);  // a copy: the borrowed result is invalid after the next co_await
        const bool asks = questions["inputRequests"].size() > 0;
        const time_point began = environment_.on->now();
        std::string more = co_await answer_input_requests(environment_, handler_, s, std::move(questions), round);
        // The time that the client's own handlers take does not count against the timeout.
        if (asks && what.due != time_point::max()) what.due = after(what.due, environment_.on->now() - began);
        with_answers = what.members;
        if (!with_answers.empty() && !more.empty()) with_answers += ',';
        with_answers += more;
    }
}

task<request_round> request_sender::send_once(session_ptr s, outgoing_request& what, round_answers answers) {
    std::string more = members_for(answers.answers, answers.state);
    if (!what.members.empty() && !more.empty()) what.members += ',';
    what.members += more;
    const json::value result = co_await send(s, what);
    request_round round;
    if (!s->modern() || is_complete(result, what.method)) {
        round.result = result;
        co_return round;
    }
    protocol::input_required_result asked = read_input_required(result);
    for (auto& [key, q] : asked.input_requests) {
        input_question& into = round.questions[key];
        into.method = std::move(q.method);
        into.params = std::move(q.params);
    }
    round.state = std::move(asked.request_state);
    co_return round;
}

// ---- the cache ----

// Once per client: a server that sends one invalid hint sends it with every result.
void request_sender::report_invalid_hints(std::string_view method, const json::value& result) {
    if (invalid_hints_reported_ || protocol::read_cache_hints(result).valid) return;
    invalid_hints_reported_ = true;
    environment_.log(log_level::info,
                     connections_.server_name() + ": " + std::string(method) +
                         ": result not cached: invalid ttlMs or cacheScope (further ones are not logged)");
}

task<json::value> request_sender::send_cached(session_ptr s, outgoing_request& what, json::value params) {
    bool cacheable = environment_.options.cache.enabled && s->modern() && what.how.meta.is_null();
    if (!cacheable) co_return co_await send_in_rounds(std::move(s), what);
    std::string who;
    for (const auto& [name, value] : what.how.headers) who += name + ':' + value + '\n';
    if (what.how.from_cache) {
        if (auto known = cache_.find(what.method, params, who, environment_.on->now())) co_return *known;
    }
    std::uint64_t moment = cache_.moment();
    bool asked_back = false;
    json::value result = co_await send_in_rounds(std::move(s), what, &asked_back);
    if (!asked_back) {
        cache_.keep(what.method, params, who, result, environment_.on->now(), moment);
        report_invalid_hints(what.method, result);
    }
    co_return result;
}

void request_sender::notify(std::string_view method, const json::value& params) {
    if (!params.is_null() && !params.is_object()) throw std::invalid_argument("keel: params must be a JSON object");
    session_ptr s = connections_.in_use();
    if (!s) return;
    if (s->peer().core().queued_bytes() >= environment_.options.limits.out_queue) {
        return environment_.log(
            log_level::warning,
            "notification dropped, because the output queue to the server is full: " + rpc::printable(method));
    }
    json::value given = params;
    if (s->modern()) {
        json::value meta = given["_meta"];
        json::value ours = json::parse("{" + s->meta() + "}");
        for (const json::member& each : ours.members()) meta.set(each.key(), each.content);
        given.set("_meta", std::move(meta));
    }
    s->peer().notify(method, given.is_null() ? std::string() : json::to_string(given), false);
}

}  // namespace keel::client_side
