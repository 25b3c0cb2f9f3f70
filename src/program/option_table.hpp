#pragma once

// The options of a server program that uses keel::main: one table for parsing, environment variables and --help. To add an option,
// add an entry to `table` in option_table.cpp and a member that holds its value to command_line or to one of the options in it.

#include <keel/version.hpp>

#include <span>
#include <string>
#include <string_view>

namespace keel::inline KEEL_ABI::program {

struct command_line;

enum class option_group : unsigned char { endpoints, http, limits, other };

struct option {
    /// Stores the value. Returns what is wrong with it, as the text that follows the name of the option (": invalid number: x"), or "".
    using setter = std::string (*)(command_line&, const std::string& value);

    std::string_view name;      // "--http"
    std::string_view value;     // "HOST:PORT" in the help; "": the option takes no value
    std::string_view needs;     // "a path" in "--unix needs a path"
    std::string_view variable;  // "KEEL_HTTP"; "": only the command line has it
    option_group group;
    std::string_view help;  // one paragraph; help_text breaks it into lines
    setter set;
    bool repeats = false;  // may be given more than once; its variable has a list of values with commas between them
    setter set_variable =
        nullptr;  // null: a variable has the same values as the option, or "on" and "off" if it takes none
};

std::span<const option> all_options();
/// Null if there is no such option.
const option* find_option(std::string_view name);
/// "; did you mean --http?", or "" if no option is similar.
std::string did_you_mean(std::string_view name);

}  // namespace keel::program
