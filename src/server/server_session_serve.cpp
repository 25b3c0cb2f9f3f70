// From a request to its answer, in all revisions.

#include "server/questions.hpp"
#include "server/server_session.hpp"
#include "server/worker_call.hpp"

#include <cxxabi.h>

#include <array>
#include <functional>
#include <optional>

namespace keel::inline KEEL_ABI::server_side {

void server_session::serve(const incoming& in) {
    try {
        if (!server_->around.empty()) return run_with_middleware(in);
        must_offer(in);
        if (in.which == method::subscriptions_listen) {
            peer_->core().exempt(in.id);
            auto request = peer_->open_request(in.id);
            return request->run(subscriber_.listen(request, peer_->core().wire_id(in.id), in.params));
        }
        if (is_kept_list(in.which)) {
            list_.clear();
            list(in, list_);
            std::array<std::string_view, 3> pieces = {list_.before, list_.entries, list_.after};
            return peer_->finish(in.id, pieces);
        }
        text_.clear();
        if (answer_at_once(in, text_)) return peer_->finish(in.id, text_);
        run(in, find(in));
    } catch (const std::exception&) {
        peer_->finish(in.id, outcome_of_failure(std::current_exception(), false, in, *server_));
    }
}

// Methods of features that are not declared are unknown methods.
void server_session::must_offer(const incoming& in) {
    bool there = true;
    switch (in.which) {
        case method::resources_read:
        case method::resources_list:
        case method::resources_templates_list:
        case method::resources_subscribe:
        case method::resources_unsubscribe: there = server_->offers_resources(); break;
        case method::prompts_get:
        case method::prompts_list: there = server_->offers_prompts(); break;
        case method::completion_complete: there = server_->offers_completions(); break;
        case method::other: there = methods_.of(server_->methods).find(in.name) != nullptr; break;
        default: there = protocol::exists_in(in.which, in.rev); break;
    }
    if (!there || (in.which != method::other && !protocol::exists_in(in.which, in.rev))) {
        throw error(error_code::method_not_found, "method not found: " + rpc::printable(in.name));
    }
}

bool server_session::is_kept_list(method which) noexcept {
    return which == method::tools_list || which == method::prompts_list || which == method::resources_templates_list;
}

bool server_session::answer_at_once(const incoming& in, std::string& out) {
    if (is_kept_list(in.which)) {
        list_text all;
        list(in, all);
        out += all.before;
        out += all.entries;
        out += all.after;
        return true;
    }
    switch (in.which) {
        case method::server_discover: discover(in, out); return true;
        case method::resources_subscribe: subscriber_.subscribe(in.params); break;
        case method::resources_unsubscribe: subscriber_.unsubscribe(in.params); break;
        case method::logging_set_level: set_log_level(in); break;
        case method::ping: break;
        default: return false;
    }
    out += "{}";
    return true;
}

invocation server_session::find(const incoming& in) {
    switch (in.which) {
        case method::tools_call: return find_tool(in, tools_.of(server_->tools));
        case method::resources_read:
            return find_resource(in, resources_.of(server_->resources), templates_.of(server_->templates));
        case method::resources_list:
            return find_resource_list(in, server_->resources.snapshot(), server_->templates.snapshot(),
                                      server_->options.page_size);
        case method::prompts_get: return find_prompt(in, prompts_.of(server_->prompts));
        case method::completion_complete:
            return find_completion(in, prompts_.of(server_->prompts), templates_.of(server_->templates));
        default: return find_method(in, methods_.of(server_->methods));
    }
}

context server_session::make_context(const incoming& in) {
    auto state = std::make_shared<detail::call_state>();
    state->request = peer_->open_request(in.id);
    state->server = server_;
    state->states = states_;
    state->meta = in.params["_meta"];
    state->method = in.name;
    state->principal = principal_;
    if (!protocol::is_modern(in.rev)) {
        state->client = client_;
    } else {
        auto facts = std::make_shared<detail::client_facts>();
        facts->revision = in.rev;
        facts->info = state->meta[protocol::meta_key::client_info];
        facts->capabilities = state->meta[protocol::meta_key::client_capabilities];
        // Log messages are sent only to requests that asked for them.
        auto named = state->meta[protocol::meta_key::log_level].if_string();
        auto level = named ? find_log_level(*named) : std::nullopt;
        facts->log_level = level ? static_cast<int>(*level) : detail::client_facts::no_logs;
        state->client = std::move(facts);
    }
    return context(std::move(state));
}

// ---- the three ways to run a handler ----

void server_session::run(const incoming& in, invocation call) {
    if (call.handler->coroutine) return run_as_task(in, std::move(call));
    if (call.handler->quick) return run_quick(in, call);
    run_on_worker(in, std::move(call));
}

void server_session::run_quick(const incoming& in, const invocation& call) {
    reply_.content.clear();
    reply_.structured.clear();
    reply_.extra.clear();
    reply_.meta.clear();
    reply_.is_error = false;
    reply_.only_text = true;
    text_.clear();
    handler_mark mark(*server_);
    try {
        if (call.handler->wants_context) {
            context ctx = make_context(in);
            call.handler->plain(&ctx, call.given(), reply_);
        } else {
            call.handler->plain(nullptr, call.given(), reply_);
        }
        call.write(text_, reply_, in.rev, *server_, call.offer.get());
    } catch (...) {  // outcome_of_failure handles all exceptions
        return peer_->finish(in.id,
                             outcome_of_failure(std::current_exception(), !peer_->core().is_open(in.id), in, *server_));
    }
    peer_->finish(in.id, text_);
}

void server_session::run_on_worker(const incoming& in, invocation call) {
    auto request = peer_->open_request(in.id);
    start_on_worker(std::make_shared<worker_call>(make_context(in), request, std::move(call), in, server_),
                    [request](rpc::handler_outcome outcome) { request->finish(std::move(outcome)); });
}

namespace {

struct how_to_answer {
    protocol::method which;
    protocol::revision rev;
    std::string name;
};

/// Runs a handler in a coroutine. Keeps its registry entry alive.
task<std::string> perform(context ctx, std::shared_ptr<rpc::request> request, invocation call, how_to_answer how,
                          std::shared_ptr<server_core> server) {
    incoming in{request->id(), how.which, how.name, no_params, how.rev};
    if (call.handler->plain && !call.handler->quick) {
        auto job = std::make_shared<worker_call>(std::move(ctx), request, std::move(call), in, server);
        worker_wait done(std::move(job));
        co_return co_await done;
    }
    detail::reply reply;
    if (call.handler->coroutine) {
        json::value input = call.given();
        reply = co_await call.handler->coroutine(std::move(ctx), std::move(input));
    } else {
        call.handler->plain(&ctx, call.given(), reply);
    }
    std::string text;
    call.write(text, reply, how.rev, *server, call.offer.get());
    co_return text;
}

/// Returns the result for a tool-level error; otherwise throws the error for the peer, or `cancelled` if there is no answer.
std::string result_of_failure(const std::exception_ptr& failed, const rpc::request& request, const how_to_answer& how,
                              const server_core& server) {
    incoming in{request.id(), how.which, how.name, no_params, how.rev};
    rpc::handler_outcome o = outcome_of_failure(failed, request.stopped(), in, server);
    if (o.what == rpc::handler_outcome::kind::result) return std::move(o.result);
    if (o.what == rpc::handler_outcome::kind::silent) std::rethrow_exception(failed);
    if (!o.log.empty()) server.report(log_level::error, "handler failed: " + rpc::printable(o.log, 500));
    throw keel::error(o.error.code, o.error.message, std::move(o.error.data));
}

/// Returns the handler's result, its failure, or the questions that it needs answered.
task<std::string> answer(std::shared_ptr<questions> asked, std::shared_ptr<rpc::request> request,
                         task<std::string> work, how_to_answer how, std::shared_ptr<server_core> server) {
    std::string text;
    std::exception_ptr failed;
    try {
        text = co_await std::move(work);
    } catch (...) {  // handled below
        failed = std::current_exception();
    }
    // The handler was stopped to ask the client; its own outcome does not matter, it will run again.
    if (asked && asked->round_ended()) co_return asked->input_required();
    if (!failed) co_return text;
    co_return result_of_failure(failed, *request, how, *server);
}

/// Only for methods that may ask the client.
std::shared_ptr<questions> prepare_questions(const incoming& in, const json::value& params, context& ctx,
                                             const std::shared_ptr<rpc::request>& request,
                                             const std::shared_ptr<server_core>& server) {
    if (!protocol::is_modern(in.rev) || !protocol::may_ask(in.which)) return nullptr;
    auto asked = std::make_shared<questions>(request, server);
    asked->take(in.name, params, ctx.principal());
    asked->begin();
    detail::context_access::state(ctx)->questions = asked;
    return asked;
}

}  // namespace

void server_session::run_as_task(const incoming& in, invocation call) {
    context ctx = make_context(in);
    auto request = peer_->open_request(in.id);
    auto asked = prepare_questions(in, in.params, ctx, request, server_);
    how_to_answer how{in.which, in.rev, std::string(in.name)};
    if (call.input) {  // a copy: the message is freed when the handler waits
        call.made = *call.input;
        call.input = nullptr;
    }
    handler_mark mark(*server_);
    request->run(answer(std::move(asked), request, perform(std::move(ctx), request, std::move(call), how, server_), how,
                        server_));
}

// ---- middleware ----

namespace {

/// The state of a request in the middleware chain. Owns copies, because the message is freed when a middleware waits.
struct journey {
    std::shared_ptr<server_core> server;
    std::shared_ptr<rpc::request> request;
    how_to_answer how;
    std::function<task<std::string>(request_call&)> arrive;
};

task<json::value> go_on(std::shared_ptr<journey> j, std::size_t next, request_call& call) {
    if (next < j->server->around.size()) {
        auto called = std::make_shared<bool>(false);
        next_handler rest = [j, next, called](request_call& c) {
            if (std::exchange(*called, true)) throw std::logic_error("keel: a middleware called next() twice");
            return go_on(j, next + 1, c);
        };
        co_return co_await j->server->around[next](call, std::move(rest));
    }
    std::string text = co_await j->arrive(call);
    co_return json::parse(text);
}

/// VER-18: adds the members that every result of 2026-07-28 has, also to results created by middleware.
void complete_result(json::value& result, const server_core& server) {
    if (!result.contains("resultType")) result.set("resultType", "complete");
    if (!result.contains("_meta")) result.set("_meta", json::object());
    json::value& meta = *result.find("_meta");
    if (!meta.is_object()) throw detail::bad_result("the _meta of a result is not an object");
    if (!meta.contains(protocol::meta_key::server_info)) {
        meta.set(protocol::meta_key::server_info, json::parse(server.info_json(protocol::latest)));
    }
}

task<std::string> travel(std::shared_ptr<journey> j, context ctx, json::value params) {
    request_call call{std::move(ctx), j->how.name, std::move(params)};
    std::exception_ptr failed;
    try {
        json::value result = co_await go_on(j, 0, call);
        if (!result.is_object()) throw detail::bad_result("the result of a middleware is not an object");
        if (protocol::is_modern(j->how.rev)) complete_result(result, *j->server);
        std::string text;
        if (!json::write(text, result)) detail::throw_unexpressible();
        co_return text;
    } catch (...) {  // handled below
        failed = std::current_exception();
    }
    auto asked = detail::context_access::state(call.ctx)->questions;
    if (asked && asked->round_ended()) co_return asked->input_required();
    co_return result_of_failure(failed, *j->request, j->how, *j->server);
}

task<std::string> ready(std::string text) { co_return text; }

task<std::string> failing(std::exception_ptr e) {
    std::rethrow_exception(e);
    co_return "";
}

}  // namespace

void server_session::run_with_middleware(const incoming& in) {
    context ctx = make_context(in);
    auto request = peer_->open_request(in.id);
    auto j = std::make_shared<journey>();
    j->server = server_;
    j->request = request;
    j->how = {in.which, in.rev, std::string(in.name)};
    json::value wire_id = peer_->core().wire_id(in.id);
    j->arrive = [weak = weak_from_this(), j = j.get(), wire_id](request_call& call) -> task<std::string> {
        auto self = weak.lock();
        if (!self) throw error(error_kind::closed, "connection closed");
        incoming now{j->request->id(), j->how.which, j->how.name, call.params, j->how.rev};
        std::shared_ptr<questions> asked;
        task<std::string> work;
        try {
            self->must_offer(now);
            if (now.which == method::subscriptions_listen) {
                self->peer_->core().exempt(now.id);
                return self->subscriber_.listen(j->request, wire_id, call.params);
            }
            std::string text;
            if (self->answer_at_once(now, text)) return ready(std::move(text));
            asked = prepare_questions(now, call.params, call.ctx, j->request, j->server);
            invocation found = self->find(now);
            if (found.input) {
                found.made = *found.input;
                found.input = nullptr;
            }
            work = perform(call.ctx, j->request, std::move(found), j->how, j->server);
        } catch (const std::exception&) {
            work = failing(std::current_exception());  // from here on as if the handler had thrown it
        }
        return answer(std::move(asked), j->request, std::move(work), j->how, j->server);
    };
    handler_mark mark(*server_);
    json::value params = in.params;
    request->run(travel(std::move(j), std::move(ctx), std::move(params)));
}

}  // namespace keel::server_side
