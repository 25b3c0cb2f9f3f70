#pragma once

// The command line of the client commands.

#include <keel/context.hpp>
#include <keel/loop.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::command {

struct options {
    std::vector<std::string> words;  // everything that is not an option

    // The server: exactly one of these.
    std::string url;
    std::string unix_path;
    std::string tcp;
    std::vector<std::string> child;  // after "--"

    // Options that apply to some kinds of servers.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string ca_file;
    std::vector<std::pair<std::string, std::string>> environment;
    std::string directory;
    bool verbose = false;

    std::string protocol = "auto";
    std::optional<duration> timeout;
    std::optional<duration> connect_timeout;
    std::optional<std::size_t> max_message;  // bytes
    std::optional<log_level> level;
    bool json = false;
    bool no_input = false;
    bool templates = false;
    bool help = false;

    std::string problem;  // not empty: the command line is invalid
};

/// `argv[0]` is the command, or the program if the command is expected among the words.
options read_options(int argc, const char* const* argv);

}  // namespace keel::command
