#include "server/questions.hpp"

#include <keel/error.hpp>

#include <chrono>

namespace keel::inline KEEL_ABI::server_side {

namespace {

// One text for all reasons, so that an attacker learns nothing (MRTR-06).
constexpr const char* refusal = "requestState is not valid for this request";

std::int64_t unix_now(const asking_options& how) {
    auto now = how.clock ? how.clock() : std::chrono::system_clock::now();
    return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

}  // namespace

/// The wait in which a handler ends: only its cancellation resumes it.
class questions::answer_wait final : public detail::wait {
public:
    answer_wait() noexcept : wait(detail::waits_for::watcher) {}
    ~answer_wait() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
        return begin(h);
    }
    void await_resume() const { check(); }

private:
    void interrupt() noexcept override { resume(); }
};

questions::questions(std::shared_ptr<rpc::request> request, std::shared_ptr<server_core> server)
    : request_(std::move(request)), server_(std::move(server)) {}

void questions::take(std::string_view method, const json::value& params, std::string_view principal) {
    binding_.method = method;
    binding_.digest = parameter_digest(params);
    binding_.audience = server_->audience();
    binding_.principal = principal;
    const json::value* state = params.find("requestState");
    if (state) {
        auto sealed = state->if_string();
        if (!sealed) throw error(error_code::invalid_params, "requestState: expected string");
        open_state(*sealed);
    }
    if (const json::value* responses = params.find("inputResponses")) take_answers(*responses, state != nullptr);
    // Last: a client may correct an invalid retry and use the state again.
    const asking_options& how = server_->options.asking;
    if (used_ && how.single_use) {
        std::int64_t now = unix_now(how);
        if (!server_->spent_states().spend(*used_, now, now + how.expires_after.count())) {
            refuse_state("already used");
        }
    }
}

void questions::refuse_state(const char* reason) const {
    server_->report(log_level::warning, std::string("requestState rejected: ") + reason);
    throw error(error_code::invalid_params, refusal);
}

void questions::open_state(std::string_view sealed) {
    std::int64_t now = unix_now(server_->options.asking);
    state_sealer::opened opened = server_->sealer().open(binding_, sealed, now);
    if (opened.problem) refuse_state(opened.problem);
    used_ = opened.nonce;
    // Only our own states can be opened, so this one is valid.
    json::value v = json::parse(opened.plain);
    round_ = static_cast<unsigned>(v["round"].as_uint()) + 1;
    for (const json::member& m : v["answers"].members()) {
        answers_.emplace(m.key(), exchange{std::string(m.content.at(0).as_string()), m.content.at(1)});
    }
    for (const json::member& m : v["once"].members()) outcomes_.emplace(m.key(), m.content);
    for (const json::member& m : v["asked"].members()) asked_before_.emplace(m.key(), m.content.as_string());
}

// Ignores answers to questions that were not asked (MRTR-15). Without a state this cannot be checked; then each answer is
// validated where it is used.
void questions::take_answers(const json::value& responses, bool with_state) {
    if (!responses.is_object()) throw error(error_code::invalid_params, "inputResponses: expected object");
    for (const json::member& m : responses.members()) {
        std::string key(m.key());
        auto asked = asked_before_.find(key);
        if (with_state && asked == asked_before_.end()) continue;
        if (!m.content.is_object()) {
            throw error(error_code::invalid_params, "inputResponses." + rpc::printable(key) + ": expected object");
        }
        answers_.insert_or_assign(key, exchange{with_state ? asked->second : std::string(), m.content});
    }
}

task<json::value> questions::ask(std::shared_ptr<questions> self, std::string key, std::string method,
                                 json::value params) {
    auto known = self->answers_.find(key);
    // A handler that asks during its cleanup would wait forever.
    if (self->round_ended_ || self->request_->stopped()) throw cancelled();
    // An answer to a question with another method does not count: the handler has changed since.
    if (known != self->answers_.end() && (known->second.method.empty() || known->second.method == method)) {
        known->second.method = method;
        co_return known->second.content;
    }
    if (self->open_.contains(key)) {
        throw std::logic_error("keel: duplicate key of questions in one call: \"" + key + "\"");
    }
    if (self->open_.empty()) self->start_timer(self->server_->options.asking.patience, &questions::end_round);
    self->open_.emplace(key, exchange{std::move(method), std::move(params)});
    // The question is withdrawn if its coroutine is cancelled for another reason than the end of the round.
    struct withdraw_unless_ended {
        questions& all;
        const std::string& key;
        ~withdraw_unless_ended() {
            if (all.round_ended_) return;
            all.open_.erase(key);
            if (all.open_.empty()) all.stop_timer();
        }
    } withdraw{*self, key};
    answer_wait forever;
    co_await forever;
    throw std::logic_error("keel: a wait for an answer was resumed without one");
}

std::optional<json::value> questions::outcome(const std::string& key) const {
    auto at = outcomes_.find(key);
    if (at == outcomes_.end()) return std::nullopt;
    return at->second;
}

void questions::record(std::string key, json::value outcome) {
    outcomes_.insert_or_assign(std::move(key), std::move(outcome));
}

// ---- the end of a round ----

// Checked in a separate turn: other coroutines of the handler may ask too.
void questions::on_wait() noexcept {
    if (open_.empty() || check_posted_ || round_ended_ || request_->stopped()) return;
    check_posted_ = request_->loop().post([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->check_round();
    });
}

void questions::check_round() {
    check_posted_ = false;
    if (request_->line().only_awaits_watcher()) end_round();
}

// Also called after `patience`, when other work of the handler continues: it runs again with the answers.
void questions::end_round() {
    if (open_.empty() || round_ended_ || request_->stopped()) return;
    round_ended_ = true;
    // Limits the time of the handler's cleanup.
    start_timer(server_->options.limits.cleanup_grace, &questions::give_up);
    request_->fire(rpc::stop_cause::owner, "");
    // The caller of the handler sends the result when the handler has ended.
}

void questions::start_timer(duration d, void (questions::*then)()) {
    stop_timer();
    timer_ = start_timer_after(request_->loop(), d, [weak = weak_from_this(), then] {
        auto self = weak.lock();
        if (!self) return;
        self->timer_ = 0;
        (*self.*then)();
    });
}

void questions::stop_timer() const noexcept { request_->loop().stop_timer(std::exchange(timer_, 0)); }

void questions::give_up() {
    server_->log(log_level::error, "a handler that waits for the client did not stop in time and was abandoned");
    ++server_->totals.abandoned;
    rpc::handler_outcome outcome;
    try {
        outcome = rpc::handler_outcome::of(input_required());
    } catch (const std::exception&) {
        outcome = rpc::handler_outcome::of(std::current_exception(), false);
    }
    request_->finish(std::move(outcome));
}

std::string questions::input_required() const {
    stop_timer();
    const asking_options& bounds = server_->options.asking;
    if (round_ >= bounds.max_rounds) {
        server_->log(log_level::warning, "a call asked the client in more than max_rounds rounds");
        throw error(error_code::internal, "too many rounds of questions to the client");
    }
    json::value requests = json::object();
    json::value asked = json::object();
    for (const auto& [key, question] : open_) {
        json::value request = json::object({{"method", question.method}});
        if (!question.content.is_null()) request.append("params", question.content);
        requests.append(key, std::move(request));
        asked.append(key, question.method);
    }
    json::value answers = json::object();
    for (const auto& [key, answer] : answers_) answers.append(key, json::array({answer.method, answer.content}));
    json::value outcomes = json::object();
    for (const auto& [key, outcome] : outcomes_) outcomes.append(key, outcome);
    std::string plain = json::to_string(json::object({{"round", round_},
                                                      {"asked", std::move(asked)},
                                                      {"answers", std::move(answers)},
                                                      {"once", std::move(outcomes)}}));
    if (plain.size() > bounds.max_state) {
        server_->log(log_level::error, "the state of a call that asks the client is larger than max_state: " +
                                           std::to_string(plain.size()) + " bytes");
        throw error(error_code::internal, "the state of the call is too large");
    }
    std::string sealed = server_->sealer().seal(binding_, plain, unix_now(bounds) + bounds.expires_after.count());
    std::string out = R"({"resultType":"input_required","inputRequests":)";
    if (!json::write(out, requests))
        throw error(error_code::internal, "the parameters of a question are not valid JSON");
    out += R"(,"requestState":")";
    out += sealed;
    out += '"';
    out += server_->modern_tail();
    return out;
}

}  // namespace keel::server_side
