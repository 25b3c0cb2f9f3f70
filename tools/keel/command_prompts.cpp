// keel prompts, keel prompt

#include "arguments.hpp"
#include "commands.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "show.hpp"
#include "table.hpp"

#include <span>
#include <utility>

namespace keel::command {

int list_prompts(command_session& s) {
    if (s.how().json) {
        write_json(whole_list(s, "prompts/list", "prompts"));
        return exit_status::ok;
    }
    table t({"NAME", "ARGUMENTS", "DESCRIPTION"});
    for (const prompt& each : s.client().list_prompts(s.call())) {
        std::string arguments;
        for (const prompt_argument& a : each.arguments)
            arguments += (arguments.empty() ? "" : " ") + (a.required ? a.name : "[" + a.name + "]");
        t.add({each.name, arguments, each.description.empty() ? each.title : each.description});
    }
    if (t.empty()) s.screen().say("no prompts");
    write_out(t.text(out_columns()));
    return exit_status::ok;
}

int get_prompt(command_session& s) {
    const std::string& name = s.how().words[0];
    auto arguments = given_arguments(std::span(s.how().words).subspan(1)).as_texts();
    if (s.how().json) {
        json::value texts = json::object();
        for (const auto& [key, text] : arguments) texts.append(key, text);
        json::value params = json::object({{"name", name}});
        if (!arguments.empty()) params.set("arguments", std::move(texts));
        json::value result = s.client().request("prompts/get", std::move(params), s.call());
        s.screen().clear_status();
        write_json(result);
        return exit_status::ok;
    }
    prompt_result result = s.client().get_prompt(name, std::move(arguments), s.call());
    s.screen().clear_status();
    std::string text;
    if (!result.description.empty()) text += printable(result.description) + "\n\n";
    for (const prompt_message& each : result.messages)
        text += (each.role == role::user ? "user:\n" : "assistant:\n") + shown(each.content);
    write_out(text);
    return exit_status::ok;
}

}  // namespace keel::command
