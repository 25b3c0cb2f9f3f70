#include "client/server_request_handler.hpp"

#include "async/worker_pool.hpp"
#include "client/client_environment.hpp"
#include "client/client_session.hpp"
#include "client/form_check.hpp"
#include "client/open_elicitations.hpp"
#include "client/run_on_worker.hpp"
#include "client/shared_state.hpp"
#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"

namespace keel::inline KEEL_ABI::client_side {

namespace {

[[noreturn]] void refuse(int code, const std::string& why) { throw keel::error(code, why); }

[[noreturn]] void refuse_method(std::string_view method) {
    refuse(error_code::method_not_found, "method not supported by this client: " + rpc::printable(method));
}

template <class T>
T read_params(const json::value& params) {
    T into{};
    decode_error why;
    if (!decode(params, into, why, "params")) refuse(error_code::invalid_params, why.message());
    return into;
}

constexpr std::size_t most_queued = 256;

template <class Answer, class Question>
task<Answer> run(const question_handler<Answer, Question>& handler, async::worker_pool* pool,
                 std::shared_ptr<loop> home, asked_by who, Question question) {
    if (handler.task_function()) co_return co_await handler.task_function()(std::move(who), std::move(question));
    // A cancelled request no longer counts as in flight, but its job stays in this queue until a worker takes it.
    if (pool->queued() >= most_queued) {
        throw keel::error(error_code::internal, "too many requests are waiting for a worker thread",
                          json::object({{"reason", "overloaded"}}));
    }
    std::function<Answer()> work = [f = handler.function(), who = std::move(who), q = std::move(question)] {
        return f(who, q);
    };
    run_on_worker<Answer> wait(*pool, std::move(home), std::move(work));
    co_return co_await wait;
}

}  // namespace

server_request_handler::server_request_handler(const client_environment& environment, const shared_state& shared,
                                               open_elicitations& elicitations) noexcept
    : environment_(environment), shared_(shared), elicitations_(elicitations) {}

server_request_handler::~server_request_handler() {
    if (workers_) workers_->shut_down(environment_.options.limits.cleanup_grace);
}

async::worker_pool& server_request_handler::workers() {
    if (!workers_) workers_ = std::make_unique<async::worker_pool>(environment_.options.worker_threads);
    return *workers_;
}

task<json::value> server_request_handler::answer(client_session& to, std::string method, json::value params,
                                                 std::stop_token token) {
    auto held = environment_.shared_from_this();
    const client_options& options = environment_.options;
    const protocol::revision rev = to.revision();
    asked_by who(shared_.facts().about.name, std::move(token));
    if (method == "roots/list") {
        if (!shared_.offers_roots() || (!to.modern() && !to.declared_roots)) refuse_method(method);
        protocol::list_roots_result all;
        all.roots = shared_.roots();
        co_return protocol::encode_for(rev, all);
    }
    if (method == "sampling/createMessage") {
        if (!options.on_sampling) refuse_method(method);
        sampling_request request = read_params<sampling_request>(params);
        if (auto problem = fit_sampling(rev, options.sampling_with_tools, params, request)) {
            refuse(error_code::invalid_params, *problem);
        }
        sampling_result result =
            co_await run(options.on_sampling, &workers(), environment_.on, std::move(who), std::move(request));
        co_return protocol::encode_for(rev, result);
    }
    bool elicits = method == "elicitation/create" && protocol::has_elicitation(rev);
    if (!elicits || (!options.on_form && !options.on_url)) refuse_method(method);
    std::string_view mode = params["mode"].if_string().value_or("form");  // ELI-03
    protocol::elicit_result result;
    if (mode == "url") {
        if (!options.on_url) refuse(error_code::invalid_params, "this client does not support URL elicitation");
        auto asked = read_params<protocol::elicit_url_params>(params);
        if (!asked.elicitation_id.empty()) elicitations_.add(asked.elicitation_id);
        url_question question;
        question.message = std::move(asked.message);
        question.url = std::move(asked.url);
        question.id = std::move(asked.elicitation_id);
        question.meta = std::move(asked.meta);
        result.action = co_await run(options.on_url, &workers(), environment_.on, std::move(who), std::move(question));
        co_return protocol::encode_for(rev, result);
    }
    if (mode != "form") refuse(error_code::invalid_params, "unknown elicitation mode: " + rpc::printable(mode));
    if (!options.on_form) refuse(error_code::invalid_params, "this client does not support form elicitation");
    auto asked = read_params<protocol::elicit_form_params>(params);
    form_question question;
    question.message = std::move(asked.message);
    question.schema = asked.requested_schema;
    question.meta = std::move(asked.meta);
    form_answer given = co_await run(options.on_form, &workers(), environment_.on, std::move(who), std::move(question));
    if (auto problem = fit_form(asked.requested_schema, given)) {
        refuse(error_code::internal, "the form handler returned an invalid answer: " + *problem);
    }
    result.action = given.action;
    result.content = std::move(given.values);
    co_return protocol::encode_for(rev, result);
}

}  // namespace keel::client_side
