// completion/complete: values for an argument of a prompt or a variable of a resource template.

#include "protocol/messages.hpp"
#include "server/invocation.hpp"
#include "server/offers.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::server_side {

namespace {

std::string needed_text(const json::value& object, const std::string& path, std::string_view key) {
    auto text = object[key].if_string();
    if (!text) invalid_params(path + "." + std::string(key) + ": expected string");
    return std::string(*text);
}

completion_request read_request(const incoming& in) {
    completion_request wanted;
    const json::value& argument = in.params["argument"];
    if (!argument.is_object()) invalid_params("argument: expected object");
    wanted.argument = needed_text(argument, "argument", "name");
    wanted.value = needed_text(argument, "argument", "value");
    if (!protocol::has_titles(in.rev)) return wanted;  // `context` exists since 2025-06-18
    const json::value* context = in.params.find("context");
    if (!context || context->is_null()) return wanted;
    if (!context->is_object()) invalid_params("context: expected object");
    const json::value* chosen = context->find("arguments");
    if (!chosen || chosen->is_null()) return wanted;
    if (!chosen->is_object()) invalid_params("context.arguments: expected object");
    for (const json::member& m : chosen->members()) {
        if (!m.content.is_string())
            invalid_params("context.arguments." + rpc::printable(m.key()) + ": expected string");
        wanted.chosen.emplace(m.key(), m.content.as_string());
    }
    return wanted;
}

/// COMP-02.
constexpr std::size_t max_values = 100;

void write_completion(detail::reply& out, completion found) {
    if (found.total && *found.total < static_cast<std::int64_t>(found.values.size())) found.total.reset();
    if (found.values.size() > max_values) {
        if (!found.total) found.total = static_cast<std::int64_t>(found.values.size());
        found.has_more = true;
        found.values.resize(max_values);
    }
    if (!keel::write_json(out.content, found)) detail::throw_unexpressible();
}

/// One completion request. Owned by its invocation; its handler refers to it.
struct completing {
    std::shared_ptr<const void> offer;  // owns `function`
    const completer* function = nullptr;
    completion_request wanted;
    detail::handler handler;
};

void write_proposals(result_text& out, detail::reply&, protocol::revision rev, const server_core& server, const void*) {
    out.before += protocol::is_modern(rev) ? R"({"resultType":"complete","completion":)" : R"({"completion":)";
    end_result(out.after, rev, server);
}

const completer* find_function(const std::map<std::string, completer>& all, const std::string& name) {
    auto at = all.find(name);
    return at == all.end() ? nullptr : &at->second;
}

}  // namespace

invocation find_completion(const incoming& in, const table<prompt_offer>& prompts,
                           const table<template_offer>& templates) {
    const json::value& ref = in.params["ref"];
    if (!ref.is_object()) invalid_params("ref: expected object");
    const std::string type = needed_text(ref, "ref", "type");
    auto call = std::make_shared<completing>();
    call->wanted = read_request(in);
    const std::string& argument = call->wanted.argument;
    bool known = false;
    if (type == "ref/prompt") {
        const std::string name = needed_text(ref, "ref", "name");
        const auto* found = prompts.find(name);
        if (!found) invalid_params("unknown prompt: " + rpc::printable(name));
        const auto& all = (*found)->about.arguments;
        known = std::any_of(all.begin(), all.end(), [&](const prompt_argument& a) { return a.name == argument; });
        call->function = find_function((*found)->complete, argument);
        call->offer = *found;
    } else if (type == "ref/resource") {
        const std::string uri = needed_text(ref, "ref", "uri");
        const auto* found = templates.find(uri);
        if (!found) invalid_params("unknown resource template: " + rpc::printable(uri));
        const auto& all = (*found)->pattern.variables();
        known = std::find(all.begin(), all.end(), argument) != all.end();
        call->function = find_function((*found)->options.complete, argument);
        call->offer = *found;
    } else {
        invalid_params("ref.type: unknown reference type: " + rpc::printable(type));
    }
    if (!known) invalid_params("unknown argument: " + rpc::printable(argument));
    if (call->function) {
        call->handler.plain = [c = call.get()](context* ctx, const json::value&, detail::reply& out) {
            write_completion(out, (*c->function)(*ctx, c->wanted));
        };
    } else {  // no completer: an empty list
        call->handler.plain = [](context*, const json::value&, detail::reply& out) { write_completion(out, {}); };
        call->handler.quick = true;
        call->handler.wants_context = false;
    }
    invocation made;
    made.handler = &call->handler;
    made.write = &write_proposals;
    made.offer = std::move(call);
    return made;
}

}  // namespace keel::server_side
