// Requests to the server: a single request, a request with rounds of input requests (2026-07-28), and cached results.

#include "async/timeout.hpp"
#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "protocol/messages.hpp"
#include "protocol/meta_keys.hpp"
#include "protocol/methods.hpp"
#include "protocol/trace_context.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::detail {

namespace {

// A task of its own, so that the caller can stop waiting.
task<void> end_of(std::shared_ptr<client_side::client_session> s) { co_await s->over; }

progress_report report_of(const json::value& params) {
    progress_report r;
    r.progress = params["progress"].if_double().value_or(0);
    r.total = params["total"].if_double();
    r.message = params["message"].if_string().value_or("");
    return r;
}

// Rejects reserved and invalid `_meta` entries of a caller (VER-07, META-01, META-03).
void check_meta(std::string_view key, std::string_view text) {
    auto refuse = [&](const char* why) {
        throw std::invalid_argument("keel: _meta: \"" + rpc::printable(key) + "\" " + why);
    };
    if (key == "progressToken" || key.starts_with("io.modelcontextprotocol/")) refuse("is set by the library");
    if (!protocol::is_valid_meta_key(key)) refuse("is not a valid key");
    bool fits = key == "traceparent"  ? protocol::is_traceparent(text)
                : key == "tracestate" ? protocol::is_tracestate(text)
                : key == "baggage"    ? protocol::is_baggage(text)
                                      : true;
    if (!fits) refuse("does not have the format that the W3C specifies");
}

}  // namespace

void append_meta(std::string& text, const json::value& object) {
    if (object.is_null()) return;
    if (!object.is_object()) throw std::invalid_argument("keel: _meta must be a JSON object");
    for (const json::member& each : object.members()) {
        check_meta(each.key(), each.content.if_string().value_or(""));
        if (!text.empty()) text += ',';
        if (!json::write(text, each.name)) throw std::invalid_argument("keel: invalid _meta key: not UTF-8");
        text += ':';
        if (!json::write(text, each.content))
            throw std::invalid_argument("keel: invalid _meta: not representable as JSON");
    }
}

namespace {

/// The `resultType` of 2026-07-28 (BASE-11, BASE-12).
enum class result_kind : unsigned char { complete, questions };

result_kind kind_of(const json::value& result, std::string_view method) {
    const json::value* type = result.find("resultType");
    if (!type) return result_kind::complete;
    std::string_view name = type->if_string().value_or("");
    if (name == "complete") return result_kind::complete;
    if (name == "input_required" && protocol::may_ask(protocol::find_method(method))) return result_kind::questions;
    throw keel::error(error_kind::bad_message,
                      "unsupported resultType in a result of the server: " + rpc::printable(name));
}

protocol::input_required_result questions_of(const json::value& result) {
    protocol::input_required_result r;
    decode_error why;
    if (!decode(result, r, why)) {
        throw keel::error(error_kind::bad_message, "invalid input_required result: " + why.message());
    }
    constexpr std::size_t most_questions = 100;
    if (r.input_requests.size() > most_questions) {
        throw keel::error(error_kind::bad_message, "invalid input_required result: more than 100 input requests");
    }
    if (r.input_requests.empty() && !r.request_state) {
        throw keel::error(error_kind::bad_message,
                          "invalid input_required result: it has neither inputRequests nor requestState");
    }
    return r;
}

std::string members_for(const std::map<std::string, json::value>& answers, const std::optional<std::string>& state) {
    std::string text;
    if (!answers.empty()) {
        text += R"("inputResponses":{)";
        bool first = true;
        for (const auto& [key, answer] : answers) {
            if (!std::exchange(first, false)) text += ',';
            text += json::to_string(key) + ':' + json::to_string(answer);
        }
        text += '}';
    }
    if (state) {
        if (!text.empty()) text += ',';
        text += R"("requestState":)" + json::to_string(*state);
    }
    return text;
}

/// The stop token of the handlers. It fires when the call ends, also by an exception.
struct token_until_exit {
    token_until_exit() = default;
    token_until_exit(const token_until_exit&) = delete;
    token_until_exit& operator=(const token_until_exit&) = delete;
    ~token_until_exit() { source.request_stop(); }
    std::stop_source source;
};

/// The handlers of one round. They are not child tasks of the caller: cancellation of a task tree reaches the leaves first, but the
/// stop token must fire before the handlers are cancelled.
struct answering : std::enable_shared_from_this<answering> {
    explicit answering(loop& on) : line(on) {}
    answering(const answering&) = delete;
    answering& operator=(const answering&) = delete;

    void begin(task<void> work) {
        start(line, std::move(work), [self = shared_from_this()](outcome<void> o) {
            self->result = std::move(o);
            self->ended.set();
        });
    }
    void give_up() {
        token.source.request_stop();
        line.stop();
    }

    activity line;
    token_until_exit token;
    event ended;
    outcome<void> result;
    bool lost = false;  // stopped because the connection is closed
};

}  // namespace

// ---- one request ----

time_point client_engine::due_of(const call_options& how) const noexcept {
    return after(on->now(), how.total > duration::zero() ? how.total : options.limits.request_total);
}

task<std::string> client_engine::describe_loss(session_ptr s, std::string said) {
    // The exit status of a child process is known shortly after its pipe has closed.
    co_await async::completes_within(options.limits.child_exit, end_of(s));
    if (s->cause().empty()) co_return said;
    co_return "connection closed: " + s->cause();
}

task<json::value> client_engine::ask(session_ptr s, outgoing_call& what, std::string_view members) {
    if (!what.feature.empty() && !s->modern() && s->revision() >= protocol::revision::r2025_06_18 &&
        s->capabilities[what.feature].is_null()) {
        throw keel::error(error_kind::unavailable, "the server does not support " + std::string(what.feature),
                          error_code::method_not_found);
    }
    rpc::peer::call_options_with_progress how;
    how.idle = what.how.idle;
    how.total = what.how.total;
    if (what.due != time_point::max()) {
        how.total = what.due - on->now();
        if (how.total <= duration::zero()) throw keel::error(error_kind::timed_out, "no answer in time");
    }
    how.want_progress = what.progress;
    how.name = what.name;
    if (!what.how.headers.empty()) how.headers = &what.how.headers;
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
        reset_restarts();
        co_return result;
    } catch (const keel::error& e) {
        if (e.code() == error_code::url_elicitation_required) {
            for (const json::value& each : e.data()["elicitations"].items()) {
                if (auto id = each["elicitationId"].if_string()) remember_elicitation(std::string(*id));
            }
        }
        if (e.kind() == error_kind::rejected) reset_restarts();
        if (e.kind() != error_kind::closed) throw;
        loss = e.what();
    }
    std::string why = co_await describe_loss(s, std::move(*loss));
    throw keel::error(error_kind::closed, why);
}

// ---- rounds ----

task<std::string> client_engine::answer_all(session_ptr s, json::value result, unsigned round) {
    protocol::input_required_result asked = questions_of(result);
    if (asked.input_requests.empty()) {
        // Only a requestState: the server asks the client to retry later.
        constexpr duration shortest = std::chrono::milliseconds(50);
        duration wait = std::min<duration>(shortest * (1u << std::min(round, 4u)), shortest * 5);
        co_await async::completes_within(wait, end_of(s));  // if the connection ends, the next request fails
        co_return members_for({}, asked.request_state);
    }
    auto round_of = std::make_shared<answering>(*on);
    std::stop_source& token = round_of->token.source;
    std::map<std::string, json::value> answers;
    auto answer_one = [this, &answers, &token, &s](const std::string& key,
                                                   const protocol::input_request& q) -> task<void> {
        std::string method = q.method;
        json::value params = q.params;
        std::string problem;
        try {
            answers[key] = co_await answer(*s, std::move(method), std::move(params), token.get_token());
            co_return;
        } catch (const cancelled&) {
            token.request_stop();  // the others are about to be cancelled
            throw;
        } catch (const std::exception& e) {
            problem = e.what();
        } catch (abi::__forced_unwind&) {
            throw;
        } catch (...) {  // a handler may throw any type
            problem = "an exception that is not derived from std::exception";
        }
        token.request_stop();
        throw keel::error(error_kind::unavailable, "the server's input request '" + rpc::printable(key) +
                                                       "' could not be answered: " + rpc::printable(problem, 500));
    };
    auto all = [&](scope& together) -> task<void> {
        for (const auto& [key, q] : asked.input_requests) together.spawn(answer_one(key, q));
        co_return;
    };
    round_of->begin(with_scope(all));
    bool cancelled_by_caller = false;
    {
        // Posted, because the callback runs while the connection is being closed.
        std::stop_callback watch(s->gone(), [weak = std::weak_ptr(round_of), home = on] {
            home->post([weak] {
                auto held = weak.lock();
                if (!held || held->ended.is_set()) return;
                held->lost = true;
                held->give_up();
            });
        });
        try {
            co_await round_of->ended;
        } catch (const cancelled&) {
            cancelled_by_caller = true;
        }
    }
    if (cancelled_by_caller) {
        round_of->give_up();
        co_await round_of->ended;
        throw cancelled();
    }
    token.request_stop();
    if (!round_of->lost && round_of->result.index() == 0) std::rethrow_exception(std::get<0>(round_of->result));
    if (round_of->lost) {
        std::string why = co_await describe_loss(s, "connection closed");
        throw keel::error(error_kind::closed, why);
    }
    co_return members_for(answers, asked.request_state);
}

task<json::value> client_engine::ask_in_rounds(session_ptr s, outgoing_call& what, bool* asked_back) {
    std::string with_answers;
    for (unsigned round = 0;; ++round) {
        json::value result = co_await ask(s, what, round == 0 ? std::string_view(what.members) : with_answers);
        if (!s->modern() || kind_of(result, what.method) == result_kind::complete) co_return result;
        if (asked_back) *asked_back = true;
        if (round + 1 >= options.max_rounds) {
            throw keel::error(error_kind::unavailable, "the server still requests input after " +
                                                           std::to_string(round + 1) + " rounds (max_rounds)");
        }
        // Each round brings its own answers, and nothing of the round before (MRTR-10, MRTR-13).
        json::value questions =
            std::as_const(result);  // a copy: the borrowed result is invalid after the next co_await
        const bool asks = questions["inputRequests"].size() > 0;
        const time_point began = on->now();
        std::string more = co_await answer_all(s, std::move(questions), round);
        // The time that the client's own handlers take does not count against the timeout.
        if (asks && what.due != time_point::max()) what.due = after(what.due, on->now() - began);
        with_answers = what.members;
        if (!with_answers.empty() && !more.empty()) with_answers += ',';
        with_answers += more;
    }
}

task<request_round> client_engine::ask_once(session_ptr s, outgoing_call& what, round_answers answers) {
    std::string more = members_for(answers.answers, answers.state);
    if (!what.members.empty() && !more.empty()) what.members += ',';
    what.members += more;
    const json::value result = co_await ask(s, what);
    request_round round;
    if (!s->modern() || kind_of(result, what.method) == result_kind::complete) {
        round.result = result;
        co_return round;
    }
    protocol::input_required_result asked = questions_of(result);
    for (auto& [key, q] : asked.input_requests) {
        input_question& into = round.questions[key];
        into.method = std::move(q.method);
        into.params = std::move(q.params);
    }
    round.state = std::move(asked.request_state);
    co_return round;
}

// ---- the cache ----

task<json::value> client_engine::ask_cached(session_ptr s, outgoing_call& what, json::value params) {
    bool cacheable = options.cache.enabled && s->modern() && what.how.meta.is_null();
    if (!cacheable) co_return co_await ask_in_rounds(std::move(s), what);
    std::string who;
    for (const auto& [name, value] : what.how.headers) who += name + ':' + value + '\n';
    if (what.how.from_cache) {
        if (auto known = cache.find(what.method, params, who, on->now())) co_return *known;
    }
    std::uint64_t moment = cache.moment();
    bool asked_back = false;
    json::value result = co_await ask_in_rounds(std::move(s), what, &asked_back);
    if (!asked_back) cache.keep(what.method, params, who, result, on->now(), moment);
    co_return result;
}

void client_engine::notify(std::string_view method, const json::value& params) {
    if (!params.is_null() && !params.is_object()) throw std::invalid_argument("keel: params must be a JSON object");
    if (!in_use()) return;
    if (current_->peer().core().queued_bytes() >= options.limits.out_queue) {
        return log(log_level::warning,
                   "notification dropped, because the output queue to the server is full: " + rpc::printable(method));
    }
    json::value given = params;
    if (current_->modern()) {
        json::value meta = given["_meta"];
        json::value ours = json::parse("{" + current_->meta() + "}");
        for (const json::member& each : ours.members()) meta.set(each.key(), each.content);
        given.set("_meta", std::move(meta));
    }
    current_->peer().notify(method, given.is_null() ? std::string() : json::to_string(given), false);
}

}  // namespace keel::detail
