#pragma once

// The options of the client commands: one table for parsing, --help, the man pages and the completion of shells.

#include <span>
#include <string_view>

namespace keel::command {

struct option {
    enum class group : unsigned char { server, settings, other };
    enum class completion : unsigned char { none, file, directory, words };

    std::string_view name;   // "--url"
    std::string_view value;  // "URL"; "": the option takes no value
    std::string_view about;
    group where = group::other;
    std::string_view only = "";  // the only command that has this option; "": all commands
    completion completes = completion::none;
    std::string_view words = "";  // the values for completion::words
};

std::span<const option> all_options();
/// Null if there is no such option.
const option* find_option(std::string_view name);
bool belongs_to(const option& o, std::string_view command);

}  // namespace keel::command
