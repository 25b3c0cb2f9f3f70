#include "client/lists.hpp"

#include "client/client_session.hpp"
#include "client/engine.hpp"
#include "client/read_result.hpp"
#include "protocol/messages.hpp"

#include <set>

namespace keel::inline KEEL_ABI::client_side {

namespace {

/// Approximate maximum memory of all pages of a list that is requested as a whole.
constexpr std::size_t most_of_a_list = 64 * 1024 * 1024;

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

template <class T>
task<page<T>> list_page(engine_ptr client, std::optional<std::string> cursor, call_options how, whole_list* part_of) {
    using traits = list_traits<T>;
    outgoing_request what;
    what.method = traits::method;
    what.feature = traits::feature;
    what.due = part_of ? part_of->due : client->due_of(how);
    what.how = std::move(how);
    json::value params;
    if (cursor) {
        append_member(what.members, "cursor", *cursor);
        params.set("cursor", *cursor);
    }
    session_ptr s = co_await client->sender.ready(what);
    const std::uint64_t asked_at = client->tools.generation();
    json::value result = co_await client->sender.send_cached(s, what, std::move(params));
    if (part_of) {
        part_of->due = what.due;
        part_of->bytes += footprint(result);
    }
    auto said = read_result<typename traits::result>(result);
    page<T> p;
    p.items = std::move(traits::items(said));
    p.next = std::move(said.next_cursor);
    if constexpr (std::is_same_v<T, tool>) {
        // A list that has changed since the request is returned, but not added to the catalog.
        client->tools.add(
            p.items, s->modern() && s->via().is_http(),
            [&](std::string_view text) { client->log(log_level::warning, text); },
            client->tools.generation() == asked_at);
    }
    co_return p;
}

template <class T>
task<std::vector<T>> list_all(engine_ptr client, call_options how) {
    whole_list whole;
    whole.due = client->due_of(how);
    for (bool again = false;; again = true) {
        std::vector<T> all;
        std::set<std::string> seen;
        std::optional<std::string> cursor;
        bool refused = false;
        whole.bytes = 0;
        for (unsigned pages = 0;; ++pages) {
            if (pages >= client->options.max_pages) {
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
                p = co_await list_page<T>(client, cursor, how, &whole);
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
        client->cache.drop_list(list_traits<T>::method);
    }
}

template task<page<tool>> list_page<tool>(engine_ptr, std::optional<std::string>, call_options, whole_list*);
template task<page<resource>> list_page<resource>(engine_ptr, std::optional<std::string>, call_options, whole_list*);
template task<page<resource_template>> list_page<resource_template>(engine_ptr, std::optional<std::string>,
                                                                    call_options, whole_list*);
template task<page<prompt>> list_page<prompt>(engine_ptr, std::optional<std::string>, call_options, whole_list*);
template task<std::vector<tool>> list_all<tool>(engine_ptr, call_options);
template task<std::vector<resource>> list_all<resource>(engine_ptr, call_options);
template task<std::vector<resource_template>> list_all<resource_template>(engine_ptr, call_options);
template task<std::vector<prompt>> list_all<prompt>(engine_ptr, call_options);

}  // namespace keel::client_side
