#include "server/handler_task.hpp"

#include "server/blocking_monitor.hpp"
#include "server/questions.hpp"

namespace keel::inline KEEL_ABI::server_side {

namespace {

/// True if the handler was stopped to ask the client. It will run again, so its own outcome does not matter.
bool stopped_to_ask(const detail::call_state& call) noexcept { return call.questions && call.questions->round_ended(); }

}  // namespace

void prepare_questions(const std::shared_ptr<detail::call_state>& call, const json::value& params) {
    if (!protocol::is_modern(call->client->revision) || !protocol::may_ask(call->which)) return;
    auto asked = std::make_shared<questions>(call->request, call->server);
    asked->take(call->method, params, *call->principal);
    asked->begin();
    call->questions = std::move(asked);
}

task<std::string> run_coroutine(std::shared_ptr<detail::call_state> call, invocation found) {
    context ctx(call);
    blocking_monitor watching(call->request->line(), *call->server, {call->which, call->method, found.offer.get()});
    detail::reply reply = co_await found.handler->coroutine(std::move(ctx), std::move(found.made));
    if (stopped_to_ask(*call)) co_return call->questions->input_required();
    result_text around;
    found.write(around, reply, call->client->revision, *call->server, found.offer.get());
    if (reply.is_error) call->request->note_tool_error();
    co_return join(around, std::move(reply.content));
}

task<std::string> settle(std::shared_ptr<detail::call_state> call, task<std::string> work) {
    std::exception_ptr failed;
    try {
        co_return co_await std::move(work);
    } catch (...) {  // handled below
        failed = std::current_exception();
    }
    if (stopped_to_ask(*call)) co_return call->questions->input_required();
    rpc::handler_outcome outcome = outcome_of_failure(failed, *call);
    if (outcome.what == rpc::handler_outcome::kind::silent) std::rethrow_exception(failed);
    co_return result_of(std::move(outcome), *call->request, *call->server);
}

}  // namespace keel::server_side
