// Calls that end with questions and are repeated with the answers (revision 2026-07-28). The keys of the questions are
// those that the suite answers. In older revisions the same handlers send requests.

#include "fixtures.hpp"

#include <keel/async.hpp>

#include <string>
#include <vector>

namespace keel::conformance {

struct person {
    std::string name;
};
KEEL_DESCRIBE(person, name)

struct confirmation {
    bool ok = false;
};
KEEL_DESCRIBE(confirmation, ok)

struct preference {
    std::string color;
};
KEEL_DESCRIBE(preference, color)

struct prompt_context {
    std::string context;
};
KEEL_DESCRIBE(prompt_context, context)

namespace {

constexpr const char* no_answer = "No answer";

std::string list_of(const std::vector<root>& roots) {
    std::string text;
    for (const root& r : roots) text += (text.empty() ? "" : ", ") + (r.name.empty() ? r.uri : r.name + " " + r.uri);
    return text;
}

task<std::string> ask_name(context& ctx) {
    elicited<person> user = co_await ctx.elicit<person>("user_name", "What is your name?");
    co_return user ? "Hello, " + user->name + "!" : no_answer;
}

task<std::string> ask_capital(context& ctx) {
    sampling_request request("What is the capital of France?", 100);
    sampling_result answer = co_await ctx.sample("capital_question", request);
    co_return answer.text();
}

task<std::string> ask_roots(context& ctx) {
    std::vector<root> roots = co_await ctx.list_roots("client_roots");
    co_return "Roots: " + list_of(roots);
}

// The value recorded before the question must return with the answer: if it is created again, the state was lost.
task<std::string> keep_state(context& ctx) {
    bool made_now = false;
    auto make = [&made_now] { return made_now = true; };
    co_await ctx.once("mark", make);
    elicited<confirmation> sure = co_await ctx.elicit<confirmation>("confirm", "Please confirm");
    // Before 2026-07-28 a handler does not run again: it waits here and keeps its own state.
    bool same_run = ctx.protocol_version() < "2026-07-28";
    std::string state = made_now == same_run ? "state-ok" : "state-lost";
    co_return state + (sure && sure->ok ? ", confirmed" : ", not confirmed");
}

task<void> into_name(context& ctx, elicited<person>& into) {
    into = co_await ctx.elicit<person>("user_name", "What is your name?");
}
task<void> into_greeting(context& ctx, std::string& into) {
    sampling_request request("Generate a greeting", 50);
    sampling_result answer = co_await ctx.sample("greeting", request);
    into = answer.text();
}
task<void> into_roots(context& ctx, std::vector<root>& into) { into = co_await ctx.list_roots("client_roots"); }

task<std::string> ask_three_things(context& ctx) {
    elicited<person> user;
    std::string greeting;
    std::vector<root> roots;
    co_await with_scope([&](scope& all) -> task<void> {
        all.spawn(into_name(ctx, user));
        all.spawn(into_greeting(ctx, greeting));
        all.spawn(into_roots(ctx, roots));
        co_return;
    });
    if (!user) co_return no_answer;
    co_return greeting + " " + user->name + ", you work in " + list_of(roots);
}

task<std::string> ask_twice(context& ctx) {
    elicited<person> user = co_await ctx.elicit<person>("step1", "Step 1: What is your name?");
    if (!user) co_return no_answer;
    elicited<preference> likes = co_await ctx.elicit<preference>("step2", "Step 2: What is your favorite color?");
    if (!likes) co_return no_answer;
    co_return user->name + " likes " + likes->color;
}

// Keel rejects a modified state before the handler runs.
task<std::string> confirm(context& ctx) {
    elicited<confirmation> sure = co_await ctx.elicit<confirmation>("confirm", "Please confirm");
    co_return sure && sure->ok ? "Confirmed" : "Not confirmed";
}

// Asks only questions that the client supports.
task<std::string> ask_what_can_be_asked(context& ctx) {
    elicited<person> user;
    std::string greeting;
    std::vector<root> roots;
    co_await with_scope([&](scope& all) -> task<void> {
        const json::value& can = ctx.client_capabilities();
        if (can.contains("elicitation")) all.spawn(into_name(ctx, user));
        if (can.contains("sampling")) all.spawn(into_greeting(ctx, greeting));
        if (can.contains("roots")) all.spawn(into_roots(ctx, roots));
        co_return;
    });
    co_return "Name: " + (user ? user->name : "unknown") + "; greeting: " + greeting + "; roots: " + list_of(roots);
}

task<prompt_result> prompt_with_question(context& ctx) {
    elicited<prompt_context> about =
        co_await ctx.elicit<prompt_context>("user_context", "What context should the prompt use?");
    co_return prompt_result("Use this context: " + (about ? about->context : "none"));
}

}  // namespace

void add_round_tools(server& s) {
    s.add_tool("test_input_required_result_elicitation", "Asks for a name", &ask_name);
    s.add_tool("test_input_required_result_sampling", "Asks the client's model", &ask_capital);
    s.add_tool("test_input_required_result_list_roots", "Asks for the client's roots", &ask_roots);
    s.add_tool("test_input_required_result_request_state", "Remembers something over a question", &keep_state);
    s.add_tool("test_input_required_result_multiple_inputs", "Asks three things at once", &ask_three_things);
    s.add_tool("test_input_required_result_multi_round", "Asks one thing after another", &ask_twice);
    s.add_tool("test_input_required_result_tampered_state", "Asks for a confirmation", &confirm);
    s.add_tool("test_input_required_result_capabilities", "Asks what the client can be asked", &ask_what_can_be_asked);
    s.add_prompt("test_input_required_result_prompt", "Asks for its context", &prompt_with_question);
}

}  // namespace keel::conformance
