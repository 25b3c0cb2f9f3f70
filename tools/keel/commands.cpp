#include "commands.hpp"

#include "arguments.hpp"
#include "exit_status.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace keel::command {

namespace {

// Standard input can be read only once, so "-" is checked later, when it is read.
void check_arguments(const std::vector<std::string>& words) {
    if (words.size() != 2 || words[1] != "-") given_arguments(std::span(words).subspan(1));
}

void none_or_one(const std::vector<std::string>& words) {
    if (words.size() > 1) throw usage_error("unexpected argument " + words[1] + ": expected at most one name");
}
void none(const std::vector<std::string>& words) {
    if (!words.empty()) throw usage_error("unexpected argument " + words[0] + ": this command takes none");
}
void a_tool(const std::vector<std::string>& words) {
    if (words.empty()) throw usage_error("missing tool name");
    check_arguments(words);
}
void a_prompt(const std::vector<std::string>& words) {
    if (words.empty()) throw usage_error("missing prompt name");
    check_arguments(words);
}
void a_uri(const std::vector<std::string>& words) {
    if (words.size() != 1)
        throw usage_error(words.empty() ? "missing URI" : "unexpected argument " + words[1] + ": expected one URI");
}

void a_shell(const std::vector<std::string>& words) {
    constexpr std::array<std::string_view, 3> known = {"bash", "zsh", "fish"};
    if (words.size() != 1 || std::find(known.begin(), known.end(), words[0]) == known.end())
        throw usage_error("expected the name of a shell: bash, zsh or fish");
}

using enum word_form;

constexpr std::array<command, 10> commands = {{
    {"tools", "SERVER[.TOOL]", "[TOOL]", "list the tools, or describe one of them",
     "With --json: the result of tools/list, or the tool.\n", server_and_name, &none_or_one, &list_tools},
    {"call", "SERVER.TOOL [key=value ... | JSON | -]", "TOOL [key=value ... | JSON | -]", "call a tool",
     "Arguments:\n"
     "  key=value           converted by the tool's schema: a string is sent as is, other types are JSON\n"
     "  key=a key=b         a list\n"
     "  key:=JSON           always JSON\n"
     "  key=@FILE           the content of FILE, converted in the same way (key=@@x sends the string @x)\n"
     "  JSON                all arguments as one JSON object\n"
     "  -                   one JSON object from standard input\n"
     "\n"
     "Arguments that the tool's schema does not define are refused, unless it allows additional properties.\n"
     "\n"
     "Ctrl-C cancels the call; a second Ctrl-C exits at once. Questions of the server (elicitation) are shown in the\n"
     "terminal. Without a terminal, or with --no-input, keel does not declare elicitation support.\n"
     "\n"
     "  keel call fs.read_text_file path=notes.txt\n"
     "  keel call add a=1 b=2 -- ./calculator\n"
     "  keel call http://127.0.0.1:8848/mcp echo '{\"text\": \"hello\"}' --json\n",
     server_and_name, &a_tool, &call_tool},
    {"resources", "SERVER", "", "list the resources", "", server, &none, &list_resources},
    {"read", "SERVER URI", "URI", "read a resource",
     "Writes the content to standard output; binary content is not written to a terminal. With --json: the result of\n"
     "resources/read.\n",
     server, &a_uri, &read_resource},
    {"prompts", "SERVER", "", "list the prompts", "", server, &none, &list_prompts},
    {"prompt", "SERVER.PROMPT [key=value ...]", "PROMPT [key=value ...]", "get a prompt and show its messages",
     "Prompt arguments are strings. key=@FILE sends the content of FILE.\n", server_and_name, &a_prompt, &get_prompt},
    {"ping", "SERVER", "", "check that the server responds, and show its name and version", "", server, &none, &ping},
    {"shell", "SERVER", "", "keep one connection and type commands",
     "Each line is a command of keel without the server: tools, call TOOL key=value, resources, read URI, prompts,\n"
     "prompt NAME, ping. help lists them; exit or Ctrl-D ends the shell, Ctrl-C cancels a call or clears the line.\n"
     "\n"
     "Tab completes commands, tools, arguments, prompts and resource URIs. Changes of the server's lists and its log\n"
     "messages appear as they arrive. Without a terminal the lines are read from standard input, and the exit status "
     "is\n"
     "that of the last command.\n",
     server, &none, &run_shell},
    {"servers", "", "", "list the configured servers",
     "The servers come from the configuration files of Claude Code, Claude Desktop, Cursor, VS Code and Windsurf: the\n"
     "files of the project (.mcp.json, .cursor/mcp.json, .vscode/mcp.json), then those in the home directory. No "
     "server\n"
     "is started.\n",
     server, &none, nullptr, &list_servers},
    {"completion", "bash | zsh | fish", "", "print the completion script of a shell",
     "  eval \"$(keel completion bash)\"           in ~/.bashrc; zsh: the same in ~/.zshrc\n"
     "  keel completion fish | source             in ~/.config/fish/config.fish\n"
     "\n"
     "Installed packages contain the scripts.\n",
     server, &a_shell, nullptr, &print_completion},
}};

}  // namespace

std::span<const command> all_commands() { return commands; }

const command* find_command(std::string_view name) {
    for (const command& each : commands) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

std::vector<std::string> names_of_commands() {
    std::vector<std::string> names;
    for (const command& each : commands) names.emplace_back(each.name);
    names.insert(names.end(), {"demo", "version", "help"});
    return names;
}

json::value whole_list(command_session& s, const std::string& method, std::string_view member) {
    constexpr int most_pages = 1000;  // the same limit as in keel::client
    json::value all;
    std::string cursor;
    for (int page = 0; page < most_pages; ++page) {
        json::value params = page == 0 ? json::value() : json::object({{"cursor", cursor}});
        json::value result = s.client().request(method, std::move(params), s.call());
        auto next = result["nextCursor"].if_string();
        std::string following(next.value_or(""));
        bool more = next.has_value();
        if (page == 0) {
            all = std::move(result);
        } else if (json::value* list = all.find(member)) {
            for (const json::value& each : result[member].items()) list->push_back(each);
        }
        if (!more) {
            if (page > 0) all.erase("nextCursor");
            return all;
        }
        cursor = std::move(following);
    }
    throw error(error_kind::bad_message, method + " returned more than " + std::to_string(most_pages) + " pages");
}

}  // namespace keel::command
