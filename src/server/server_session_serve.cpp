// From a request to its answer, in all revisions. A request passes through the middleware to `dispatch`; without middleware,
// `dispatch` is called directly.

#include "async/reactor.hpp"
#include "server/blocking_monitor.hpp"
#include "server/handler_task.hpp"
#include "server/middleware_chain.hpp"
#include "server/server_session.hpp"
#include "server/worker_call.hpp"

#include <cxxabi.h>

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

void server_session::serve(const incoming& in) {
    dispatched next;
    try {
        if (server_->around.empty()) dispatch(in, nullptr, next);
        else enter_chain(in, next);
        switch (next.by) {
            case dispatched::kind::session: break;
            case dispatched::kind::coroutine: return start(in, std::move(next));
            case dispatched::kind::worker:
                auto request = next.blocking->request();
                return next.blocking->start(
                    [request](rpc::handler_outcome outcome) { request->finish(std::move(outcome)); });
        }
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {  // outcome_of_failure handles all exceptions
        bool told_to_stop = !peer_->core().is_open(in.id);
        peer_->finish(in.id, outcome_of_failure(std::current_exception(), told_to_stop, in.which, in.rev, *server_));
        free_large_reply();
        return check_quick(in, next, settled_at_);
    }
    peer_->finish(in.id, next.text, next.tool_error ? rpc::request_outcome::tool_error : rpc::request_outcome::ok,
                  next.body);
    free_large_reply();
    check_quick(in, next, settled_at_);
}

void server_session::check_quick(const incoming& in, const dispatched& done, time_point now) const noexcept {
    if (done.offer) check_blocking(*server_, {in.which, in.name, done.offer.get()}, now - done.begin);
}

void server_session::start(const incoming& in, dispatched next) {
    auto request = peer_->open_request(in.id);
    handler_mark mark(*server_);
    if (next.call) request->run(settle(std::move(next.call), std::move(next.work)));
    else request->run(std::move(next.work));
    settled_at_ = async::coarse_now(peer_->loop());
}

// ---- the innermost step: finds the handler of a request and runs or prepares it ----

void server_session::dispatch(const incoming& in, std::shared_ptr<detail::call_state> call, dispatched& out) {
    must_offer(in);
    if (in.which == method::subscriptions_listen) {
        peer_->core().exempt(in.id);
        out.by = dispatched::kind::coroutine;
        out.work = subscriber_.listen(call ? call->request : peer_->open_request(in.id), peer_->core().wire_id(in.id),
                                      in.params);
        return;
    }
    if (answer_at_once(in, out)) return;
    invocation found = find(in);
    const detail::handler& handler = *found.handler;
    const bool in_chain = call != nullptr;
    const bool quick = handler.quick && !handler.coroutine;
    if (!call && (!quick || handler.wants_context)) call = make_call(in);
    // A plain handler cannot ask the client, but the middleware around it can.
    if (handler.coroutine || in_chain) prepare_questions(call, in.params);
    if (quick) {
        // Answering a request reads the clock anyway; in a chain the answer comes later.
        out.begin = in_chain ? async::coarse_now(peer_->loop()) : std::max(settled_at_, peer_->core().now());
        out.offer = found.offer;
        return run_quick(in, found, std::move(call), in_chain, out);
    }
    if (!handler.coroutine) {
        out.by = dispatched::kind::worker;
        out.blocking = std::make_shared<worker_call>(std::move(call), std::move(found));
        return;
    }
    if (found.input) {  // a copy: the message is freed when the handler waits
        found.made = *found.input;
        found.input = nullptr;
    }
    out.by = dispatched::kind::coroutine;
    out.work = run_coroutine(call, std::move(found));
    out.call = std::move(call);
}

// Methods of features that are not declared are unknown methods.
void server_session::must_offer(const incoming& in) {
    bool offered = true;
    switch (in.which) {
        case method::resources_read:
        case method::resources_list:
        case method::resources_templates_list:
        case method::resources_subscribe:
        case method::resources_unsubscribe: offered = server_->offers_resources(); break;
        case method::prompts_get:
        case method::prompts_list: offered = server_->offers_prompts(); break;
        case method::completion_complete: offered = server_->offers_completions(); break;
        case method::other: offered = methods_.of(server_->methods).find(in.name) != nullptr; break;
        default: break;
    }
    if (!offered || (in.which != method::other && !protocol::exists_in(in.which, in.rev))) {
        throw error(error_code::method_not_found, "method not found: " + rpc::printable(in.name));
    }
}

bool server_session::answer_at_once(const incoming& in, dispatched& out) {
    switch (in.which) {
        case method::tools_list:
        case method::prompts_list:
        case method::resources_templates_list:
            list_.clear();
            list(in, list_);
            pieces_ = {list_.before, list_.entries, list_.after};
            out.text = pieces_;
            return true;
        case method::server_discover:
            text_.clear();
            discover(in, text_);
            answer_with(text_, out);
            return true;
        case method::resources_subscribe: subscriber_.subscribe(in.params); break;
        case method::resources_unsubscribe: subscriber_.unsubscribe(in.params); break;
        case method::logging_set_level: set_log_level(in); break;
        case method::ping: break;
        default: return false;
    }
    answer_with("{}", out);
    return true;
}

void server_session::answer_with(std::string_view text, dispatched& out) noexcept {
    pieces_[0] = text;
    out.text = rpc::text_pieces(pieces_.data(), 1);
}

invocation server_session::find(const incoming& in) {
    switch (in.which) {
        case method::tools_call: {
            const std::shared_ptr<const tool>& called = named_tool(in, tools_.of(server_->tools));
            peer_->core().set_label(in.id, called->stats_slot);
            return call_of_tool(in, called);
        }
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

std::shared_ptr<detail::call_state> server_session::make_call(const incoming& in) {
    auto state = std::make_shared<detail::call_state>();
    state->request = peer_->open_request(in.id);
    state->request->line().set_executor(server_.get());
    state->server = server_;
    state->states = states_;
    state->meta = in.params["_meta"];
    state->method = in.name;
    state->which = in.which;
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
    return state;
}

void server_session::run_quick(const incoming& in, const invocation& found, std::shared_ptr<detail::call_state> call,
                               bool in_chain, dispatched& out) {
    reply_.content.clear();
    reply_.structured.clear();
    reply_.extra.clear();
    reply_.meta.clear();
    reply_.is_error = false;
    reply_.only_text = true;
    if (large_reply_) use_spare_buffer();  // this one may be, too
    // In a chain the message may be another one, and the parameters belong to the chain.
    reply_.input = in_chain || !peer_->holds_large_input() ? nullptr : this;
    handler_mark mark(*server_);
    if (call) {
        context ctx(std::move(call));
        found.handler->plain(&ctx, found.given(), reply_);
    } else {
        found.handler->plain(nullptr, found.given(), reply_);
    }
    around_.clear();
    found.write(around_, reply_, in.rev, *server_, found.offer.get());
    out.tool_error = reply_.is_error;
    pieces_ = {around_.before, reply_.content, around_.after};
    out.text = pieces_;
    out.body = &reply_.content;
    large_reply_ = reply_.content.size() >= async::spare_buffers::smallest;
}

// The memory of a large message is used for its answer.
void server_session::release_input() {
    peer_->release_input();
    use_spare_buffer();
}

void server_session::use_spare_buffer() {
    auto* spares = async::spares_of(peer_->loop());
    if (!spares) return;
    if (reply_.content.capacity() >= async::spare_buffers::smallest) async::give_back(reply_.content, spares);
    if (spares->empty()) return;
    reply_.content = spares->take(0);
    reply_.content.clear();
}

void server_session::free_large_reply() {
    if (reply_.content.capacity() < async::spare_buffers::smallest) return;
    async::give_back(reply_.content, async::spares_of(peer_->loop()));
}

// ---- middleware ----

void server_session::enter_chain(const incoming& in, dispatched& out) {
    out.by = dispatched::kind::coroutine;
    out.call = make_call(in);
    out.work = run_chain(out.call, in.params, [weak = weak_from_this()](request_call& call) {
        auto state = detail::context_access::state(call.ctx);
        return settle(state, dispatch_in_chain(weak, state, call));
    });
}

task<std::string> server_session::dispatch_in_chain(std::weak_ptr<server_session> weak,
                                                    std::shared_ptr<detail::call_state> state, request_call& call) {
    dispatched next;
    {  // a wait must not keep the session alive
        auto self = weak.lock();
        if (!self) throw error(error_kind::closed, "connection closed");
        incoming in{state->request->id(), state->which, state->method, call.params, state->client->revision};
        self->dispatch(in, state, next);
        self->check_quick(in, next, async::coarse_now(self->peer_->loop()));
    }
    if (next.by == dispatched::kind::coroutine) co_return co_await std::move(next.work);
    if (next.by == dispatched::kind::worker) {
        worker_wait done(std::move(next.blocking));
        co_return co_await done;
    }
    if (next.tool_error) state->request->note_tool_error();
    std::string text;  // a copy: the next request reuses the buffers of the session
    for (std::string_view piece : next.text) text += piece;
    co_return text;
}

}  // namespace keel::server_side
