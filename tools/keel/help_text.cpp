#include "help_text.hpp"

#include "option_table.hpp"
#include "printable.hpp"

namespace keel::command {

namespace {

constexpr std::size_t left_width = 22;
constexpr std::size_t line_width = 112;

/// "  --url URL           a Streamable HTTP endpoint"
std::string row(const std::string& left, std::string_view about) {
    std::string text = "  " + left;
    if (text.size() + 2 > left_width) text += "\n";
    else text.resize(left_width, ' ');
    std::string lines = wrapped(about, left_width, line_width);
    return text + (text.ends_with('\n') ? lines : lines.substr(left_width)) + "\n";
}

std::string options_text(const command& c, option::group which) {
    std::string text;
    for (const option& each : all_options()) {
        if (each.where != which || !belongs_to(each, c.name) || each.name == "-h") continue;
        std::string name = each.name == "--help" ? "-h, --help" : std::string(each.name);
        text += row(name + (each.value.empty() ? "" : " " + std::string(each.value)), each.about);
    }
    return text;
}

}  // namespace

const char* const exit_status_help =
    "Exit status: 0 success; 1 the tool reported an error (isError); 2 invalid command line; 3 the server rejected "
    "the\n"
    "request or does not support it; 4 the server is unreachable, closed the connection or is not an MCP server;\n"
    "5 timeout; 74 standard output could not be written; 130 cancelled with Ctrl-C.\n";

std::vector<std::string> usages_of(const command& c) {
    std::string name(c.name);
    std::string named = name + (*c.named_usage ? " " : "") + c.named_usage;
    if (c.local) return {named + (c.name == "servers" ? " [--config FILE] [--json]" : "")};
    std::string plain = name + (*c.usage ? " " : "") + c.usage;
    return {named + " [options]", plain + " [options] -- COMMAND [ARGUMENT ...]",
            plain + " [options] --url URL | --unix PATH | --tcp HOST:PORT"};
}

std::string general_help() {
    std::string text =
        "keel, the Model Context Protocol for C++\n\nUsage: keel COMMAND [arguments] [options]\n\n"
        "Client commands (see keel COMMAND --help):\n";
    auto line = [](std::string_view name, const char* about) {
        std::string left(name);
        left.resize(11, ' ');
        return "  " + left + about + "\n";
    };
    for (const command& each : all_commands()) text += line(each.name, each.about);
    return text +
           "\n"
           "  keel call fs.read_text_file path=x                  a configured server (keel servers lists them)\n"
           "  keel tools -- ./my-server                           a program\n"
           "  keel tools http://127.0.0.1:8848/mcp                over HTTP; or --unix PATH, --tcp HOST:PORT\n"
           "\n"
           "Others:\n" +
           line("demo",
                "run a demo server with every feature: tools, resources, prompts, completion,\n"
                "             subscriptions, elicitation (see keel demo --help)") +
           line("version", "print the version") + line("help", "show this help");
}

std::string help_of(const command& c) {
    std::vector<std::string> usages = usages_of(c);
    std::string text = "keel " + std::string(c.name) + ": " + c.about + "\n\n";
    for (std::size_t i = 0; i < usages.size(); ++i)
        text += (i == 0 ? "Usage: keel " : "       keel ") + usages[i] + "\n";
    text += "\n";
    if (*c.help) text += c.help + std::string("\n");
    if (c.local) {
        for (const option& each : all_options()) {
            if (c.name != "servers" || (each.name != "--config" && each.name != "--json")) continue;
            text += row(std::string(each.name) + (each.value.empty() ? "" : " " + std::string(each.value)), each.about);
        }
        return text + row("-h, --help", "show this help");
    }
    text += "SERVER is the name of a configured server (keel servers lists them) or a URL. Instead, one of:\n";
    text += options_text(c, option::group::server) + "\n";
    text += options_text(c, option::group::settings) + "\n";
    text += options_text(c, option::group::other) + "\n";
    return text + exit_status_help;
}

}  // namespace keel::command
