// keel tools

#include "commands.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "schema_properties.hpp"
#include "schema_text.hpp"
#include "show.hpp"
#include "suggest.hpp"
#include "table.hpp"

#include <keel/types_json.hpp>

#include <string>
#include <vector>

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

    std::string arguments = schema_text(t.input_schema, columns);
    text += arguments.empty() ? "\nNo arguments.\n" : "\nArguments:\n" + arguments;
    if (allows_more_properties(t.input_schema)) text += "  Other arguments are allowed.\n";
    if (t.output_schema.is_null()) return text;
    std::string result = schema_text(t.output_schema, columns);
    if (result.empty()) result = "  " + printable_line(schema_phrase(t.output_schema, t.output_schema)) + "\n";
    return text + "\nResult:\n" + result;
}

int one_tool(command_session& s, const std::string& name) {
    std::vector<std::string> known;
    if (s.how().json) {
        json::value all = whole_list(s, "tools/list", "tools");
        for (const json::value& each : all["tools"].items()) {
            known.emplace_back(each["name"].if_string().value_or(""));
            if (known.back() != name) continue;
            write_json(each);
            return exit_status::ok;
        }
    } else {
        for (const tool& each : s.client().list_tools(s.call())) {
            known.push_back(each.name);
            if (each.name != name) continue;
            write_out(everything_about(each, out_columns()));
            return exit_status::ok;
        }
    }
    s.screen().say("keel: unknown tool: " + printable_line(name + did_you_mean(name, known)));
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
