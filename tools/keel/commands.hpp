#pragma once

// The commands that connect to a server.

#include "command_session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

struct command {
    std::string_view name;
    const char* usage;                                     // the arguments, printed after "keel NAME"
    const char* about;                                     // one line
    const char* help;                                      // printed by --help after the usage
    void (*check)(const std::vector<std::string>& words);  // called before a server is started; throws usage_error
    int (*run)(command_session&);                          // returns the exit status
};

/// Null if there is no such command.
const command* find_command(std::string_view name);
/// One line per command, for `keel --help`.
std::string list_of_commands();
std::string help_of(const command& c);

int list_tools(command_session&);
int call_tool(command_session&);
int list_resources(command_session&);
int read_resource(command_session&);
int list_prompts(command_session&);
int get_prompt(command_session&);
int ping(command_session&);

/// Reads all pages of a list. Returns the first result, with the `member` arrays of the other pages appended.
json::value whole_list(command_session&, const std::string& method, std::string_view member);

}  // namespace keel::command
