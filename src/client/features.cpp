// Tools, resources, prompts, completion, ping and generic requests.

#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "protocol/messages.hpp"
#include "protocol/methods.hpp"
#include "protocol/mirrored_headers.hpp"

#include <algorithm>
#include <set>

namespace keel::inline KEEL_ABI::detail {

namespace {

/// Approximate maximum memory of all pages of a list that is requested as a whole.
constexpr std::size_t most_of_a_list = 64 * 1024 * 1024;

template <class Result>
Result read_result(const json::value& from) {
    Result into{};
    decode_error why;
    if (!decode(from, into, why, "result")) {
        throw keel::error(error_kind::bad_message, "invalid result from the server: " + why.message());
    }
    return into;
}

void append(std::string& members, std::string_view key, const json::value& v) {
    if (!members.empty()) members += ',';
    members += '"';
    members += key;
    members += "\":";
    if (!json::write(members, v)) {
        throw std::invalid_argument("keel: '" + std::string(key) + "' is not representable as JSON");
    }
}

/// The members of an object as JSON text. Its `_meta` entries are added to `meta`.
std::string members_of(const json::value& params, json::value& meta) {
    if (!params.is_null() && !params.is_object()) throw std::invalid_argument("keel: params must be a JSON object");
    std::string members;
    for (const json::member& each : params.members()) {
        if (each.key() == "_meta") {
            for (const json::member& own : each.content.members()) {
                if (!meta.contains(own.key())) meta.set(own.key(), own.content);
            }
            continue;
        }
        if (!members.empty()) members += ',';
        if (!json::write(members, each.name)) throw std::invalid_argument("keel: invalid parameter name: not UTF-8");
        members += ':';
        if (!json::write(members, each.content)) {
            throw std::invalid_argument("keel: '" + std::string(each.key()) + "' is not representable as JSON");
        }
    }
    return members;
}

// The method, capability and result type of each kind of list.
template <class T>
struct list_traits;
template <>
struct list_traits<tool> {
    using result = protocol::list_tools_result;
    static constexpr std::string_view method = "tools/list";
    static constexpr std::string_view feature = "tools";
    static std::vector<tool>& items(result& r) { return r.tools; }
};
template <>
struct list_traits<resource> {
    using result = protocol::list_resources_result;
    static constexpr std::string_view method = "resources/list";
    static constexpr std::string_view feature = "resources";
    static std::vector<resource>& items(result& r) { return r.resources; }
};
template <>
struct list_traits<resource_template> {
    using result = protocol::list_resource_templates_result;
    static constexpr std::string_view method = "resources/templates/list";
    static constexpr std::string_view feature = "resources";
    static std::vector<resource_template>& items(result& r) { return r.resource_templates; }
};
template <>
struct list_traits<prompt> {
    using result = protocol::list_prompts_result;
    static constexpr std::string_view method = "prompts/list";
    static constexpr std::string_view feature = "prompts";
    static std::vector<prompt>& items(result& r) { return r.prompts; }
};

}  // namespace

// ---- lists ----

template <class T>
task<page<T>> client_engine::list_page(std::optional<std::string> cursor, call_options how, whole_list* part_of) {
    auto self = shared_from_this();
    using traits = list_traits<T>;
    outgoing_call what;
    what.method = traits::method;
    what.feature = traits::feature;
    what.due = part_of ? part_of->due : due_of(how);
    what.how = std::move(how);
    json::value params;
    if (cursor) {
        append(what.members, "cursor", *cursor);
        params.set("cursor", *cursor);
    }
    session_ptr s = co_await ready(what.due);
    const std::uint64_t asked_at = tools.generation();
    json::value result = co_await ask_cached(s, what, std::move(params));
    if (part_of) {
        part_of->due = what.due;
        part_of->bytes += client_side::footprint(result);
    }
    auto said = read_result<typename traits::result>(result);
    page<T> p;
    p.items = std::move(traits::items(said));
    p.next = std::move(said.next_cursor);
    if constexpr (std::is_same_v<T, tool>) {
        // A list that has changed since the request is returned, but not added to the catalog.
        tools.add(
            p.items, s->modern() && s->via().is_http(),
            [this](std::string_view text) { log(log_level::warning, text); }, tools.generation() == asked_at);
    }
    co_return p;
}

template <class T>
task<std::vector<T>> client_engine::list_all(call_options how) {
    auto self = shared_from_this();
    whole_list whole;
    whole.due = due_of(how);
    for (bool again = false;; again = true) {
        std::vector<T> all;
        std::set<std::string> seen;
        std::optional<std::string> cursor;
        bool refused = false;
        whole.bytes = 0;
        for (unsigned pages = 0;; ++pages) {
            if (pages >= options.max_pages) {
                throw keel::error(error_kind::unavailable,
                                  "the list has more than " + std::to_string(pages) + " pages (max_pages)");
            }
            if (whole.bytes >= most_of_a_list) {
                throw keel::error(error_kind::unavailable, "the list takes more than " +
                                                               std::to_string(most_of_a_list >> 20) +
                                                               " MiB: request its pages one at a time");
            }
            page<T> p;
            try {
                p = co_await list_page<T>(cursor, how, &whole);
            } catch (const keel::error& e) {
                // The cursor is no longer valid: start again, once (CACHE-10).
                refused =
                    cursor && !again && e.kind() == error_kind::rejected && e.code() == error_code::invalid_params;
                if (!refused) throw;
            }
            if (refused) break;
            std::move(p.items.begin(), p.items.end(), std::back_inserter(all));
            if (!p.next) co_return all;
            if (!seen.insert(*p.next).second) {
                throw keel::error(error_kind::bad_message, "invalid list: the server returned the same cursor twice");
            }
            cursor = std::move(p.next);
        }
        cache.drop_list(list_traits<T>::method);
    }
}

template task<page<tool>> client_engine::list_page<tool>(std::optional<std::string>, call_options, whole_list*);
template task<page<resource>> client_engine::list_page<resource>(std::optional<std::string>, call_options, whole_list*);
template task<page<resource_template>> client_engine::list_page<resource_template>(std::optional<std::string>,
                                                                                   call_options, whole_list*);
template task<page<prompt>> client_engine::list_page<prompt>(std::optional<std::string>, call_options, whole_list*);
template task<std::vector<tool>> client_engine::list_all<tool>(call_options);
template task<std::vector<resource>> client_engine::list_all<resource>(call_options);
template task<std::vector<resource_template>> client_engine::list_all<resource_template>(call_options);
template task<std::vector<prompt>> client_engine::list_all<prompt>(call_options);

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

task<tool_result> client_engine::call_tool(std::string name, std::string members, json::value arguments,
                                           call_options how) {
    auto self = shared_from_this();
    const time_point due = due_of(how);
    session_ptr s = in_use();
    if (!s) s = co_await ready(due);
    outgoing_call what;
    what.due = due;
    what.method = "tools/call";
    what.feature = "tools";
    what.name = name;
    what.how = std::move(how);
    what.members = std::move(members);
    const bool mirrored = s->modern() && s->via().is_http();
    const std::size_t own_headers = what.how.headers.size();
    for (bool again = false;; again = true) {
        if (mirrored) {
            what.how.headers.resize(own_headers);
            for (auto& each : tools.headers_for(name, arguments)) what.how.headers.push_back(std::move(each));
        }
        try {
            json::value result = co_await ask_in_rounds(s, what);
            tool_result r = read_tool_result(result);
            if (options.check_results && protocol::has_structured_content(s->revision())) {
                auto report = [this](std::string_view text) { log(log_level::warning, text); };
                if (auto problem = tools.check(name, r, report)) throw keel::error(error_kind::bad_message, *problem);
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
        if (what.due != time_point::max()) fresh.total = std::max<duration>(what.due - on->now(), duration(1));
        co_await list_all<tool>(std::move(fresh));
    }
}

task<std::vector<resource_contents>> client_engine::read_resource(std::string uri, call_options how) {
    auto self = shared_from_this();
    outgoing_call what;
    what.method = "resources/read";
    what.feature = "resources";
    what.name = uri;
    what.due = due_of(how);
    what.how = std::move(how);
    append(what.members, "uri", uri);
    json::value params;
    params.set("uri", uri);
    session_ptr s = co_await ready(what.due);
    json::value result = co_await ask_cached(std::move(s), what, std::move(params));
    co_return read_result<protocol::read_resource_result>(result).contents;
}

task<prompt_result> client_engine::get_prompt(std::string name, std::map<std::string, std::string> arguments,
                                              call_options how) {
    auto self = shared_from_this();
    outgoing_call what;
    what.method = "prompts/get";
    what.feature = "prompts";
    what.name = name;
    what.due = due_of(how);
    what.how = std::move(how);
    append(what.members, "name", name);
    if (!arguments.empty()) append(what.members, "arguments", keel::encode(arguments));
    session_ptr s = co_await ready(what.due);
    json::value result = co_await ask_in_rounds(std::move(s), what);
    auto said = read_result<protocol::get_prompt_result>(result);
    prompt_result r;
    r.description = std::move(said.description);
    r.messages = std::move(said.messages);
    r.meta = std::move(said.meta);
    co_return r;
}

task<completion> client_engine::complete(bool of_prompt, std::string which, std::string argument, std::string value,
                                         std::map<std::string, std::string> others, call_options how) {
    auto self = shared_from_this();
    outgoing_call what;
    what.method = "completion/complete";
    what.feature = "completions";
    what.due = due_of(how);
    what.how = std::move(how);
    json::value ref;
    ref.set("type", of_prompt ? "ref/prompt" : "ref/resource");
    ref.set(of_prompt ? "name" : "uri", which);
    append(what.members, "ref", ref);
    json::value asked;
    asked.set("name", argument);
    asked.set("value", value);
    append(what.members, "argument", asked);
    session_ptr s = co_await ready(what.due);
    if (!others.empty() && s->revision() >= protocol::revision::r2025_06_18) {
        json::value context;
        context.set("arguments", keel::encode(others));
        append(what.members, "context", context);
    }
    json::value result = co_await ask_in_rounds(std::move(s), what);
    co_return read_result<protocol::complete_result>(result).completion;
}

// ---- the rest ----

task<void> client_engine::ping(call_options how) {
    auto self = shared_from_this();
    const time_point due = due_of(how);
    session_ptr s = co_await ready(due);
    outgoing_call what;
    what.method = s->modern() ? "server/discover" : "ping";
    what.due = due;
    what.how = std::move(how);
    what.progress = false;
    co_await ask_in_rounds(std::move(s), what);
}

task<void> client_engine::set_log_level(log_level from, call_options how) {
    auto self = shared_from_this();
    {
        std::lock_guard lock(mutex_);
        level_ = from;
    }
    session_ptr s = co_await ready();
    if (s->modern()) {
        s->refresh_meta();
        co_return;
    }
    outgoing_call what;
    what.method = "logging/setLevel";
    what.feature = "logging";
    what.how = std::move(how);
    append(what.members, "level", name_of(from));
    co_await ask(std::move(s), what);
}

// A tools/call through request() needs its Mcp-Param headers, too.
void client_engine::add_mirrored(const client_session& s, outgoing_call& what, const json::value& params) const {
    if (what.method != "tools/call" || !s.modern() || !s.via().is_http()) return;
    for (auto& each : tools.headers_for(what.name, params["arguments"])) what.how.headers.push_back(std::move(each));
}

task<json::value> client_engine::request(std::string method, json::value params, call_options how) {
    auto self = shared_from_this();
    outgoing_call what;
    what.method = method;
    what.due = due_of(how);
    what.how = std::move(how);
    what.members = members_of(params, what.how.meta);
    if (auto name = protocol::name_for(method, params)) what.name = *name;
    session_ptr s = co_await ready(what.due);
    add_mirrored(*s, what, params);
    const json::value result = co_await ask_in_rounds(std::move(s), what);
    co_return result;  // a copy: the borrowed result must not leave the engine
}

task<request_round> client_engine::request_once(std::string method, json::value params, round_answers answers,
                                                call_options how) {
    auto self = shared_from_this();
    outgoing_call what;
    what.method = method;
    what.due = due_of(how);
    what.how = std::move(how);
    what.members = members_of(params, what.how.meta);
    if (auto name = protocol::name_for(method, params)) what.name = *name;
    session_ptr s = co_await ready(what.due);
    add_mirrored(*s, what, params);
    co_return co_await ask_once(std::move(s), what, std::move(answers));
}

}  // namespace keel::detail
