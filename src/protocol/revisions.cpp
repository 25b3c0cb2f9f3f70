#include "protocol/revisions.hpp"

#include "protocol/messages.hpp"

#include <array>
#include <initializer_list>
#include <span>

namespace keel::inline KEEL_ABI::protocol {

namespace {

using table_of = const detail::struct_table& (*)() noexcept;

/// Members of a struct, by their names in JSON.
struct members {
    table_of type;
    std::array<std::string_view, 6> names;
};

template <class T>
constexpr table_of of = &detail::struct_table_of<T>;

// ---- one table per revision: added members ----

constexpr members added_2025_03_26[] = {
    {of<tool>, {"annotations"}},
    {of<server_capabilities>, {"completions"}},
    {of<progress_params>, {"message"}},
};

constexpr members added_2025_06_18[] = {
    {of<implementation>, {"title"}},
    {of<tool>, {"title", "outputSchema", "_meta"}},
    {of<resource>, {"title", "_meta"}},
    {of<resource_template>, {"title", "_meta"}},
    {of<resource_contents>, {"_meta"}},
    {of<prompt>, {"title", "_meta"}},
    {of<prompt_argument>, {"title"}},
    {of<prompt_reference>, {"title"}},
    {of<root>, {"_meta"}},
    {of<annotations>, {"lastModified"}},
    {of<call_tool_result>, {"structuredContent"}},
    {of<complete_params>, {"context"}},
    {of<client_capabilities>, {"elicitation"}},
};

constexpr members added_2025_11_25[] = {
    {of<implementation>, {"description", "websiteUrl", "icons"}},
    {of<tool>, {"icons"}},
    {of<resource>, {"icons"}},
    {of<resource_template>, {"icons"}},
    {of<prompt>, {"icons"}},
    {of<sampling_message>, {"_meta"}},
    {of<sampling_request>, {"tools", "toolChoice"}},
    {of<sampling_capability>, {"context", "tools"}},
    {of<elicitation_capability>, {"form", "url"}},
    {of<elicit_form_params>, {"mode"}},
};

constexpr members added_2026_07_28[] = {
    {of<client_capabilities>, {"extensions"}},
    {of<server_capabilities>, {"extensions"}},
    {of<empty_result>, {"resultType"}},
    {of<discover_result>, {"resultType", "ttlMs", "cacheScope"}},
    {of<list_tools_result>, {"resultType", "ttlMs", "cacheScope"}},
    {of<list_prompts_result>, {"resultType", "ttlMs", "cacheScope"}},
    {of<list_resources_result>, {"resultType", "ttlMs", "cacheScope"}},
    {of<list_resource_templates_result>, {"resultType", "ttlMs", "cacheScope"}},
    {of<read_resource_result>, {"resultType", "ttlMs", "cacheScope"}},
    {of<get_prompt_result>, {"resultType"}},
    {of<call_tool_result>, {"resultType"}},
    {of<complete_result>, {"resultType"}},
    {of<call_tool_params>, {"inputResponses", "requestState"}},
    {of<get_prompt_params>, {"inputResponses", "requestState"}},
    {of<read_resource_params>, {"inputResponses", "requestState"}},
};

// ---- removed members ----

constexpr members removed_2026_07_28[] = {
    {of<roots_capability>, {"listChanged"}},
    {of<list_roots_result>, {"_meta"}},
    {of<sampling_request>, {"_meta"}},
    {of<elicit_form_params>, {"_meta"}},
    {of<elicit_url_params>, {"_meta", "elicitationId"}},
    {of<elicit_result>, {"_meta"}},
};

struct changes {
    revision in;
    std::span<const members> added;
    std::span<const members> removed = {};
};

constexpr changes history[] = {
    {revision::r2025_03_26, added_2025_03_26},
    {revision::r2025_06_18, added_2025_06_18},
    {revision::r2025_11_25, added_2025_11_25},
    {revision::r2026_07_28, added_2026_07_28, removed_2026_07_28},
};

struct content_kind {
    std::string_view type;
    revision since;
    bool in_sampling;
    bool outside_sampling;
};

constexpr content_kind content_kinds[] = {
    {"text", revision::r2024_11_05, true, true},           {"image", revision::r2024_11_05, true, true},
    {"resource", revision::r2024_11_05, false, true},      {"audio", revision::r2025_03_26, true, true},
    {"resource_link", revision::r2025_06_18, false, true}, {"tool_use", revision::r2025_11_25, true, false},
    {"tool_result", revision::r2025_11_25, true, false},
};

// ---- the filter ----

bool names(std::span<const members> list, const detail::struct_table& table, std::string_view wire) noexcept {
    for (const members& m : list) {
        if (&m.type() != &table) continue;
        for (std::string_view name : m.names) {
            if (name == wire) return true;
        }
    }
    return false;
}

bool has_member(revision r, const detail::struct_table& table, std::string_view wire) noexcept {
    for (const changes& c : history) {
        if (r < c.in ? names(c.added, table, wire) : names(c.removed, table, wire)) return false;
    }
    return true;
}

/// Before 2026-07-28 structured content must be an object, and output schemas must describe one.
bool has_value(revision r, const detail::struct_table& table, const detail::field& f, const void* member) noexcept {
    if (has_any_structured_content(r)) return true;
    if (&table == &of<call_tool_result>() && f.wire == "structuredContent") {
        return (*static_cast<const std::optional<json::value>*>(member))->is_object();
    }
    if (&table == &of<tool>() && f.wire == "outputSchema") {
        return (*static_cast<const json::value*>(member))["type"] == json::value("object");
    }
    return true;
}

revision revision_of(const void* context) noexcept { return *static_cast<const revision*>(context); }

bool keeps(const void* context, const detail::struct_table& table, const detail::field& f, const void* member) {
    const revision r = revision_of(context);
    return has_member(r, table, f.wire) && has_value(r, table, f, member);
}

json::value adapt(const void* context, const detail::type_table& type, json::value made) {
    if (&type != &detail::type_for<content>) return made;
    return content_for(revision_of(context), std::move(made));
}

constexpr revision all_revisions[] = {revision::r2024_11_05, revision::r2025_03_26, revision::r2025_06_18,
                                      revision::r2025_11_25, revision::r2026_07_28};

constexpr detail::encode_filter filters[] = {
    {&keeps, &adapt, &all_revisions[0]}, {&keeps, &adapt, &all_revisions[1]}, {&keeps, &adapt, &all_revisions[2]},
    {&keeps, &adapt, &all_revisions[3]}, {&keeps, &adapt, &all_revisions[4]},
};
static_assert(std::size(filters) == revision_count);

// ---- content ----

const content_kind* find_kind(std::string_view type) noexcept {
    for (const content_kind& k : content_kinds) {
        if (k.type == type) return &k;
    }
    return nullptr;
}

bool allows(const content_kind& k, revision r, content_place place) noexcept {
    return r >= k.since && (place == content_place::sampling ? k.in_sampling : k.outside_sampling);
}

std::string text_of(const json::value& v) { return std::string(v.if_string().value_or(std::string_view())); }

std::string decoded_size(std::string_view base64) {
    std::size_t padding = 0;
    while (padding < 2 && padding < base64.size() && base64[base64.size() - 1 - padding] == '=') ++padding;
    return std::to_string(base64.size() / 4 * 3 - (base64.size() >= 4 ? padding : 0));
}

std::string media_words(const std::string& kind, const json::value& mime_type, const json::value& data) {
    return kind + ", " + text_of(mime_type) + ", " + decoded_size(data.if_string().value_or("")) + " bytes";
}

std::string all_words(revision r, const json::value& blocks);

/// The text that replaces a block which the revision does not support.
std::string stand_in(revision r, const json::value& block, std::string_view type) {
    const std::string unsupported = ": not supported by protocol " + std::string(name_of(r)) + "]";
    if (type == "audio" || type == "image") {
        return "[" + media_words(std::string(type), block["mimeType"], block["data"]) + unsupported;
    }
    if (type == "resource_link") {
        std::string words = "[link to " + text_of(block["name"]) + ": " + text_of(block["uri"]) + "]";
        if (block["description"].is_string()) words += "\n" + text_of(block["description"]);
        return words;
    }
    if (type == "resource") {
        const json::value& resource = block["resource"];
        if (resource["text"].is_string()) return "[" + text_of(resource["uri"]) + "]\n" + text_of(resource["text"]);
        return "[" + text_of(resource["uri"]) + ", " + media_words("binary", resource["mimeType"], resource["blob"]) +
               unsupported;
    }
    if (type == "tool_use") {
        return "[use of tool " + text_of(block["name"]) + " with " + json::to_string(block["input"]) + unsupported;
    }
    if (type == "tool_result") {
        return "[result of tool use " + text_of(block["toolUseId"]) + "]\n" + all_words(r, block["content"]);
    }
    return "[" + std::string(type) + unsupported;
}

/// The text of all blocks; unsupported blocks are replaced.
std::string all_words(revision r, const json::value& blocks) {
    std::string all;
    for (const json::value& block : blocks.items()) {
        const std::string type = text_of(block["type"]);
        if (!all.empty()) all += '\n';
        all += type == "text" ? text_of(block["text"]) : stand_in(r, block, type);
    }
    return all;
}

json::value filtered_annotations(revision r, json::value notes) {
    if (!has_titles(r)) notes.erase("lastModified");
    return notes;
}

/// Removes members that the block type got in later revisions.
json::value filtered_block(revision r, json::value block, std::string_view type) {
    if (const json::value* notes = block.find("annotations")) {
        block.set("annotations", filtered_annotations(r, *notes));
    }
    if (!has_titles(r)) {
        block.erase("_meta");
        if (type == "resource") {
            json::value inner = block["resource"];
            inner.erase("_meta");
            block.set("resource", std::move(inner));
        }
    }
    if (!has_implementation_details(r)) block.erase("icons");
    if (type == "tool_result") {
        if (!has_any_structured_content(r) && !block["structuredContent"].is_object()) block.erase("structuredContent");
        json::value inner = json::array();
        for (const json::value& one : block["content"].items()) inner.push_back(content_for(r, one));
        block.set("content", std::move(inner));
    }
    return block;
}

// ---- sampling ----

bool has_several_blocks(revision r) noexcept { return r >= revision::r2025_11_25; }

/// `content` of a message: one block, an array of blocks if the revision supports it, otherwise one text of all blocks.
json::value message_content(revision r, std::span<const content> blocks) {
    json::value made = json::array();
    for (const content& block : blocks) made.push_back(content_for(r, keel_encode(block), content_place::sampling));
    if (made.size() == 1) return json::value(made.at(0));
    if (has_several_blocks(r)) return made;
    return json::object({{"type", "text"}, {"text", all_words(r, made)}});
}

}  // namespace

const detail::encode_filter& filter_for(revision r) noexcept { return filters[static_cast<std::size_t>(r)]; }

bool has_content_type(revision r, std::string_view type, content_place place) noexcept {
    const content_kind* kind = find_kind(type);
    return kind == nullptr || allows(*kind, r, place);
}

json::value content_for(revision r, json::value block, content_place place) {
    const std::string type = text_of(block["type"]);
    const content_kind* kind = find_kind(type);
    if (kind == nullptr) return block;
    if (allows(*kind, r, place)) return filtered_block(r, std::move(block), type);
    json::value made = json::object({{"type", "text"}, {"text", stand_in(r, block, type)}});
    if (const json::value* notes = block.find("annotations"))
        made.append("annotations", filtered_annotations(r, *notes));
    return made;
}

json::value encode_for(revision r, const sampling_message& from) {
    json::value made = detail::encode(detail::type_for<sampling_message>, &from, &filter_for(r));
    made.set("content", message_content(r, from.content));
    return made;
}

json::value encode_for(revision r, const sampling_request& from) {
    json::value made = detail::encode(detail::type_for<sampling_request>, &from, &filter_for(r));
    json::value messages = json::array();
    for (const sampling_message& m : from.messages) {
        if (has_several_blocks(r) || m.content.size() < 2) {
            messages.push_back(encode_for(r, m));
            continue;
        }
        for (const content& block : m.content) messages.push_back(encode_for(r, sampling_message(m.role, block)));
    }
    made.set("messages", std::move(messages));
    return made;
}

json::value encode_for(revision r, const sampling_result& from) {
    json::value made = detail::encode(detail::type_for<sampling_result>, &from, &filter_for(r));
    made.set("content", message_content(r, from.content));
    return made;
}

}  // namespace keel::protocol
