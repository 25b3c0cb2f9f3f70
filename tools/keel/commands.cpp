#include "commands.hpp"

#include "arguments.hpp"
#include "exit_status.hpp"

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

constexpr std::array<command, 7> commands = {{
    {"tools", "[NAME]", "list the tools, or describe one of them",
     "With --json: the result of tools/list, or the tool.\n", &none_or_one, &list_tools},
    {"call", "TOOL [key=value ... | JSON | -]", "call a tool",
     "Arguments:\n"
     "  key=value           converted by the tool's schema: a string is sent as is, other types are JSON\n"
     "  key:=JSON           always JSON\n"
     "  key=@FILE           the content of FILE, converted in the same way (key=@@x sends the string @x)\n"
     "  JSON                all arguments as one JSON object\n"
     "  -                   one JSON object from standard input\n"
     "\n"
     "Ctrl-C cancels the call; a second Ctrl-C exits at once. Questions of the server (elicitation) are shown in the\n"
     "terminal. Without a terminal, or with --no-input, keel does not declare elicitation support.\n"
     "\n"
     "  keel call add a=1 b=2 -- ./calculator\n"
     "  keel call echo '{\"text\": \"hello\"}' --url http://127.0.0.1:8848/mcp --json\n",
     &a_tool, &call_tool},
    {"resources", "[--templates]", "list the resources", "  --templates         list the resource templates instead\n",
     &none, &list_resources},
    {"read", "URI", "read a resource",
     "Writes the content to standard output; binary content is not written to a terminal. With --json: the result of\n"
     "resources/read.\n",
     &a_uri, &read_resource},
    {"prompts", "", "list the prompts", "", &none, &list_prompts},
    {"prompt", "NAME [key=value ...]", "get a prompt and show its messages",
     "Prompt arguments are strings. key=@FILE sends the content of FILE.\n", &a_prompt, &get_prompt},
    {"ping", "", "check that the server responds, and show its name and version", "", &none, &ping},
}};

constexpr const char* common_help =
    "Server (exactly one):\n"
    "  --url URL           a Streamable HTTP endpoint\n"
    "  --unix PATH         a Unix domain socket\n"
    "  --tcp HOST:PORT     a TCP socket\n"
    "  -- COMMAND [ARGUMENT ...]\n"
    "                      a program to start; the protocol uses its standard input and output (stdio)\n"
    "\n"
    "  --header 'N: V'     with --url: add this header to every request; may be repeated\n"
    "  --ca-file FILE      with --url: trust these CA certificates (PEM) instead of the system's\n"
    "  --env NAME=VALUE    with a command: set an environment variable; may be repeated\n"
    "  --cwd DIR           with a command: working directory\n"
    "  --verbose           with a command: show its standard error\n"
    "  --protocol P        auto (default), legacy, modern, or a version such as 2025-11-25\n"
    "\n"
    "  --json              print the server's result as JSON\n"
    "  --timeout DURATION  timeout for connecting and for each request (30s, 500ms, 5m)\n"
    "  --connect-timeout DURATION\n"
    "                      timeout for connecting alone (default 30s)\n"
    "  --max-message SIZE  maximum size of a message from the server (500K, 64M, 1G)\n"
    "  --log-level LEVEL   request log messages of this level and above; they go to standard error\n"
    "  --no-input          do not answer questions of the server (elicitation)\n"
    "  -h, --help          show this help\n"
    "\n"
    "Exit status: 0 success; 1 the tool reported an error (isError); 2 invalid command line; 3 the server rejected "
    "the\n"
    "request or does not support it; 4 the server is unreachable, closed the connection or is not an MCP server;\n"
    "5 timeout; 74 standard output could not be written; 130 cancelled with Ctrl-C.\n";

}  // namespace

const command* find_command(std::string_view name) {
    for (const command& each : commands) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

std::string list_of_commands() {
    std::string text;
    for (const command& each : commands) {
        std::string name(each.name);
        name.resize(11, ' ');
        text += "  " + name + each.about + "\n";
    }
    return text;
}

std::string help_of(const command& c) {
    std::string usage = "keel " + std::string(c.name) + (*c.usage ? " " : "") + c.usage;
    std::string text = usage + ": " + c.about + "\n\nUsage: " + usage +
                       " [options] -- COMMAND [ARGUMENT ...]\n       " + usage +
                       " [options] --url URL | --unix PATH | --tcp HOST:PORT\n\n";
    if (*c.help) text += c.help + std::string("\n");
    return text + common_help;
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
