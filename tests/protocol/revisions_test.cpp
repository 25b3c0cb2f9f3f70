// Members that the revision in force lacks are not sent: every type, with every member set, for every revision, is
// checked against the official schema of that revision.

#include "official.hpp"

#include "protocol/messages.hpp"
#include "protocol/revisions.hpp"

#include <functional>
#include <iostream>

using namespace keel;
using namespace keel::protocol;

namespace {

constexpr revision all[] = {revision::r2024_11_05, revision::r2025_03_26, revision::r2025_06_18, revision::r2025_11_25,
                            revision::r2026_07_28};

// ---- members that a schema does not define ----

class stranger_finder {
public:
    explicit stranger_finder(const std::string& revision) : document_(official::schema_document(revision)) {}

    std::vector<std::string> find(const json::value& schema, const json::value& v, const std::string& path = "") const {
        if (const auto ref = schema["$ref"].if_string()) return find(at(*ref), v, path);
        if (schema.contains("anyOf")) return fewest(schema["anyOf"], v, path);
        std::vector<std::string> found;
        if (v.is_array()) {
            for (const json::value& item : v.items()) add(found, find(schema["items"], item, path + "[]"));
        }
        const json::value* properties = schema.find("properties");
        if (!v.is_object() || properties == nullptr) return found;
        const json::value* open = schema.find("additionalProperties");
        for (const json::member& m : v.members()) {
            const std::string key(m.key());
            if (key == "_meta") {
                if (!properties->contains(key)) found.push_back(path + "._meta");
            } else if (properties->contains(key)) {
                add(found, find((*properties)[key], m.content, path + "." + key));
            } else if (open == nullptr) {
                found.push_back(path + "." + key);
            }
        }
        return found;
    }

    const json::value& at(std::string_view pointer) const {
        const json::value* here = &document_;
        pointer.remove_prefix(std::min<std::size_t>(2, pointer.size()));  // "#/"
        while (!pointer.empty()) {
            const auto slash = pointer.find('/');
            here = &(*here)[pointer.substr(0, slash)];
            pointer.remove_prefix(slash == pointer.npos ? pointer.size() : slash + 1);
        }
        return *here;
    }

private:
    static void add(std::vector<std::string>& to, std::vector<std::string> more) {
        to.insert(to.end(), more.begin(), more.end());
    }

    /// Of alternatives with a constant type or mode, the matching one; otherwise the one with the most properties.
    std::vector<std::string> fewest(const json::value& alternatives, const json::value& v,
                                    const std::string& path) const {
        std::optional<std::vector<std::string>> best;
        for (const json::value& a : alternatives.items()) {
            const json::value& schema = a.contains("$ref") ? at(a["$ref"].as_string()) : a;
            if (schema["type"] == json::value("array") ? !v.is_array() : v.is_array()) continue;
            bool other = false;
            for (const char* tag : {"type", "mode"}) {
                const json::value& constant = schema["properties"][tag]["const"];
                if (!constant.is_null() && v.contains(tag) && constant != v[tag]) other = true;
            }
            if (other) continue;
            auto found = find(schema, v, path);
            if (!best || found.size() < best->size()) best = std::move(found);
        }
        return best.value_or(std::vector<std::string>{path + " matches no alternative"});
    }

    const json::value& document_;
};

// ---- values with all members set ----

const json::value meta = json::object({{"example.com/x", 1}});

annotations full_annotations() {
    annotations a;
    a.audience = {role::user, role::assistant};
    a.priority = 0.5;
    a.last_modified = "2025-01-12T15:00:58Z";
    return a;
}

std::vector<icon> icons() {
    icon i;
    i.source = "https://example.com/i.png";
    i.mime_type = "image/png";
    i.sizes = {"48x48"};
    i.theme = icon_theme::dark;
    return {i};
}

implementation full_implementation() {
    implementation i;
    i.name = "n";
    i.version = "1";
    i.title = "t";
    i.description = "d";
    i.website_url = "https://example.com";
    i.icons = icons();
    return i;
}

tool full_tool() {
    tool t;
    t.name = "n";
    t.title = "t";
    t.description = "d";
    t.input_schema = json::parse(R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})");
    t.output_schema = t.input_schema;
    t.annotations = tool_annotations{"t", true, false, true, false};
    t.icons = icons();
    t.meta = meta;
    return t;
}

resource full_resource() {
    resource r;
    r.uri = "file:///a";
    r.name = "n";
    r.title = "t";
    r.description = "d";
    r.mime_type = "text/plain";
    r.size = 3;
    r.annotations = full_annotations();
    r.icons = icons();
    r.meta = meta;
    return r;
}

resource_template full_template() {
    resource_template t;
    t.uri_template = "file:///{a}";
    t.name = "n";
    t.title = "t";
    t.description = "d";
    t.mime_type = "text/plain";
    t.annotations = full_annotations();
    t.icons = icons();
    t.meta = meta;
    return t;
}

prompt full_prompt() {
    prompt p;
    p.name = "n";
    p.title = "t";
    p.description = "d";
    p.arguments = {{"a", "t", "d", true}};
    p.icons = icons();
    p.meta = meta;
    return p;
}

resource_contents full_contents() {
    resource_contents c = resource_contents::of_text("file:///a", "text");
    c.meta = meta;
    return c;
}

std::vector<content> full_blocks() {
    std::vector<content> blocks = {content("text"), content::image("QUJD", "image/png"),
                                   content::audio("QUJD", "audio/wav"), content::link(full_resource()),
                                   content::embed(full_contents())};
    for (content& c : blocks) c.with(full_annotations()).with_meta(meta);
    return blocks;
}

std::vector<content> sampling_blocks() {
    std::vector<content> blocks = full_blocks();
    blocks.push_back(content::tool_use("1", "t", json::object()));
    blocks.push_back(content::tool_answer("1", full_blocks()));
    return blocks;
}

sampling_request full_sampling() {
    sampling_request s;
    s.messages = {sampling_message("hi"), sampling_message(role::assistant, sampling_blocks())};
    for (sampling_message& m : s.messages) m.meta = meta;
    s.model_preferences.emplace();
    s.model_preferences->hints = {{"claude"}};
    s.model_preferences->cost_priority = 0.5;
    s.system_prompt = "p";
    s.include_context = include_context::this_server;
    s.temperature = 0.5;
    s.stop_sequences = {"x"};
    s.metadata = json::object({{"a", 1}});
    s.tools = {full_tool()};
    s.tool_choice = tool_choice::required;
    s.meta = meta;
    return s;
}

client_capabilities full_client_capabilities() {
    client_capabilities c;
    c.roots.emplace().list_changed = true;
    c.sampling.emplace().context = json::object();
    c.sampling->tools = json::object();
    c.elicitation.emplace().form = json::object();
    c.elicitation->url = json::object();
    c.experimental = json::object({{"x", json::object()}});
    return c;
}

server_capabilities full_server_capabilities() {
    server_capabilities s;
    s.tools.emplace().list_changed = true;
    s.prompts.emplace().list_changed = true;
    s.resources.emplace().list_changed = true;
    s.resources->subscribe = true;
    s.completions = json::object();
    s.logging = json::object();
    s.experimental = json::object({{"x", json::object()}});
    return s;
}

template <class Result>
Result with_meta(Result r) {
    r.meta = meta;
    return r;
}

/// `_meta` as required in requests of 2026-07-28.
json::value request_meta(revision r) {
    json::value made = json::object({{"progressToken", 1}});
    if (is_modern(r)) {
        made.set(meta_key::protocol_version, name_of(r));
        made.set(meta_key::client_capabilities, json::object());
    }
    return made;
}

struct sample {
    std::vector<std::string> names;  // names in the schema; the first one that the revision has is used
    std::function<json::value(revision)> encoded;
};

template <class T>
std::function<json::value(revision)> of(T full) {
    return [full = std::move(full)](revision r) { return encode_for(r, full); };
}

template <class T>
std::function<json::value(revision)> of_request(T full) {
    return [full = std::move(full)](revision r) mutable {
        full.meta = request_meta(r);
        return encode_for(r, full);
    };
}

std::vector<sample> samples() {
    call_tool_result called;
    called.content = full_blocks();
    called.structured_content = json::object({{"a", 1}});
    called.is_error = false;
    called.meta = meta;
    get_prompt_result got;
    got.description = "d";
    for (const content& c : full_blocks()) got.messages.emplace_back(role::user, c);
    got.meta = meta;
    read_resource_result read;
    read.contents = {full_contents()};
    read.meta = meta;
    list_tools_result tools;
    tools.tools = {full_tool()};
    tools.next_cursor = "c";
    list_prompts_result prompts;
    prompts.prompts = {full_prompt()};
    list_resources_result resources;
    resources.resources = {full_resource()};
    list_resource_templates_result templates;
    templates.resource_templates = {full_template()};
    initialize_params hello{"2025-06-18", full_client_capabilities(), full_implementation(), {}};
    initialize_result welcome{"2025-06-18", full_server_capabilities(), full_implementation(), "i", meta};
    discover_result discovered;
    discovered.supported_versions = {"2026-07-28"};
    discovered.capabilities = full_server_capabilities();
    discovered.instructions = "i";
    call_tool_params call;
    call.name = "n";
    call.arguments = json::object({{"a", 1}});
    call.input_responses = input_responses{{"k", json::object({{"action", "cancel"}})}};
    call.request_state = "s";
    get_prompt_params get;
    get.name = "n";
    get.arguments = {{"a", "b"}};
    get.request_state = "s";
    read_resource_params read_it;
    read_it.uri = "file:///a";
    read_it.request_state = "s";
    complete_params complete;
    complete.ref = prompt_reference{"n", "t"};
    complete.argument = {"a", "v"};
    complete.context = completion_context{{{"b", "c"}}};
    complete_result completed;
    completed.completion.values = {"a"};
    completed.completion.total = 1;
    completed.completion.has_more = false;
    progress_params progress{1, 0.5, 1.0, "half", {}};
    root place{"file:///a", "n", meta};
    list_roots_result roots;
    roots.roots = {place};
    roots.meta = meta;
    sampling_result sampled(content("hi"), "m", "endTurn");
    sampled.meta = meta;
    sampling_result sampled_much = sampled;
    sampled_much.content = sampling_blocks();
    elicit_form_params form;
    form.mode = form_mode::form;
    form.message = "m";
    form.requested_schema = json::parse(R"({"type":"object","properties":{"a":{"type":"string","title":"A"}}})");
    form.meta = meta;
    elicit_url_params url;
    url.message = "m";
    url.url = "https://example.com";
    url.elicitation_id = "e";
    url.meta = meta;
    elicit_result elicited{elicit_action::accept, json::object({{"a", "b"}}), meta};
    input_required_result asked;
    asked.input_requests = {{"k", {"roots/list", {}}}};
    asked.request_state = "s";

    return {
        {{"Implementation"}, of(full_implementation())},
        {{"Tool"}, of(full_tool())},
        {{"Resource"}, of(full_resource())},
        {{"ResourceTemplate"}, of(full_template())},
        {{"Prompt"}, of(full_prompt())},
        {{"TextResourceContents"}, of(full_contents())},
        {{"Root"}, of(place)},
        {{"ModelPreferences"}, of(*full_sampling().model_preferences)},
        {{"ClientCapabilities"}, of(full_client_capabilities())},
        {{"ServerCapabilities"}, of(full_server_capabilities())},
        {{"InitializeRequestParams", "InitializeRequest/properties/params"}, of(hello)},
        {{"InitializeResult"}, of(welcome)},
        {{"DiscoverResult"}, of(discovered)},
        {{"ListToolsResult"}, of(tools)},
        {{"ListPromptsResult"}, of(prompts)},
        {{"ListResourcesResult"}, of(resources)},
        {{"ListResourceTemplatesResult"}, of(templates)},
        {{"CallToolRequestParams", "CallToolRequest/properties/params"}, of_request(call)},
        {{"CallToolResult"}, of(called)},
        {{"GetPromptRequestParams", "GetPromptRequest/properties/params"}, of_request(get)},
        {{"GetPromptResult"}, of(got)},
        {{"ReadResourceRequestParams", "ReadResourceRequest/properties/params"}, of_request(read_it)},
        {{"ReadResourceResult"}, of(read)},
        {{"CompleteRequestParams", "CompleteRequest/properties/params"}, of_request(complete)},
        {{"CompleteResult"}, of(completed)},
        {{"ProgressNotificationParams", "ProgressNotification/properties/params"}, of(progress)},
        {{"ListRootsResult"}, of(roots)},
        {{"CreateMessageRequestParams", "CreateMessageRequest/properties/params"}, of(full_sampling())},
        {{"CreateMessageResult"}, of(sampled)},
        {{"CreateMessageResult"}, of(sampled_much)},
        {{"ElicitRequestFormParams", "ElicitRequest/properties/params"}, of(elicit_params(form))},
        {{"ElicitRequestURLParams"}, of(elicit_params(url))},
        {{"ElicitResult"}, of(elicited)},
        {{"InputRequiredResult"}, of(asked)},
        {{"Result"}, of(with_meta(empty_result{}))},
    };
}

std::string text(const json::value& v) { return json::to_string(v); }

}  // namespace

TEST_CASE("LIFE-04: with every member set, only the members that the revision's schema defines are sent") {
    if (test::test_data_missing(official::data)) return;
    std::size_t checked = 0;
    for (revision r : all) {
        const std::string in(name_of(r));
        CAPTURE(in);
        const stranger_finder finder(in);
        const std::string prefix = "#/" + official::definitions_key(in) + "/";
        for (const sample& s : samples()) {
            for (const std::string& name : s.names) {
                const json::value& schema = finder.at(prefix + name);
                if (!schema.is_object()) continue;
                CAPTURE(name);
                const json::value made = s.encoded(r);
                CAPTURE(text(made));
                CHECK(official::complaint(in, name, made) == "");
                std::string strangers;
                const bool is_params = name.ends_with("/params");
                for (const std::string& path : finder.find(schema, made)) {
                    // The older schemas allow `_meta` in the parameters of every request, in their common base type.
                    if (!is_params || path != "._meta") strangers += path + " ";
                }
                CHECK(strangers == "");
                ++checked;
                break;
            }
        }
    }
    CHECK(checked > 130);
    std::cout << "[protocol] " << checked << " encoded forms checked against the official schemas\n";
}

TEST_CASE("without the filter, the same values violate the older schemas") {
    if (test::test_data_missing(official::data)) return;
    call_tool_result called;
    called.content = {content::audio("QUJD", "audio/wav")};
    CHECK(official::complaint("2024-11-05", "CallToolResult", encode(called)) != "");
    CHECK(official::complaint("2024-11-05", "CallToolResult", encode_for(revision::r2024_11_05, called)) == "");
    CHECK(official::complaint("2025-06-18", "CreateMessageRequest/properties/params", encode(full_sampling())) != "");
}

TEST_CASE("a member is sent from the revision on that added it") {
    const auto tool_for = [](revision r) { return encode_for(r, full_tool()); };
    CHECK_FALSE(tool_for(revision::r2024_11_05).contains("annotations"));
    CHECK(tool_for(revision::r2025_03_26).contains("annotations"));
    CHECK_FALSE(tool_for(revision::r2025_03_26).contains("title"));
    CHECK_FALSE(tool_for(revision::r2025_03_26).contains("outputSchema"));
    CHECK(tool_for(revision::r2025_06_18).contains("title"));
    CHECK(tool_for(revision::r2025_06_18).contains("outputSchema"));
    CHECK(tool_for(revision::r2025_06_18).contains("_meta"));
    CHECK_FALSE(tool_for(revision::r2025_06_18).contains("icons"));
    CHECK(tool_for(revision::r2025_11_25).contains("icons"));
    const tool complete = full_tool();
    CHECK(tool_for(revision::r2026_07_28) == encode(complete));
    CHECK(encode_for(revision::r2025_06_18, full_implementation()) ==
          json::parse(R"({"name":"n","version":"1","title":"t"})"));
    const implementation about = full_implementation();
    CHECK(encode_for(revision::r2025_11_25, about) == encode(about));
    CHECK_FALSE(encode_for(revision::r2025_03_26, full_resource())["annotations"].contains("lastModified"));
    CHECK(encode_for(revision::r2025_06_18, full_resource())["annotations"].contains("lastModified"));
}

TEST_CASE("COMP-01: 2024-11-05 has no completions capability, and no message in progress notifications") {
    CHECK_FALSE(encode_for(revision::r2024_11_05, full_server_capabilities()).contains("completions"));
    CHECK(encode_for(revision::r2025_03_26, full_server_capabilities()).contains("completions"));
    const progress_params half{1, 0.5, {}, "half", {}};
    CHECK_FALSE(encode_for(revision::r2024_11_05, half).contains("message"));
    CHECK(encode_for(revision::r2025_03_26, half).contains("message"));
}

TEST_CASE("TOOL-03/TOOL-04: structured content and output schemas that are not objects are sent only in 2026-07-28") {
    call_tool_result called;
    called.structured_content = json::array({1});
    CHECK_FALSE(encode_for(revision::r2025_11_25, called).contains("structuredContent"));
    CHECK(encode_for(revision::r2026_07_28, called)["structuredContent"] == json::array({1}));
    called.structured_content = json::value();
    CHECK(encode_for(revision::r2026_07_28, called).contains("structuredContent"));
    called.structured_content = json::object();
    CHECK(encode_for(revision::r2025_06_18, called).contains("structuredContent"));
    CHECK_FALSE(encode_for(revision::r2025_03_26, called).contains("structuredContent"));
    tool lists = full_tool();
    lists.output_schema = json::parse(R"({"type":"array"})");
    CHECK_FALSE(encode_for(revision::r2025_11_25, lists).contains("outputSchema"));
    CHECK(encode_for(revision::r2026_07_28, lists).contains("outputSchema"));
}

TEST_CASE("results of 2026-07-28 have a type and cache hints; older ones do not") {
    CHECK(text(encode_for(revision::r2026_07_28, list_tools_result{})) ==
          R"({"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"})");
    CHECK(text(encode_for(revision::r2025_11_25, list_tools_result{})) == R"({"tools":[]})");
    CHECK(text(encode_for(revision::r2025_11_25, empty_result{})) == "{}");
}

TEST_CASE("members that 2026-07-28 removed are not sent in it") {
    CHECK(encode_for(revision::r2026_07_28, full_client_capabilities())["roots"] == json::object());
    CHECK(encode_for(revision::r2025_11_25, full_client_capabilities())["roots"]["listChanged"] == json::value(true));
    elicit_url_params url;
    url.elicitation_id = "e";
    CHECK(encode_for(revision::r2025_11_25, url).contains("elicitationId"));
    CHECK_FALSE(encode_for(revision::r2026_07_28, url).contains("elicitationId"));
}

TEST_CASE("extensions are sent only since 2026-07-28") {
    server_capabilities s;
    s.extensions = {{"example.com/x", json::object()}};
    CHECK_FALSE(encode_for(revision::r2025_06_18, s).contains("extensions"));
    CHECK_FALSE(encode_for(revision::r2025_11_25, s).contains("extensions"));
    CHECK(encode_for(revision::r2026_07_28, s).contains("extensions"));
}

TEST_CASE("a content block that a revision lacks becomes a text that describes it") {
    const auto shown = [](revision r, const content& c) { return text(content_for(r, encode(c))); };
    CHECK(shown(revision::r2024_11_05, content::audio_bytes("12345", "audio/wav")) ==
          R"({"type":"text","text":"[audio, audio/wav, 5 bytes: not supported by protocol 2024-11-05]"})");
    CHECK(shown(revision::r2025_03_26, content::audio("QUJD", "audio/wav")) ==
          R"({"type":"audio","data":"QUJD","mimeType":"audio/wav"})");
    resource r;
    r.uri = "file:///project/main.rs";
    r.name = "main.rs";
    CHECK(shown(revision::r2025_03_26, content::link(r)) ==
          R"({"type":"text","text":"[link to main.rs: file:///project/main.rs]"})");
    CHECK(shown(revision::r2025_06_18, content::link(r)) ==
          R"({"type":"resource_link","uri":"file:///project/main.rs","name":"main.rs"})");
    SUBCASE("its annotations are kept") {
        content c = content::audio("QUJD", "audio/wav");
        c.with(full_annotations());
        const json::value made = content_for(revision::r2024_11_05, encode(c));
        CHECK(made["annotations"] == json::parse(R"({"audience":["user","assistant"],"priority":0.5})"));
    }
    SUBCASE("a block of unknown type is kept") {
        const json::value strange = json::parse(R"({"type":"hologram","_meta":{}})");
        CHECK(content_for(revision::r2024_11_05, strange) == strange);
    }
    SUBCASE("invalid Base64 data is accepted") {
        CHECK(shown(revision::r2024_11_05, content::audio("=", "x")) ==
              R"({"type":"text","text":"[audio, x, 0 bytes: not supported by protocol 2024-11-05]"})");
    }
}

TEST_CASE("content in results and prompts is converted wherever it is nested") {
    call_tool_result called;
    called.content = {content("a"), content::audio("QUJD", "audio/wav")};
    CHECK(encode_for(revision::r2024_11_05, called)["content"].at(1)["type"] == json::value("text"));
    get_prompt_result got;
    got.messages = {prompt_message(content::audio("QUJD", "audio/wav"))};
    CHECK(encode_for(revision::r2024_11_05, got)["messages"].at(0)["content"]["type"] == json::value("text"));
}

TEST_CASE("SAM-02: before 2025-11-25 sampling has no tools, and one block per message") {
    sampling_request s("hi");
    s.messages.emplace_back(role::assistant, std::vector<content>{"a", content::tool_use("1", "t", json::object())});
    s.tools = {full_tool()};
    s.tool_choice = tool_choice::automatic;
    const json::value old = encode_for(revision::r2025_06_18, s);
    CHECK_FALSE(old.contains("tools"));
    CHECK_FALSE(old.contains("toolChoice"));
    REQUIRE(old["messages"].size() == 3);
    CHECK(old["messages"].at(1)["role"] == json::value("assistant"));
    CHECK(old["messages"].at(2)["content"]["text"] ==
          json::value("[use of tool t with {}: not supported by protocol 2025-06-18]"));
    const json::value now = encode_for(revision::r2025_11_25, s);
    CHECK(now["messages"].size() == 2);
    CHECK(now["messages"].at(1)["content"].size() == 2);
    CHECK(now["toolChoice"] == json::parse(R"({"mode":"auto"})"));
    SUBCASE("a result of several blocks becomes one text") {
        sampling_result r("a", "m");
        r.content.push_back(content::image("QUJD", "image/png"));
        CHECK(encode_for(revision::r2025_06_18, r)["content"]["text"] ==
              json::value("a\n[image, image/png, 3 bytes: not supported by protocol 2025-06-18]"));
        CHECK(encode_for(revision::r2025_11_25, r)["content"].is_array());
    }
    SUBCASE("resources are not supported in sampling in any revision") {
        const sampling_message m(content::embed(resource_contents::of_text("file:///a", "text")));
        CHECK(encode_for(revision::r2026_07_28, m)["content"]["text"] == json::value("[file:///a]\ntext"));
    }
}
