// Asking the client: with a request to it (up to 2025-11-25), or by ending the call with questions (2026-07-28).

#include "protocol/elicitation_form.hpp"
#include "protocol/elicitation_schema.hpp"
#include "protocol/revisions.hpp"
#include "protocol/sampling_rules.hpp"
#include "protocol/server_requests.hpp"
#include "rpc/peer.hpp"
#include "server/call_state.hpp"
#include "server/questions.hpp"

#include <keel/context.hpp>
#include <keel/error.hpp>
#include <keel/schema.hpp>

#include <openssl/rand.h>

namespace keel::inline KEEL_ABI {

namespace {

using state_pointer = std::shared_ptr<detail::call_state>;

/// The client has not declared the capability. In 2026-07-28 the error names the missing capability.
[[noreturn]] void refuse(const state_pointer& state, const std::string& what, json::value required) {
    if (protocol::is_modern(state->client->revision)) {
        throw error(error_kind::unavailable, "the client does not support " + what,
                    error_code::missing_client_capability,
                    json::object({{"requiredCapabilities", std::move(required)}}));
    }
    throw error(error_kind::unavailable, "the client does not support " + what, error_code::invalid_request);
}

const json::value& capability(const state_pointer& state, std::string_view name) {
    return state->client->capabilities[name];
}

/// Elicitation declared without a mode means forms.
bool can_show_forms(const json::value& elicitation) {
    return elicitation.is_object() && (elicitation.contains("form") || !elicitation.contains("url"));
}

std::string random_id() {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        throw std::runtime_error("keel: RAND_bytes failed");
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string id;
    for (unsigned char b : bytes) {
        id += digits[b >> 4U];
        id += digits[b & 15U];
    }
    return id;
}

[[noreturn]] void bad_answer(const state_pointer& state, const std::string& why) {
    // In 2026-07-28 the answer is part of the request; before, it is a separate message.
    if (protocol::is_modern(state->client->revision)) throw error(error_code::invalid_params, "inputResponses: " + why);
    throw error(error_kind::bad_message, why, error_code::internal);
}

/// Asks one question in the way of the client's revision and returns the answer.
task<json::value> ask(context ctx, std::string key, std::string method, json::value params) {
    state_pointer state = detail::context_access::state(ctx);
    if (!protocol::is_modern(state->client->revision)) {
        // No timeout for questions to people; clients answer roots/list at once.
        duration patience = method == "roots/list" ? duration() : state->server->options.asking.expires_after;
        co_return co_await ctx.request(std::move(method), std::move(params), patience);
    }
    if (!state->questions) {
        throw error(error_kind::unavailable,
                    state->method + " cannot send requests to the client in this protocol revision",
                    error_code::internal);
    }
    detail::activity& here = co_await detail::this_activity{};
    if (&here.root() != &state->request->line()) {
        throw error(error_kind::unavailable, "the context was used to ask the client outside its own call");
    }
    co_return co_await server_side::questions::ask(state->questions, std::move(key), std::move(method),
                                                   std::move(params));
}

elicit_action read_action(const state_pointer& state, const json::value& answer, const std::string& key) {
    elicit_action action{};
    decode_error e;
    if (!decode(answer["action"], action, e, key + ".action")) bad_answer(state, e.message());
    return action;
}

}  // namespace

void detail::throw_bad_answer(const decode_error& e) { throw error(error_kind::bad_message, e.message()); }

task<elicited<json::value>> context::elicit(std::string key, std::string message, json::value form) const {
    context self = *this;  // `this` may be destroyed while the coroutine waits
    state_pointer state = state_;
    protocol::revision rev = state->client->revision;
    if (auto problem = protocol::elicitation_problem(form)) {
        throw std::invalid_argument("keel: invalid form \"" + key + "\": " + *problem);
    }
    if (!protocol::has_elicitation(rev) || !can_show_forms(capability(state, "elicitation"))) {
        refuse(state, "elicitation forms", json::object({{"elicitation", json::object({{"form", json::object()}})}}));
    }
    schema check(form);
    std::optional<json::value> shown = protocol::form_for(rev, std::move(form));
    if (!shown) refuse(state, "multiple-choice fields in forms", json::object());
    json::value params = json::object();
    if (protocol::has_url_elicitation(rev)) params.append("mode", "form");
    params.append("message", message);
    params.append("requestedSchema", std::move(*shown));
    json::value answer = co_await ask(self, key, "elicitation/create", std::move(params));
    elicited<json::value> result;
    result.action = read_action(state, answer, key);
    if (!result) co_return result;
    decode_error e;
    if (!check.check(answer["content"], e, key + ".content")) bad_answer(state, e.message());
    result.value = answer["content"];
    co_return result;
}

task<url_elicited> context::elicit_url(std::string key, std::string message, std::string url) const {
    context self = *this;
    state_pointer state = state_;
    protocol::revision rev = state->client->revision;
    if (!protocol::has_url_elicitation(rev) || !capability(state, "elicitation").contains("url")) {
        refuse(state, "URL elicitation", json::object({{"elicitation", json::object({{"url", json::object()}})}}));
    }
    url_elicited result;
    json::value params = json::object({{"mode", "url"}, {"message", message}, {"url", url}});
    if (protocol::has_elicitation_ids(rev)) {
        result.id = random_id();
        params.append("elicitationId", result.id);
    }
    json::value answer = co_await ask(self, key, "elicitation/create", std::move(params));
    result.action = read_action(state, answer, key);
    co_return result;
}

void context::url_elicitation_complete(const url_elicited& which) const {
    if (which.id.empty() || !protocol::has_elicitation_ids(state_->client->revision)) return;
    std::string params;
    if (json::write(params, json::object({{"elicitationId", which.id}}))) {
        state_->request->notify("notifications/elicitation/complete", std::move(params), false);
    }
}

task<sampling_result> context::sample(std::string key, sampling_request request) const {
    context self = *this;
    state_pointer state = state_;
    protocol::revision rev = state->client->revision;
    const json::value& sampling = capability(state, "sampling");
    if (!sampling.is_object()) refuse(state, "sampling", json::object({{"sampling", json::object()}}));
    if (!request.tools.empty() || request.tool_choice) {
        if (!protocol::has_sampling_tools(rev) || !sampling.contains("tools")) {
            refuse(state, "tools in sampling", json::object({{"sampling", json::object({{"tools", json::object()}})}}));
        }
    }
    if (auto problem = protocol::sampling_problem(request)) {
        throw std::invalid_argument("keel: invalid sampling request \"" + key + "\": " + *problem);
    }
    // Requires the capability (SAM-11).
    if (rev >= protocol::revision::r2025_11_25 && !sampling.contains("context")) {
        request.include_context = include_context::none;
    }
    json::value params = protocol::encode_for(rev, request);
    json::value answer = co_await ask(self, key, "sampling/createMessage", std::move(params));
    sampling_result result;
    decode_error e;
    if (!decode(answer, result, e, key)) bad_answer(state, e.message());
    co_return result;
}

task<std::vector<root>> context::list_roots(std::string key) const {
    context self = *this;
    state_pointer state = state_;
    if (!capability(state, "roots").is_object()) {
        refuse(state, "roots", json::object({{"roots", json::object()}}));
    }
    json::value no_params = json::object();  // Go's client requires params in an input request
    json::value answer = co_await ask(self, key, "roots/list", std::move(no_params));
    protocol::list_roots_result result;
    decode_error e;
    if (!decode(answer, result, e, key)) bad_answer(state, e.message());
    co_return std::move(result.roots);
}

std::optional<json::value> context::recorded_outcome(const std::string& key) const {
    return state_->questions ? state_->questions->outcome(key) : std::nullopt;
}

void context::record_outcome(std::string key, json::value outcome) const {
    std::string text;
    if (!json::write(text, outcome)) {
        throw std::invalid_argument("keel: the result of step \"" + key + "\" is not valid JSON");
    }
    if (state_->questions) state_->questions->record(std::move(key), std::move(outcome));
}

}  // namespace keel
