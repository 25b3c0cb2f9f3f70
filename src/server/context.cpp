#include <keel/context.hpp>

#include "protocol/trace_context.hpp"
#include "rpc/peer.hpp"
#include "server/call_state.hpp"
#include "server/server_core.hpp"

namespace keel::inline KEEL_ABI {

bool context::cancelled() const noexcept { return state_->request->stopped(); }
std::string context::reason() const { return state_->request->reason(); }
std::stop_token context::stop_token() const noexcept { return state_->request->token(); }

void context::progress(double value, std::optional<double> total, std::string message) const {
    if (!protocol::has_progress_message(state_->client->revision)) message.clear();
    state_->request->progress(value, total, std::move(message));
}

void context::log(log_level level, json::value data, std::string logger) const {
    if (static_cast<int>(level) < state_->client->log_level.load(std::memory_order_relaxed)) return;
    json::value params = json::object({{"level", name_of(level)}});
    if (!logger.empty()) params.append("logger", logger);
    params.append("data", std::move(data));
    std::string text;
    // A log message that is not valid JSON is dropped: the call must not fail because of it.
    if (json::write(text, params)) state_->request->notify("notifications/message", std::move(text), true);
}

const json::value& context::meta() const noexcept { return state_->meta; }
trace_context context::trace() const { return protocol::read_trace_context(state_->meta); }
const std::string& context::method() const noexcept { return state_->method; }
const std::string& context::principal() const noexcept { return *state_->principal; }
std::string_view context::protocol_version() const noexcept { return protocol::name_of(state_->client->revision); }
const json::value& context::client_info() const noexcept { return state_->client->info; }
const json::value& context::client_capabilities() const noexcept { return state_->client->capabilities; }

void* context::find_state(detail::type_key type, const std::source_location& where) const {
    void* found = state_->states ? state_->states->find(type) : nullptr;
    if (!found) {
        throw std::logic_error(std::string("keel: no on_start hook of this server returned the state for ") +
                               where.function_name());
    }
    return found;
}

void context::release_stream(duration retry) const { state_->request->release_stream(retry); }
void context::close_connection() const { state_->request->close_connection(); }

task<json::value> context::request(std::string method, json::value params, duration timeout) const {
    auto state = state_;  // the context may be destroyed while the coroutine waits
    // Revision 2026-07-28 has no requests from server to client (F10, I6).
    if (protocol::is_modern(state->client->revision)) {
        throw error(error_kind::unavailable, "servers cannot send requests in this protocol revision");
    }
    if (!state->client->confirmed) {
        throw error(error_kind::unavailable, "the client has not sent notifications/initialized yet");
    }
    detail::activity& here = co_await detail::this_activity{};
    if (&here.loop() != &state->request->loop()) {
        throw error(error_kind::unavailable, "the client must be asked on the loop of the request");
    }
    auto owner = state->request->owner();
    if (!owner) throw error(error_kind::closed, "connection closed");
    // Propagates the trace context of the request (META-03).
    trace_context traced = protocol::read_trace_context(state->meta);
    if (!traced.empty() && (params.is_null() || params.is_object())) {
        json::value meta = params["_meta"].is_object() ? params["_meta"] : json::object();
        if (!traced.traceparent.empty()) meta.set("traceparent", traced.traceparent);
        if (!traced.tracestate.empty()) meta.set("tracestate", traced.tracestate);
        if (!traced.baggage.empty()) meta.set("baggage", traced.baggage);
        params.set("_meta", std::move(meta));
    }
    rpc::peer::call_options_with_progress options;
    options.idle = timeout;
    try {
        co_return co_await rpc::peer::ask(std::move(owner), state->request, method, std::move(params),
                                          std::move(options));
    } catch (const rpc::call_timeout& e) {
        throw error(error_kind::timed_out, rpc::printable(method) + ": " + e.what());
    }
}

}  // namespace keel
