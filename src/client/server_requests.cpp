// Requests from the server (sampling, roots, elicitation), as JSON-RPC requests or as input requests of 2026-07-28, and its
// notifications.

#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "client/form_check.hpp"
#include "client/run_on_worker.hpp"
#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::detail {

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
    client_side::run_on_worker<Answer> wait(*pool, std::move(home), std::move(work));
    co_return co_await wait;
}

}  // namespace

protocol::client_capabilities client_engine::capabilities(bool modern) const {
    protocol::client_capabilities can;
    if (offers_roots()) {
        can.roots.emplace();
        if (!modern) can.roots->list_changed = true;
    }
    if (options.on_sampling) {
        can.sampling.emplace();
        if (options.sampling_with_tools) can.sampling->tools = json::object();
    }
    if (options.on_form || options.on_url) {
        can.elicitation.emplace();
        if (options.on_form) can.elicitation->form = json::object();
        if (options.on_url) can.elicitation->url = json::object();
    }
    can.extensions = options.extensions;
    return can;
}

void client_engine::remember_elicitation(std::string id) {
    // A server may never report an elicitation as complete, so the oldest ids are dropped.
    constexpr std::size_t most = 1000;
    if (id.size() > options.limits.max_uri || std::ranges::count(open_elicitations_, id) > 0) return;
    if (open_elicitations_.size() == most) open_elicitations_.pop_front();
    open_elicitations_.push_back(std::move(id));
}

task<json::value> client_engine::answer(client_session& to, std::string method, json::value params,
                                        std::stop_token token) {
    auto self = shared_from_this();
    const protocol::revision rev = to.revision();
    asked_by who(facts().about.name, std::move(token));
    if (method == "roots/list") {
        if (!offers_roots() || (!to.modern() && !to.declared_roots)) refuse_method(method);
        protocol::list_roots_result all;
        all.roots = roots();
        co_return protocol::encode_for(rev, all);
    }
    if (method == "sampling/createMessage") {
        if (!options.on_sampling) refuse_method(method);
        sampling_request request = read_params<sampling_request>(params);
        if (auto problem = client_side::fit_sampling(rev, options.sampling_with_tools, params, request)) {
            refuse(error_code::invalid_params, *problem);
        }
        sampling_result result = co_await run(options.on_sampling, &workers(), on, std::move(who), std::move(request));
        co_return protocol::encode_for(rev, result);
    }
    bool elicits = method == "elicitation/create" && protocol::has_elicitation(rev);
    if (!elicits || (!options.on_form && !options.on_url)) refuse_method(method);
    std::string_view mode = params["mode"].if_string().value_or("form");  // ELI-03
    protocol::elicit_result result;
    if (mode == "url") {
        if (!options.on_url) refuse(error_code::invalid_params, "this client does not support URL elicitation");
        auto asked = read_params<protocol::elicit_url_params>(params);
        if (!asked.elicitation_id.empty()) remember_elicitation(asked.elicitation_id);
        url_question question;
        question.message = std::move(asked.message);
        question.url = std::move(asked.url);
        question.id = std::move(asked.elicitation_id);
        question.meta = std::move(asked.meta);
        result.action = co_await run(options.on_url, &workers(), on, std::move(who), std::move(question));
        co_return protocol::encode_for(rev, result);
    }
    if (mode != "form") refuse(error_code::invalid_params, "unknown elicitation mode: " + rpc::printable(mode));
    if (!options.on_form) refuse(error_code::invalid_params, "this client does not support form elicitation");
    auto asked = read_params<protocol::elicit_form_params>(params);
    form_question question;
    question.message = std::move(asked.message);
    question.schema = asked.requested_schema;
    question.meta = std::move(asked.meta);
    form_answer given = co_await run(options.on_form, &workers(), on, std::move(who), std::move(question));
    if (auto problem = client_side::fit_form(asked.requested_schema, given)) {
        refuse(error_code::internal, "the form handler returned an invalid answer: " + *problem);
    }
    result.action = given.action;
    result.content = std::move(given.values);
    co_return protocol::encode_for(rev, result);
}

// ---- notifications ----

void client_engine::on_notification(client_session& from, std::string_view method, const json::value& params) {
    cache.on_notification(method, params);
    auto changed = [&](change::kind what, list_kind which) {
        if (which == list_kind::tools) tools.clear();
        change c;
        c.what = what;
        from.tell(c, params);
        if (options.on_list_changed) {
            catch_and_log("the on_list_changed callback", [&] { options.on_list_changed(which); });
        }
    };
    if (method == "notifications/tools/list_changed") return changed(change::kind::tools, list_kind::tools);
    if (method == "notifications/prompts/list_changed") return changed(change::kind::prompts, list_kind::prompts);
    if (method == "notifications/resources/list_changed") {
        return changed(change::kind::resources, list_kind::resources);
    }
    if (method == "notifications/resources/updated") {
        auto uri = params["uri"].if_string();
        if (!uri) return;
        change c;
        c.what = change::kind::resource;
        c.uri = *uri;
        from.tell(c, params);
        if (options.on_resource_updated) {
            catch_and_log("the on_resource_updated callback", [&] { options.on_resource_updated(*uri); });
        }
        return;
    }
    if (method == "notifications/message") {
        if (!options.on_log) return;
        protocol::log_message_params said;
        decode_error why;
        if (!decode(params, said, why))
            return log(log_level::info, "invalid log message from the server: " + why.message());
        server_log entry;
        entry.level = said.level;
        entry.logger = std::move(said.logger);
        entry.data = std::move(said.data);
        return catch_and_log("the on_log callback", [&] { options.on_log(entry); });
    }
    if (method == "notifications/subscriptions/acknowledged") return from.acknowledge(params);
    if (method == "notifications/elicitation/complete") {
        auto id = params["elicitationId"].if_string();
        if (!id || std::erase(open_elicitations_, *id) == 0) return;  // ELI-16
        if (options.on_elicitation_complete) {
            catch_and_log("the on_elicitation_complete callback", [&] { options.on_elicitation_complete(*id); });
        }
        return;
    }
    if (options.on_notification)
        catch_and_log("the on_notification callback", [&] { options.on_notification(method, params); });
}

}  // namespace keel::detail
