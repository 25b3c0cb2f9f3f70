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

    // The server: at most one of these. If there is none, the first word is the server (server_choice.hpp).
    std::string url;
    std::string unix_path;
    std::string tcp;
    std::vector<std::string> child;  // after "--"

    // Options that apply to some kinds of servers.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string ca_file;
    std::vector<std::pair<std::string, std::string>> environment;
    bool inherit_environment = false;
    std::string directory;
    bool verbose = false;

    // Servers by name.
    std::string config_file;                                  // --config; "": the usual files
    std::vector<std::pair<std::string, std::string>> inputs;  // --input
    std::string server_name;                                  // the configured server that was chosen
    std::string server_file;                                  // the file that lists it

    std::string protocol = "auto";
    std::optional<duration> timeout;
    std::optional<duration> connect_timeout;
    std::optional<std::size_t> max_message;  // bytes
    std::optional<log_level> level;
    bool json = false;
    bool no_input = false;
    bool templates = false;
    bool edit = false;
    std::optional<std::string> history;  // --history
    bool help = false;

    std::string problem;  // not empty: the command line is invalid

    bool has_server() const noexcept { return !url.empty() || !unix_path.empty() || !tcp.empty() || !child.empty(); }
};

/// `argv[0]` is the command, or the program if the command is expected among the words.
options read_options(int argc, const char* const* argv);
/// Checks the options against the kind of server. Returns the problem, or "".
std::string check_server_options(const options& o);

}  // namespace keel::command
