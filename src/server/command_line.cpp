#include "server/command_line.hpp"

#include <charconv>

namespace keel::server_side {

std::optional<duration> read_duration(std::string_view text) {
    double n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n, std::chars_format::fixed);
    if (problem != std::errc() || !(n >= 0 && n <= 1e9)) return std::nullopt;  // not a number is neither
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    double seconds = 0;
    if (unit.empty() || unit == "s") seconds = n;
    else if (unit == "ms") seconds = n / 1000;
    else if (unit == "m") seconds = n * 60;
    else if (unit == "h") seconds = n * 3600;
    else return std::nullopt;
    if (seconds > 1e9) return std::nullopt;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

command_line read_command_line(int argc, const char* const* argv) {
    command_line line;
    for (int i = 1; i < argc; ++i) {
        std::string_view word = argv[i];
        std::optional<std::string> attached;
        if (auto equals = word.find('='); word.starts_with("--") && equals != std::string_view::npos) {
            attached = std::string(word.substr(equals + 1));
            word = word.substr(0, equals);
        }
        auto value = [&](const char* what) -> std::string {
            if (attached) return *attached;
            if (i + 1 < argc) return argv[++i];
            if (line.problem.empty()) line.problem = std::string(word) + " needs " + what;
            return {};
        };
        auto takes_none = [&] {
            if (attached && line.problem.empty()) line.problem = std::string(word) + " takes no value";
        };
        if (word == "--help" || word == "-h") {
            takes_none();
            line.help = true;
        } else if (word == "--stdio") {
            takes_none();
            for (const endpoint& e : line.endpoints) {
                if (e.where == endpoint::kind::stdio && line.problem.empty())
                    line.problem = "--stdio can be given once";
            }
            line.endpoints.push_back(endpoint::stdio());
        } else if (word == "--unix") {
            line.endpoints.push_back(endpoint::unix_socket(value("a path")));
        } else if (word == "--tcp") {
            line.endpoints.push_back(endpoint::tcp(value("HOST:PORT")));
        } else if (word == "--drain") {
            std::string text = value("a duration");
            line.drain = read_duration(text);
            if (!line.drain && line.problem.empty())
                line.problem = "--drain: not a duration: " + text + " (try 2s or 500ms)";
        } else if (word == "--log-level") {
            std::string text = value("a level");
            auto level = find_log_level(text);
            if (level) line.level = *level;
            else if (line.problem.empty()) {
                line.problem = "--log-level: not a level: " + text +
                               " (debug, info, notice, warning, error, critical, alert, emergency)";
            }
        } else if (line.problem.empty()) {
            line.problem = "unknown option: " + std::string(argv[i]);
        }
    }
    if (line.endpoints.empty()) line.endpoints.push_back(endpoint::stdio());
    return line;
}

std::string help_text(std::string_view program, const implementation& about) {
    std::string text = about.name + " " + about.version + ", a server for the Model Context Protocol\n\n";
    if (!about.description.empty()) text += about.description + "\n\n";
    text += "Usage: " + std::string(program) + " [options]\n\n";
    text +=
        "Where to serve (standard input and output unless said otherwise; may be given several times):\n"
        "  --stdio             standard input and output; the program ends when that client does\n"
        "  --unix PATH         a Unix socket, one client per connection\n"
        "  --tcp HOST:PORT     a TCP socket; port 0 lets the system choose\n"
        "\n"
        "  --drain DURATION    how long running calls may go on when input ends or on SIGTERM\n"
        "                      (2s, 500ms, 1m; default: none, or as long as it takes when input is a file)\n"
        "  --log-level LEVEL   the least severe message written to standard error (default: warning)\n"
        "  -h, --help          this text\n"
        "\n"
        "SIGTERM and SIGINT end the server in order; a second one ends it at once.\n"
        "Exit status: 0 after an orderly end, 1 when serving failed, 2 for a wrong command line.\n";
    return text;
}

}  // namespace keel::server_side
