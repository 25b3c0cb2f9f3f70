// Listing and calling tools.

#include "server/session.hpp"

#include <cxxabi.h>

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>

namespace keel::server_side {

const tool_table& session::tools() {
    std::uint64_t now = server_->tools_version();
    if (now != tools_version_) {
        tools_ = server_->tools();
        tools_version_ = now;
    }
    return *tools_;
}

void session::list_tools(const incoming& in) {
    // One page holds everything, so no cursor can be ours.
    if (in.params.contains("cursor")) return reject(in.id, error_code::invalid_params, "cursor: unknown");
    text_ = protocol::is_modern(in.rev) ? R"({"resultType":"complete",)" : "{";
    text_ += tools().list(in.rev);
    if (protocol::is_modern(in.rev)) {
        text_ += R"(,"ttlMs":0,"cacheScope":"private")";
        text_ += server_->modern_tail();
    } else {
        text_ += '}';
    }
    peer_->finish(in.id, text_);
}

void session::call_tool(const incoming& in) {
    auto name = in.params["name"].if_string();
    if (!name) return reject(in.id, error_code::invalid_params, "name: expected string");
    static const json::value nothing = json::object();
    const json::value* arguments = in.params.find("arguments");
    if (!arguments) arguments = &nothing;
    if (!arguments->is_object()) return reject(in.id, error_code::invalid_params, "arguments: expected object");
    const std::shared_ptr<const tool>* found = tools().find(*name);
    if (!found) return reject(in.id, error_code::invalid_params, "unknown tool: " + rpc::printable(*name));
    std::shared_ptr<const tool> t = *found;  // also when it is removed while it runs
    if (t->coroutine) return run_as_task(in, std::move(t), *arguments);
    if (t->about.options.quick) return run_quick(in, *t, *arguments);
    run_on_worker(in, std::move(t), *arguments);
}

context session::make_context(const incoming& in) {
    auto state = std::make_shared<detail::call_state>();
    state->request = peer_->open_request(in.id);
    state->meta = in.params["_meta"];
    if (!protocol::is_modern(in.rev)) {
        state->client = client_;
    } else {
        auto facts = std::make_shared<detail::client_facts>();
        facts->revision = in.rev;
        facts->info = state->meta[protocol::meta_key::client_info];
        facts->capabilities = state->meta[protocol::meta_key::client_capabilities];
        // Messages are sent only to a request that asked for them.
        auto named = state->meta[protocol::meta_key::log_level].if_string();
        auto level = named ? find_log_level(*named) : std::nullopt;
        facts->log_level = level ? static_cast<int>(*level) : detail::client_facts::no_logs;
        state->client = std::move(facts);
    }
    return context(std::move(state));
}

void session::run_quick(const incoming& in, const tool& t, const json::value& arguments) {
    reply_.content.clear();
    reply_.structured.clear();
    reply_.is_error = false;
    text_.clear();
    handler_mark mark(*server_);
    try {
        if (t.wants_context) {
            context ctx = make_context(in);
            t.plain(&ctx, arguments, reply_);
        } else {
            t.plain(nullptr, arguments, reply_);
        }
        write_tool_result(text_, reply_, in.rev, *server_);
    } catch (...) {  // sorted out by outcome_of_failure, whatever it is
        return peer_->finish(
            in.id, outcome_of_failure(std::current_exception(), !peer_->core().is_open(in.id), in.rev, *server_));
    }
    peer_->finish(in.id, text_);
}

namespace {

/// A call that waits for a thread. It may wait for long, behind handlers that never end: when it is cancelled it gives
/// back what the peer made us keep.
class waiting_call {
public:
    waiting_call(std::stop_token token, const json::value& arguments)
        : arguments_(arguments), drop_(std::move(token), [this] { take(); }) {}

    /// The arguments, once; nothing when the call was cancelled meanwhile.
    std::optional<json::value> take() {
        std::lock_guard lock(mutex_);
        return std::exchange(arguments_, std::nullopt);
    }

private:
    std::mutex mutex_;  // the worker that begins and the loop that cancels meet here
    std::optional<json::value> arguments_;
    std::stop_callback<std::function<void()>> drop_;  // last: it may be called while we are made
};

}  // namespace

void session::run_on_worker(const incoming& in, std::shared_ptr<const tool> t, const json::value& arguments) {
    context ctx = make_context(in);
    auto request = peer_->open_request(in.id);
    auto call = std::make_shared<waiting_call>(request->token(), arguments);
    auto job = [ctx = std::move(ctx), request, t = std::move(t), call, rev = in.rev, server = server_]() mutable {
        std::optional<json::value> given = call->take();
        if (!given) return request->finish({});  // cancelled before it could start (B1)
        handler_mark mark(*server);
        detail::reply reply;
        std::string text;
        try {
            t->plain(&ctx, *given, reply);
            write_tool_result(text, reply, rev, *server);
        } catch (abi::__forced_unwind&) {
            request->finish(outcome_of_failure(
                std::make_exception_ptr(std::runtime_error("the handler's thread was ended")), false, rev, *server));
            throw;
        } catch (...) {  // sorted out by outcome_of_failure, whatever it is
            return request->finish(outcome_of_failure(std::current_exception(), request->stopped(), rev, *server));
        }
        request->finish(rpc::handler_outcome::of(std::move(text)));
    };
    auto overloaded = [](const char* why) {
        return rpc::failure{error_code::internal, why, json::object({{"reason", "overloaded"}})};
    };
    rpc::handler_outcome refused;
    refused.what = rpc::handler_outcome::kind::failure;
    try {
        auto pool = server_->workers();
        // Calls that were given up while they waited no longer count as in flight, but they are still in this queue.
        if (pool->queued() >= server_->options.limits.max_in_flight_total) {
            refused.error = overloaded("too many calls wait for a thread");
        } else if (pool->submit(std::move(job))) {
            return;
        } else {
            refused.error = {error_code::internal, "server shutting down", {}};
        }
    } catch (const std::system_error& e) {
        refused.error = overloaded("no thread for this call");
        refused.log = e.what();
    }
    request->finish(std::move(refused));
}

namespace {

// Keeps the tool, whose function object the coroutine runs in, and maps how it ended.
task<std::string> run_coroutine(std::shared_ptr<const tool> t, context ctx, json::value arguments,
                                protocol::revision rev, std::shared_ptr<server_core> server) {
    std::string text;
    std::exception_ptr failed;
    try {
        detail::reply reply = co_await t->coroutine(std::move(ctx), std::move(arguments));
        write_tool_result(text, reply, rev, *server);
    } catch (const detail::bad_arguments&) {
        failed = std::current_exception();
    } catch (const detail::bad_result&) {
        failed = std::current_exception();
    }
    if (failed) {
        rpc::handler_outcome o = outcome_of_failure(failed, false, rev, *server);
        if (o.what == rpc::handler_outcome::kind::result) co_return std::move(o.result);
        if (!o.log.empty()) server->log(log_level::error, o.log);
        throw keel::error(o.error.code, o.error.message, std::move(o.error.data));
    }
    co_return text;
}

}  // namespace

void session::run_as_task(const incoming& in, std::shared_ptr<const tool> t, const json::value& arguments) {
    context ctx = make_context(in);
    auto request = peer_->open_request(in.id);
    handler_mark mark(*server_);
    request->run(run_coroutine(std::move(t), std::move(ctx), arguments, in.rev, server_));
}

void write_tool_result(std::string& out, const detail::reply& r, protocol::revision rev, const server_core& server) {
    bool modern = protocol::is_modern(rev);
    out += modern ? R"({"resultType":"complete","content":)" : R"({"content":)";
    out += r.content.empty() ? std::string_view("[]") : std::string_view(r.content);
    if (!r.structured.empty() && protocol::has_structured_content(rev) &&
        (r.structured.front() == '{' || protocol::has_any_structured_content(rev))) {
        out += R"(,"structuredContent":)";
        out += r.structured;
    }
    if (r.is_error) out += R"(,"isError":true)";
    if (modern) out += server.modern_tail();
    else out += '}';
}

rpc::handler_outcome outcome_of_failure(std::exception_ptr thrown, bool told_to_stop, protocol::revision rev,
                                        const server_core& server) {
    try {
        std::rethrow_exception(thrown);
    } catch (const detail::bad_arguments& e) {
        if (!protocol::has_argument_errors_as_results(rev)) {
            rpc::handler_outcome out;
            out.what = rpc::handler_outcome::kind::failure;
            out.error = {error_code::invalid_params, e.what(), {}};
            return out;
        }
        detail::reply reply;
        detail::write_text(reply, e.what());
        reply.is_error = true;
        std::string text;
        write_tool_result(text, reply, rev, server);
        return rpc::handler_outcome::of(std::move(text));
    } catch (...) {  // everything else means the same everywhere
        return rpc::handler_outcome::of(thrown, told_to_stop);
    }
}

}  // namespace keel::server_side
