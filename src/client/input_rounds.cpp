#include "client/input_rounds.hpp"

#include "async/timeout.hpp"
#include "client/client_environment.hpp"
#include "client/client_session.hpp"
#include "client/server_request_handler.hpp"
#include "protocol/methods.hpp"

#include <keel/async.hpp>

#include <algorithm>
#include <utility>

namespace keel::inline KEEL_ABI::client_side {

bool is_complete(const json::value& result, std::string_view method) {
    const json::value* type = result.find("resultType");
    if (!type) return true;
    std::string_view name = type->if_string().value_or("");
    if (name == "complete") return true;
    if (name == "input_required" && protocol::may_ask(protocol::find_method(method))) return false;
    throw keel::error(error_kind::bad_message,
                      "unsupported resultType in a result of the server: " + rpc::printable(name));
}

protocol::input_required_result read_input_required(const json::value& result) {
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

namespace {

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
        detail::start(line, std::move(work), [self = shared_from_this()](detail::outcome<void> o) {
            self->result = std::move(o);
            self->ended.set();
        });
    }
    void give_up() {
        token.source.request_stop();
        line.stop();
    }

    detail::activity line;
    token_until_exit token;
    event ended;
    detail::outcome<void> result;
    bool lost = false;  // stopped because the connection is closed
};

}  // namespace

task<std::string> answer_input_requests(const client_environment& environment, server_request_handler& handler,
                                        session_ptr s, json::value result, unsigned round) {
    protocol::input_required_result asked = read_input_required(result);
    if (asked.input_requests.empty()) {
        // Only a requestState: the server asks the client to retry later.
        constexpr duration shortest = std::chrono::milliseconds(50);
        duration wait = std::min<duration>(shortest * (1u << std::min(round, 4u)), shortest * 5);
        co_await async::completes_within(wait, end_of(s));  // if the connection ends, the next request fails
        co_return members_for({}, asked.request_state);
    }
    auto round_of = std::make_shared<answering>(*environment.on);
    std::stop_source& token = round_of->token.source;
    std::map<std::string, json::value> answers;
    auto answer_one = [&handler, &answers, &token, &s](const std::string& key,
                                                       const protocol::input_request& q) -> task<void> {
        std::string method = q.method;
        json::value params = q.params;
        std::string problem;
        try {
            answers[key] = co_await handler.answer(*s, std::move(method), std::move(params), token.get_token());
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
        std::stop_callback watch(s->gone(), [weak = std::weak_ptr(round_of), home = environment.on] {
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
        std::string why = co_await describe_loss(s, "connection closed", environment.options.limits.child_exit);
        throw keel::error(error_kind::closed, why);
    }
    co_return members_for(answers, asked.request_state);
}

}  // namespace keel::client_side
