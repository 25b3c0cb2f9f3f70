// Tools that use sampling and elicitation.

#include "fixtures.hpp"

#include <array>
#include <string>
#include <string_view>

namespace keel::conformance {

struct sampling_args {
    std::string prompt;
};
KEEL_DESCRIBE(sampling_args, (prompt, "What to ask the model"))

struct elicitation_args {
    std::string message;
};
KEEL_DESCRIBE(elicitation_args, (message, "What to ask the user"))

struct account {
    std::string username;
    std::string email;
};
KEEL_DESCRIBE(account, (username, "User's response"), (email, "User's email address"))

namespace {

constexpr const char* form_with_defaults = R"({
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"],
                   "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": true}
    }
})";

constexpr const char* form_with_choices = R"({
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [
            {"const": "value1", "title": "First Option"},
            {"const": "value2", "title": "Second Option"},
            {"const": "value3", "title": "Third Option"}]},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                       "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [
            {"const": "value1", "title": "First Choice"},
            {"const": "value2", "title": "Second Choice"},
            {"const": "value3", "title": "Third Choice"}]}}
    }
})";

/// "action=accept, content={…}"
std::string outcome(elicit_action action, const json::value& filled_in) {
    constexpr std::array<std::string_view, 3> names = {"accept", "decline", "cancel"};
    std::string text = "action=" + std::string(names.at(static_cast<std::size_t>(action)));
    if (action == elicit_action::accept) text += ", content=" + json::to_string(filled_in);
    return text;
}

task<std::string> ask_model(context& ctx, sampling_args in) {
    sampling_request request(in.prompt, 100);
    sampling_result answer = co_await ctx.sample("sampling", request);
    co_return "LLM response: " + answer.text();
}

task<std::string> ask_user(context& ctx, elicitation_args in) {
    elicited<account> answer = co_await ctx.elicit<account>("account", in.message);
    co_return "User response: " + outcome(answer.action, encode(answer.value));
}

task<std::string> show_form(context& ctx, std::string message, const char* schema) {
    json::value form = json::parse(schema);
    elicited<json::value> answer = co_await ctx.elicit("form", message, form);
    co_return "Elicitation completed: " + outcome(answer.action, answer.value);
}

task<std::string> ask_with_defaults(context& ctx) {
    return show_form(ctx, "Please review and update the form fields with defaults", form_with_defaults);
}

task<std::string> ask_with_choices(context& ctx) {
    return show_form(ctx, "Please choose in each of these ways", form_with_choices);
}

// Clients without sampling get an error that names the required capability.
task<std::string> need_sampling(context& ctx) {
    sampling_request request("Say anything", 10);
    sampling_result answer = co_await ctx.sample("anything", request);
    co_return answer.text();
}

// In revision 2026-07-28 no request is sent on the stream: the call ends with an input_required result.
task<std::string> ask_on_stream(context& ctx) {
    ctx.progress(1, 2, "about to ask");
    elicited<account> answer = co_await ctx.elicit<account>("account", "Who are you?");
    co_return "User response: " + outcome(answer.action, encode(answer.value));
}

}  // namespace

void add_question_tools(server& s) {
    s.add_tool("test_sampling", "Lets the client's model answer", &ask_model);
    s.add_tool("test_elicitation", "Asks the user who they are", &ask_user);
    s.add_tool("test_elicitation_sep1034_defaults", "Shows a form in which every field has a default",
               &ask_with_defaults);
    s.add_tool("test_elicitation_sep1330_enums", "Shows a form with every kind of choice", &ask_with_choices);
    s.add_tool("test_missing_capability", "Needs a client that declares sampling", &need_sampling);
    s.add_tool("test_streaming_elicitation", "Reports progress, then asks the user", &ask_on_stream);
}

}  // namespace keel::conformance
