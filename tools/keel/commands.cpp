#include "commands.hpp"

#include "arguments.hpp"
#include "exit_status.hpp"

#include <array>
#include <span>

namespace keel::command {

namespace {

// Standard input can be read but once: that form is looked at when it is needed.
void check_arguments(const std::vector<std::string>& words) {
    if (words.size() != 2 || words[1] != "-") given_arguments(std::span(words).subspan(1));
}

void none_or_one(const std::vector<std::string>& words) {
    if (words.size() > 1) throw usage_error("one name at most: " + words[1]);
}
void none(const std::vector<std::string>& words) {
    if (!words.empty()) throw usage_error("takes no argument: " + words[0]);
}
void a_tool(const std::vector<std::string>& words) {
    if (words.empty()) throw usage_error("which tool?");
    check_arguments(words);
}
void a_prompt(const std::vector<std::string>& words) {
    if (words.empty()) throw usage_error("which prompt?");
    check_arguments(words);
}
void a_uri(const std::vector<std::string>& words) {
    if (words.size() != 1) throw usage_error(words.empty() ? "which URI?" : "one URI at a time: " + words[1]);
}

constexpr std::array<command, 7> commands = {{
    {"tools", "[NAME]", "what tools there are, or everything about one of them",
     "With --json: the result of tools/list, or the tool.\n", &none_or_one, &list_tools},
    {"call", "TOOL [key=value ... | JSON | -]", "call a tool",
     "Arguments:\n"
     "  key=value           read by the tool's schema: a text stays text, anything else is JSON\n"
     "  key:=JSON           JSON in any case\n"
     "  key=@FILE           what is in the file, read in the same way (key=@@x is the text @x)\n"
     "  JSON                all of them, as one object\n"
     "  -                   the same from standard input\n"
     "\n"
     "Ctrl-C cancels the call, a second one ends at once. Questions of the server are asked in the terminal; without "
     "one, or with --no-input,\n"
     "the server is told that nobody can be asked.\n"
     "\n"
     "  keel call add a=1 b=2 -- ./calculator\n"
     "  keel call echo '{\"text\": \"hello\"}' --url http://127.0.0.1:8848/mcp --json\n",
     &a_tool, &call_tool},
    {"resources", "[--templates]", "what can be read",
     "  --templates         the families of resources instead: URIs with gaps\n", &none, &list_resources},
    {"read", "URI", "read a resource",
     "What is read goes to standard output; bytes only where that is no terminal. With --json: the result of\n"
     "resources/read.\n",
     &a_uri, &read_resource},
    {"prompts", "", "what prompts there are", "", &none, &list_prompts},
    {"prompt", "NAME [key=value ...]", "fill in a prompt and show its messages",
     "The values of a prompt are texts. key=@FILE is what is in the file.\n", &a_prompt, &get_prompt},
    {"ping", "", "ask for a sign of life, and who is there", "", &none, &ping},
}};

constexpr const char* common_help =
    "The server:\n"
    "  --url URL           over HTTP\n"
    "  --unix PATH         at a Unix socket\n"
    "  --tcp HOST:PORT     at a TCP socket\n"
    "  -- COMMAND [ARGUMENT ...]\n"
    "                      a program that is started, with the protocol on its standard input and output\n"
    "\n"
    "  --header 'N: V'     with --url: a header for every request; may be repeated\n"
    "  --ca-file FILE      with --url: trust these certificates (PEM) instead of the system's\n"
    "  --env NAME=VALUE    with a command: added to its environment; may be repeated\n"
    "  --cwd DIR           with a command: the directory to start it in\n"
    "  --verbose           with a command: show what it writes to standard error\n"
    "  --protocol P        auto (default), legacy, modern, or a version such as 2025-11-25\n"
    "\n"
    "  --json              the answer as JSON, as the server gave it\n"
    "  --timeout DURATION  for the connection, and for each request (30s, 500ms, 5m)\n"
    "  --connect-timeout DURATION\n"
    "                      for the connection alone (otherwise 30s)\n"
    "  --max-message SIZE  the largest message that is read from the server (500K, 64M, 1G)\n"
    "  --log-level LEVEL   ask the server for log messages from this level on; they go to standard error\n"
    "  --no-input          do not ask the user anything for the server\n"
    "  -h, --help          this text\n"
    "\n"
    "Exit status: 0 done; 1 the tool says that it failed; 2 wrong command line; 3 the server rejected the request\n"
    "or does not offer such a thing; 4 the server could not be reached, was lost or is no MCP server; 5 timed out;\n"
    "74 the output could not be written; 130 cancelled with Ctrl-C.\n";

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

json::value whole_list(session& s, const std::string& method, std::string_view member) {
    constexpr int most_pages = 1000;  // as keel::client has it
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
    throw error(error_kind::bad_message, method + ": more than " + std::to_string(most_pages) + " pages");
}

}  // namespace keel::command
