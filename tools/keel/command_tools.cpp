// keel tools

#include "commands.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "schema_types.hpp"
#include "show.hpp"
#include "table.hpp"

#include <keel/types_json.hpp>

#include <algorithm>

namespace keel::command {

namespace {

std::string hints_of(const tool& t) {
    std::string all;
    auto add = [&](const std::optional<bool>& hint, const char* yes, const char* no) {
        if (hint) all += (all.empty() ? "" : ", ") + std::string(*hint ? yes : no);
    };
    if (!t.annotations) return all;
    add(t.annotations->read_only, "read-only", "not read-only");
    add(t.annotations->destructive, "destructive", "not destructive");
    add(t.annotations->idempotent, "idempotent", "not idempotent");
    add(t.annotations->open_world, "open-world", "closed-world");
    return all;
}

std::string everything_about(const tool& t, std::size_t columns) {
    std::string text = printable_line(t.name) + (t.title.empty() ? "" : ": " + printable_line(t.title)) + "\n";
    if (!t.description.empty()) text += "\n" + printable(t.description) + "\n";
    if (std::string hints = hints_of(t); !hints.empty()) text += "\nHints: " + hints + "\n";

    table arguments({"ARGUMENT", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"});
    auto needed = t.input_schema["required"].items();
    for (const json::member& each : t.input_schema["properties"].members()) {
        bool required = std::any_of(needed.begin(), needed.end(),
                                    [&](const json::value& name) { return name.if_string() == each.key(); });
        const json::value* preset = each.content.find("default");
        std::string types = types_of(each.content, t.input_schema).text();
        std::string about(each.content["description"].if_string().value_or(""));
        std::string choices;
        for (const json::value& choice : each.content["enum"].items())
            choices += (choices.empty() ? "one of " : ", ") + json::to_string(choice);
        if (!choices.empty()) about += (about.empty() ? "" : "; ") + choices;
        arguments.add({each.key(), types, required ? "yes" : "", preset ? json::to_string(*preset) : "", about});
    }
    if (!arguments.empty()) text += "\n" + arguments.text(columns);
    if (!t.output_schema.is_null()) text += "\nOutput schema: " + shown(t.output_schema);
    return text;
}

int one_tool(command_session& s, const std::string& name) {
    if (s.how().json) {
        json::value all = whole_list(s, "tools/list", "tools");
        for (const json::value& each : all["tools"].items()) {
            if (each["name"].if_string() != name) continue;
            write_json(each);
            return exit_status::ok;
        }
    } else {
        for (const tool& each : s.client().list_tools(s.call())) {
            if (each.name != name) continue;
            write_out(everything_about(each, out_columns()));
            return exit_status::ok;
        }
    }
    s.screen().say("keel: unknown tool: " + printable_line(name));
    return exit_status::rejected;
}

}  // namespace

int list_tools(command_session& s) {
    if (!s.how().words.empty()) return one_tool(s, s.how().words[0]);
    if (s.how().json) {
        write_json(whole_list(s, "tools/list", "tools"));
        return exit_status::ok;
    }
    table t({"NAME", "ARGUMENTS", "DESCRIPTION"});
    for (const tool& each : s.client().list_tools(s.call())) {
        std::string arguments = shown_arguments(each.input_schema);
        t.add({each.name, arguments, each.description.empty() ? each.title : each.description});
    }
    if (t.empty()) s.screen().say("no tools");
    write_out(t.text(out_columns()));
    return exit_status::ok;
}

}  // namespace keel::command
