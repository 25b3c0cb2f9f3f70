#include "client/features.hpp"

#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "client/lists.hpp"
#include "client/read_result.hpp"
#include "protocol/messages.hpp"
#include "protocol/methods.hpp"
#include "protocol/mirrored_headers.hpp"

#include <algorithm>

namespace keel::inline KEEL_ABI::client_side {

// ---- calls ----

namespace {

// Decoded by hand, because this is the hot path of a client.
tool_result read_tool_result(const json::value& from) {
    tool_result r;
    auto wrong = [](const std::string& what) {
        throw keel::error(error_kind::bad_message, "invalid result from the server: " + what);
    };
    const json::value* blocks = from.find("content");
    if (!blocks || !blocks->is_array()) wrong("result.content: expected array");
    r.content.reserve(blocks->size());
    for (const json::value& each : blocks->items()) {
        decode_error why;
        if (!keel_decode(each, r.content.emplace_back(), why)) wrong("result.content: " + why.message());
    }
    if (const json::value* structured = from.find("structuredContent")) r.structured = *structured;
    if (const json::value* failed = from.find("isError")) {
        if (!failed->is_bool()) wrong("result.isError: expected boolean");
        r.is_error = *failed->if_bool();
    }
    // The server info is in every result; the client has it already.
    for (const json::member& each : from["_meta"].members()) {
        if (each.key() != protocol::meta_key::server_info) r.meta.append(each.key(), each.content);
    }
    return r;
}

}  // namespace

task<tool_result> call_tool(engine_ptr client, std::string name, std::string members, json::value arguments,
                            call_options how) {
    outgoing_request what;
    what.due = client->due_of(how);
    what.method = "tools/call";
    what.feature = "tools";
    what.name = name;
    what.how = std::move(how);
    what.members = std::move(members);
    session_ptr s = client->connections.in_use();
    if (!s) s = co_await client->sender.ready(what);
    const bool mirrored = s->modern() && s->via().is_http();
    const std::size_t own_headers = what.how.headers.size();
    for (bool again = false;; again = true) {
        if (mirrored) {
            what.how.headers.resize(own_headers);
            for (auto& each : client->tools.headers_for(name, arguments)) what.how.headers.push_back(std::move(each));
        }
        try {
            json::value result = co_await client->sender.send_in_rounds(s, what);
            tool_result r = read_tool_result(result);
            if (client->options.check_results && protocol::has_structured_content(s->revision())) {
                auto report = [&](std::string_view text) { client->log(log_level::warning, text); };
                if (auto problem = client->tools.check(name, r, report))
                    throw keel::error(error_kind::bad_message, *problem);
            }
            co_return r;
        } catch (const keel::error& e) {
            // The known tool definition is outdated (HDR-18). The server rejected the call before executing it, so a retry is safe.
            bool refresh =
                mirrored && !again && e.kind() == error_kind::rejected && e.code() == error_code::header_mismatch;
            if (!refresh) throw;
        }
        call_options fresh;
        fresh.headers.assign(what.how.headers.begin(),
                             what.how.headers.begin() + static_cast<std::ptrdiff_t>(own_headers));
        fresh.from_cache = false;
        if (what.due != time_point::max()) fresh.total = std::max<duration>(what.due - client->on->now(), duration(1));
        co_await list_all<tool>(client, std::move(fresh));
    }
}

task<std::vector<resource_contents>> read_resource(engine_ptr client, std::string uri, call_options how) {
    outgoing_request what;
    what.method = "resources/read";
    what.feature = "resources";
    what.name = uri;
    what.due = client->due_of(how);
    what.how = std::move(how);
    append_member(what.members, "uri", uri);
    json::value params;
    params.set("uri", uri);
    session_ptr s = co_await client->sender.ready(what);
    json::value result = co_await client->sender.send_cached(std::move(s), what, std::move(params));
    co_return read_result<protocol::read_resource_result>(result).contents;
}

task<prompt_result> get_prompt(engine_ptr client, std::string name, std::map<std::string, std::string> arguments,
                               call_options how) {
    outgoing_request what;
    what.method = "prompts/get";
    what.feature = "prompts";
    what.name = name;
    what.due = client->due_of(how);
    what.how = std::move(how);
    append_member(what.members, "name", name);
    if (!arguments.empty()) append_member(what.members, "arguments", keel::encode(arguments));
    session_ptr s = co_await client->sender.ready(what);
    json::value result = co_await client->sender.send_in_rounds(std::move(s), what);
    auto said = read_result<protocol::get_prompt_result>(result);
    prompt_result r;
    r.description = std::move(said.description);
    r.messages = std::move(said.messages);
    r.meta = std::move(said.meta);
    co_return r;
}

task<completion> complete(engine_ptr client, bool of_prompt, std::string which, std::string argument, std::string value,
                          std::map<std::string, std::string> others, call_options how) {
    outgoing_request what;
    what.method = "completion/complete";
    what.feature = "completions";
    what.due = client->due_of(how);
    what.how = std::move(how);
    json::value ref;
    ref.set("type", of_prompt ? "ref/prompt" : "ref/resource");
    ref.set(of_prompt ? "name" : "uri", which);
    append_member(what.members, "ref", ref);
    json::value asked;
    asked.set("name", argument);
    asked.set("value", value);
    append_member(what.members, "argument", asked);
    session_ptr s = co_await client->sender.ready(what);
    if (!others.empty() && s->revision() >= protocol::revision::r2025_06_18) {
        json::value context;
        context.set("arguments", keel::encode(others));
        append_member(what.members, "context", context);
    }
    json::value result = co_await client->sender.send_in_rounds(std::move(s), what);
    co_return read_result<protocol::complete_result>(result).completion;
}

// ---- the rest ----

task<void> ping(engine_ptr client, call_options how) {
    outgoing_request what;
    what.method = "ping";
    what.due = client->due_of(how);
    what.how = std::move(how);
    what.progress = false;
    session_ptr s = co_await client->sender.ready(what);
    if (s->modern()) what.method = "server/discover";
    co_await client->sender.send_in_rounds(std::move(s), what);
}

task<void> set_log_level(engine_ptr client, log_level from, call_options how) {
    client->shared.set_level(from);
    outgoing_request what;
    what.method = "logging/setLevel";
    what.feature = "logging";
    what.due = client->due_of(how);
    what.how = std::move(how);
    append_member(what.members, "level", name_of(from));
    session_ptr s = co_await client->sender.ready(what);
    if (s->modern()) {
        require_feature(*s, what.feature);
        s->refresh_meta();
        co_return;
    }
    co_await client->sender.send(std::move(s), what);
}

namespace {

// A tools/call through request() needs its Mcp-Param headers, too.
void add_mirrored(const tool_catalog& tools, const client_session& s, outgoing_request& what,
                  const json::value& params) {
    if (what.method != "tools/call" || !s.modern() || !s.via().is_http()) return;
    for (auto& each : tools.headers_for(what.name, params["arguments"])) what.how.headers.push_back(std::move(each));
}

}  // namespace

task<json::value> request(engine_ptr client, std::string method, json::value params, call_options how) {
    outgoing_request what;
    what.method = method;
    what.due = client->due_of(how);
    what.how = std::move(how);
    what.members = members_of(params, what.how.meta);
    if (auto name = protocol::name_for(method, params)) what.name = *name;
    session_ptr s = co_await client->sender.ready(what);
    add_mirrored(client->tools, *s, what, params);
    const json::value result = co_await client->sender.send_in_rounds(std::move(s), what);
    co_return result;  // a copy: the borrowed result must not leave the library
}

task<request_round> request_once(engine_ptr client, std::string method, json::value params, round_answers answers,
                                 call_options how) {
    outgoing_request what;
    what.method = method;
    what.due = client->due_of(how);
    what.how = std::move(how);
    what.members = members_of(params, what.how.meta);
    if (auto name = protocol::name_for(method, params)) what.name = *name;
    session_ptr s = co_await client->sender.ready(what);
    add_mirrored(client->tools, *s, what, params);
    co_return co_await client->sender.send_once(std::move(s), what, std::move(answers));
}

void set_roots(const engine_ptr& client, std::vector<root> now) {
    client->shared.set_roots(std::move(now));
    client->on->post([client] {
        session_ptr s = client->connections.in_use();
        if (!s) return;
        if (s->modern()) return s->refresh_meta();
        if (s->declared_roots) client->sender.notify("notifications/roots/list_changed", {});  // ROOT-02
    });
}

}  // namespace keel::client_side
