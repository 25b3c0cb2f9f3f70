#pragma once

// The commands that talk to a server.

#include "session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace keel::command {

struct command {
    std::string_view name;
    const char* usage;                                     // behind "keel NAME"
    const char* about;                                     // one line
    const char* help;                                      // what --help adds
    void (*check)(const std::vector<std::string>& words);  // before a server is started; throws usage_error
    int (*run)(session&);                                  // the exit status
};

/// Null when there is none of that name.
const command* find_command(std::string_view name);
/// For `keel --help`: one line for each.
std::string list_of_commands();
std::string help_of(const command& c);

int list_tools(session&);
int call_tool(session&);
int list_resources(session&);
int read_resource(session&);
int list_prompts(session&);
int get_prompt(session&);
int ping(session&);

/// Every page of a list as the server gave it: its first result, with what the others hold in `member` added.
json::value whole_list(session&, const std::string& method, std::string_view member);

}  // namespace keel::command
