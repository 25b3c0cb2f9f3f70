#pragma once

// The commands that connect to a server.

#include "command_session.hpp"
#include "server_choice.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

struct command {
    std::string_view name;
    const char* named_usage;  // the arguments if the first one is the server, printed after "keel NAME"
    const char* usage;        // the arguments if an option names the server
    const char* about;        // one line
    const char* help;         // printed by --help after the usage
    word_form first_word;
    void (*check)(const std::vector<std::string>& words);  // called before a server is started; throws usage_error
    int (*run)(command_session&);                          // returns the exit status; null: `local` is set
    int (*local)(const options&) = nullptr;                // a command without a server
};

std::span<const command> all_commands();
/// Null if there is no such command.
const command* find_command(std::string_view name);
/// Also of the commands that are not in the table: demo, version, help.
std::vector<std::string> names_of_commands();

int list_tools(command_session&);
int call_tool(command_session&);
int list_resources(command_session&);
int read_resource(command_session&);
int list_prompts(command_session&);
int get_prompt(command_session&);
int ping(command_session&);
int run_shell(command_session&);
int list_servers(const options&);
int print_completion(const options&);

/// Reads all pages of a list. Returns the first result, with the `member` arrays of the other pages appended.
json::value whole_list(command_session&, const std::string& method, std::string_view member);

}  // namespace keel::command
