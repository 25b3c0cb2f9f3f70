// Every official example message can be decoded into our types and encoded again unchanged.

#include "official.hpp"

#include "protocol/messages.hpp"

#include <algorithm>
#include <functional>
#include <iostream>

using namespace keel;
using namespace keel::protocol;

namespace {

using round_trip = std::function<json::value(const json::value&)>;

/// Decodes and encodes. Throws if the value does not fit.
template <class T>
json::value again(const json::value& v) {
    return encode(decode<T>(v));
}

template <class T>
round_trip plain() {
    return &again<T>;
}

/// A whole message with one member of our type: the envelope belongs to the rpc layer.
round_trip within(std::string member, round_trip inner) {
    return [member = std::move(member), inner = std::move(inner)](const json::value& v) {
        json::value made = v;
        if (v.contains(member)) made.set(member, inner(v[member]));
        return made;
    };
}

template <class Params>
round_trip request(std::string_view method) {
    return [method](const json::value& v) {
        CHECK(v["method"] == json::value(method));
        return within("params", plain<Params>())(v);
    };
}

template <class Params>
round_trip notification(std::string_view method) {
    return request<Params>(method);
}

template <class Result>
round_trip response() {
    return within("result", plain<Result>());
}

/// An error response and its data.
template <class Data>
round_trip error_response(std::int64_t code) {
    return [code](const json::value& v) {
        CHECK(v["error"]["code"] == json::value(code));
        json::value made = within("error", plain<error_object>())(v);
        if (v["error"].contains("data")) CHECK(again<Data>(v["error"]["data"]) == v["error"]["data"]);
        return made;
    };
}

/// A content block, and its content as one of our types.
round_trip block(std::string type) {
    return [type = std::move(type)](const json::value& v) {
        CHECK(decode<content>(v).type() == type);
        return again<content>(v);
    };
}

json::value resource_link_again(const json::value& v) {
    return encode(content::link(decode<resource>(v)));  // constructed again from the resource it names
}

json::value embedded_again(const json::value& v) {
    content made = content::embed(decode<resource_contents>(v["resource"]));
    if (v.contains("annotations")) made.with(decode<annotations>(v["annotations"]));
    return encode(made);
}

json::value image_again(const json::value& v) {
    content made = content::image(v["data"].as_string(), v["mimeType"].as_string());
    if (v.contains("annotations")) made.with(decode<annotations>(v["annotations"]));
    return encode(made);
}

json::value requests_again(const json::value& v) {
    for (const auto& [key, asked] : decode<input_requests>(v)) {
        const auto inner = asked.method == "sampling/createMessage" ? plain<sampling_request>()
                           : asked.method == "elicitation/create"   ? plain<elicit_params>()
                                                                    : plain<empty_params>();
        CHECK(inner(asked.params) == asked.params);
    }
    return again<input_requests>(v);
}

json::value required_again(const json::value& v) {
    if (v.contains("inputRequests")) requests_again(v["inputRequests"]);
    return again<input_required_result>(v);
}

json::value responses_again(const json::value& v) {
    for (const auto& [key, answer] : decode<input_responses>(v)) {
        const auto inner = answer.contains("action")  ? plain<elicit_result>()
                           : answer.contains("roots") ? plain<list_roots_result>()
                                                      : plain<sampling_result>();
        CHECK(inner(answer) == answer);
    }
    return again<input_responses>(v);
}

json::value form_again(const json::value& v) {
    CHECK(again<form_schema>(v["requestedSchema"]) == v["requestedSchema"]);
    CHECK(decode<elicit_params>(v).index() == 0);
    return again<elicit_params>(v);
}

json::value url_again(const json::value& v) {
    CHECK(decode<elicit_params>(v).index() == 1);
    return again<elicit_params>(v);
}

/// From the directory of the example, which is the name in the official schema, to our type.
const std::map<std::string, round_trip>& our_types() {
    static const std::map<std::string, round_trip> table = {
        {"AudioContent", block("audio")},
        {"BlobResourceContents", plain<resource_contents>()},
        {"BooleanSchema", plain<form_field>()},
        {"CallToolRequest", request<call_tool_params>("tools/call")},
        {"CallToolRequestParams", plain<call_tool_params>()},
        {"CallToolResult", plain<call_tool_result>()},
        {"CallToolResultResponse", response<call_tool_result>()},
        {"CancelledNotification", notification<cancelled_params>("notifications/cancelled")},
        {"CancelledNotificationParams", plain<cancelled_params>()},
        {"ClientCapabilities", plain<client_capabilities>()},
        {"CompleteRequest", request<complete_params>("completion/complete")},
        {"CompleteRequestParams", plain<complete_params>()},
        {"CompleteResult", plain<complete_result>()},
        {"CompleteResultResponse", response<complete_result>()},
        {"CreateMessageRequest", request<sampling_request>("sampling/createMessage")},
        {"CreateMessageRequestParams", plain<sampling_request>()},
        {"CreateMessageResult", plain<sampling_result>()},
        {"DiscoverRequest", request<empty_params>("server/discover")},
        {"DiscoverResult", plain<discover_result>()},
        {"DiscoverResultResponse", response<discover_result>()},
        {"ElicitRequest", request<elicit_params>("elicitation/create")},
        {"ElicitRequestFormParams", form_again},
        {"ElicitRequestURLParams", url_again},
        {"ElicitResult", plain<elicit_result>()},
        {"EmbeddedResource", embedded_again},
        {"GetPromptRequest", request<get_prompt_params>("prompts/get")},
        {"GetPromptRequestParams", plain<get_prompt_params>()},
        {"GetPromptResult", plain<get_prompt_result>()},
        {"GetPromptResultResponse", response<get_prompt_result>()},
        {"HeaderMismatchError", error_response<json::value>(-32020)},
        {"ImageContent", image_again},
        {"InputRequests", requests_again},
        {"InputRequiredResult", required_again},
        {"InputResponses", responses_again},
        {"InternalError", plain<error_object>()},
        {"InvalidParamsError", plain<error_object>()},
        {"ListPromptsRequest", request<list_params>("prompts/list")},
        {"ListPromptsResult", plain<list_prompts_result>()},
        {"ListPromptsResultResponse", response<list_prompts_result>()},
        {"ListResourceTemplatesRequest", request<list_params>("resources/templates/list")},
        {"ListResourceTemplatesResult", plain<list_resource_templates_result>()},
        {"ListResourceTemplatesResultResponse", response<list_resource_templates_result>()},
        {"ListResourcesRequest", request<list_params>("resources/list")},
        {"ListResourcesResult", plain<list_resources_result>()},
        {"ListResourcesResultResponse", response<list_resources_result>()},
        {"ListRootsRequest", request<empty_params>("roots/list")},
        {"ListRootsResult", plain<list_roots_result>()},
        {"ListToolsRequest", request<list_params>("tools/list")},
        {"ListToolsResult", plain<list_tools_result>()},
        {"ListToolsResultResponse", response<list_tools_result>()},
        {"LoggingMessageNotification", notification<log_message_params>("notifications/message")},
        {"LoggingMessageNotificationParams", plain<log_message_params>()},
        {"MethodNotFoundError", plain<error_object>()},
        {"MissingRequiredClientCapabilityError", error_response<missing_capabilities>(-32021)},
        {"ModelPreferences", plain<model_preferences>()},
        {"NumberSchema", plain<form_field>()},
        {"PaginatedRequestParams", plain<list_params>()},
        {"ParseError", plain<error_object>()},
        {"ProgressNotification", notification<progress_params>("notifications/progress")},
        {"ProgressNotificationParams", plain<progress_params>()},
        {"PromptListChangedNotification", notification<empty_params>("notifications/prompts/list_changed")},
        {"ReadResourceRequest", request<read_resource_params>("resources/read")},
        {"ReadResourceResult", plain<read_resource_result>()},
        {"ReadResourceResultResponse", response<read_resource_result>()},
        {"Resource", plain<resource>()},
        {"ResourceLink", resource_link_again},
        {"ResourceListChangedNotification", notification<empty_params>("notifications/resources/list_changed")},
        {"ResourceUpdatedNotification", notification<uri_params>("notifications/resources/updated")},
        {"ResourceUpdatedNotificationParams", plain<uri_params>()},
        {"Root", plain<root>()},
        {"SamplingMessage", plain<sampling_message>()},
        {"ServerCapabilities", plain<server_capabilities>()},
        {"StringSchema", plain<form_field>()},
        {"SubscriptionsAcknowledgedNotification",
         notification<listen_params>("notifications/subscriptions/acknowledged")},
        {"SubscriptionsListenRequest", request<listen_params>("subscriptions/listen")},
        {"SubscriptionsListenResult", plain<empty_result>()},
        {"SubscriptionsListenResultResponse", response<empty_result>()},
        {"TextContent", block("text")},
        {"TextResourceContents", plain<resource_contents>()},
        {"TitledMultiSelectEnumSchema", plain<form_field>()},
        {"TitledSingleSelectEnumSchema", plain<form_field>()},
        {"Tool", plain<tool>()},
        {"ToolListChangedNotification", notification<empty_params>("notifications/tools/list_changed")},
        {"ToolResultContent", block("tool_result")},
        {"ToolUseContent", block("tool_use")},
        {"UnsupportedProtocolVersionError", error_response<unsupported_version>(-32022)},
        {"UntitledMultiSelectEnumSchema", plain<form_field>()},
        {"UntitledSingleSelectEnumSchema", plain<form_field>()},
    };
    return table;
}

/// The official example lacks members that its own schema requires; we add them.
constexpr const char* incomplete_example = "ReadResourceResultResponse/read-resource-result-response.json";

}  // namespace

TEST_CASE("SCH-08: every official example message is decoded and encoded again without loss") {
    if (test::test_data_missing(official::data)) return;
    const auto folder = official::schema_folder() / "2026-07-28" / "examples";
    std::size_t examples = 0;
    std::size_t seen_types = 0;
    for (const auto& type : std::filesystem::directory_iterator(folder)) {
        const std::string name = type.path().filename().string();
        CAPTURE(name);
        const auto ours = our_types().find(name);
        CHECK_MESSAGE(ours != our_types().end(), "no type of ours for the examples in " << name);
        if (ours == our_types().end()) continue;
        ++seen_types;
        for (const auto& file : std::filesystem::directory_iterator(type.path())) {
            const std::string which = file.path().filename().string();
            CAPTURE(which);
            const json::value before = official::read_json(file.path());
            json::value after;
            REQUIRE_NOTHROW(after = ours->second(before));
            CHECK(official::complaint("2026-07-28", name, after) == "");
            ++examples;
            if (name + "/" + which == incomplete_example) {
                CHECK(official::complaint("2026-07-28", "ReadResourceResult", before["result"]) != "");
                CHECK(official::complaint("2026-07-28", "ReadResourceResult", after["result"]) == "");
                continue;
            }
            CHECK_MESSAGE(after == before, json::to_string(after) << "\n  is not\n" << json::to_string(before));
        }
    }
    CHECK(seen_types == our_types().size());
    CHECK(examples >= 129);
    std::cout << "[protocol] " << examples << " official examples of " << seen_types << " types\n";
}

TEST_CASE("an elicitation without a mode is a form (ELI-03); an unknown mode is rejected") {
    const auto form = decode<elicit_params>(json::parse(R"({"message":"m","requestedSchema":{}})"));
    CHECK(form.index() == 0);
    elicit_params into;
    decode_error e;
    CHECK_FALSE(decode(json::parse(R"({"mode":"fax","message":"m","requestedSchema":{}})"), into, e));
    CHECK(e.message() == R"(mode: expected one of "form", found "fax")");
}

TEST_CASE("ELI-02: an elicitation capability without members means forms only") {
    CHECK(decode<elicitation_capability>(json::parse("{}")).takes_forms());
    CHECK_FALSE(decode<elicitation_capability>(json::parse("{}")).takes_urls());
    CHECK_FALSE(decode<elicitation_capability>(json::parse(R"({"url":{}})")).takes_forms());
    CHECK(decode<elicitation_capability>(json::parse(R"({"form":{},"url":{}})")).takes_urls());
}

TEST_CASE("unknown capabilities are kept and passed on") {
    const char* text = R"({"tools":{"listChanged":true,"sorted":true},"tasks":{"list":{}},"x":1})";
    CHECK(again<server_capabilities>(json::parse(text)) == json::parse(text));
    const char* client = R"({"sampling":{"tools":{},"images":{}},"roots":{},"tasks":{"cancel":{}}})";
    CHECK(again<client_capabilities>(json::parse(client)) == json::parse(client));
}

TEST_CASE("SCH-08: a tool keeps unknown schema keywords and members") {
    const char* text = R"({"name":"t","inputSchema":{"type":"object","$defs":{"a":{"$anchor":"b"}},"if":{},"then":{}},)"
                       R"("execution":{"taskSupport":"optional"}})";
    CHECK(again<tool>(json::parse(text)) == json::parse(text));
}

TEST_CASE("structured content may be null, which differs from missing") {
    const auto with = decode<call_tool_result>(json::parse(R"({"content":[],"structuredContent":null})"));
    CHECK(with.structured_content.has_value());
    CHECK(encode(with).contains("structuredContent"));
    CHECK_FALSE(decode<call_tool_result>(json::parse(R"({"content":[]})")).structured_content.has_value());
}

TEST_CASE("PAG-02: an empty cursor is a valid cursor") {
    CHECK(decode<list_params>(json::parse(R"({"cursor":""})")).cursor == "");
    CHECK(encode(decode<list_params>(json::parse(R"({"cursor":""})"))).contains("cursor"));
    CHECK(decode<list_params>(json::parse("{}")).cursor == std::nullopt);
}

TEST_CASE("content: the constructors create the blocks that the protocol defines") {
    const auto shown = [](const content& c) {
        std::string direct;
        CHECK(c.write(direct));
        CHECK(direct == json::to_string(encode(c)));
        return direct;
    };
    CHECK(shown("hi") == R"({"type":"text","text":"hi"})");
    CHECK(shown(content::image("QUJD", "image/png")) == R"({"type":"image","data":"QUJD","mimeType":"image/png"})");
    CHECK(shown(content::audio_bytes("ABC", "audio/wav")) ==
          R"({"type":"audio","data":"QUJD","mimeType":"audio/wav"})");
    CHECK(shown(content::embed(resource_contents::of_text("file:///a", "x"))) ==
          R"({"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"x"}})");
    CHECK(shown(content::embed(resource_contents::of_bytes("file:///a", "ABC"))) ==
          R"({"type":"resource","resource":{"uri":"file:///a","mimeType":"application/octet-stream","blob":"QUJD"}})");
    resource about;
    about.uri = "file:///a";
    about.name = "a";
    about.size = 3;
    CHECK(shown(content::link(about)) == R"({"type":"resource_link","uri":"file:///a","name":"a","size":3})");
    annotations notes;
    notes.audience = {role::user};
    notes.priority = 0.5;
    content noted("hi");
    noted.with(notes).with_meta(json::object({{"k", 1}}));
    CHECK(shown(noted) == R"({"type":"text","text":"hi","annotations":{"audience":["user"],"priority":0.5},)"
                          R"("_meta":{"k":1}})");
    CHECK(noted.is_text());
    CHECK_FALSE(noted.is_plain_text());
    CHECK(noted.text() == "hi");
    CHECK(content::block(json::parse(R"({"type":"text","text":"plain"})")).is_plain_text());
    CHECK(shown(content::tool_answer("1", {"ok"}, true)) ==
          R"({"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"ok"}],"isError":true})");
}

TEST_CASE("content: a block without a required member is rejected; one of unknown type is kept") {
    const auto why = [](const char* text) {
        content into;
        decode_error e;
        return decode(json::parse(text), into, e) ? "fits" : e.message();
    };
    CHECK(why(R"({"type":"text"})") == "text: required");
    CHECK(why(R"({"type":"image","data":"","mimeType":3})") == "mimeType: expected string, found integer");
    CHECK(why(R"({"text":"x"})") == "type: required");
    CHECK(why("[]") == "expected object, found array");
    CHECK(why(R"({"type":"hologram"})") == "fits");
    CHECK(again<content>(json::parse(R"({"type":"hologram","x":[1]})")) ==
          json::parse(R"({"type":"hologram","x":[1]})"));
    CHECK_THROWS_AS(content::block(json::parse("{}")), std::invalid_argument);
    prompt_message into;
    decode_error e;
    CHECK_FALSE(decode(json::parse(R"({"role":"user","content":{"type":"text"}})"), into, e));
    CHECK(e.message() == "content.text: required");
}

TEST_CASE("content with invalid UTF-8 is rejected, and nothing is written") {
    std::string out = "before";
    CHECK_FALSE(content("\xff").write(out));
    CHECK(out == "before");
}

TEST_CASE("sampling: the text of a result is the text of all its text blocks") {
    sampling_result r;
    r.content = {content("a"), content::image("", "image/png"), content("b")};
    CHECK(r.text() == "ab");
}
