#include "server/command_line.hpp"

#include <charconv>

namespace keel::inline KEEL_ABI::server_side {

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
        } else if (word == "--http") {
            line.http.push_back(value("HOST:PORT"));
        } else if (word == "--path") {
            line.http_rules.path = value("a path");
            if (!line.http_rules.path.starts_with('/') && line.problem.empty())
                line.problem = "--path must begin with '/'";
        } else if (word == "--tls-cert") {
            line.http_rules.tls_certificate = value("a file");
        } else if (word == "--tls-key") {
            line.http_rules.tls_key = value("a file");
        } else if (word == "--allow-origin") {
            line.http_rules.allow_origins.push_back(value("an origin"));
        } else if (word == "--allow-host") {
            line.http_rules.allow_hosts.push_back(value("a host name"));
        } else if (word == "--json") {
            takes_none();
            line.http_rules.answers = http_options::answer_form::json;
        } else if (word == "--stateless") {
            takes_none();
            line.http_rules.stateless = true;
        } else if (word == "--old-sse") {
            takes_none();
            line.http_rules.old_sse = true;
        } else if (word == "--threads") {
            std::string text = value("a number");
            unsigned n = 0;
            auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
            if (wrong != std::errc() || end != text.data() + text.size() || n == 0 || n > 1024) {
                if (line.problem.empty()) line.problem = "--threads: not a number from 1 to 1024: " + text;
            } else {
                line.http_rules.threads = n;
            }
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
    if (line.endpoints.empty() && line.http.empty()) line.endpoints.push_back(endpoint::stdio());
    if (line.http_rules.tls_certificate.empty() != line.http_rules.tls_key.empty() && line.problem.empty())
        line.problem = "--tls-cert and --tls-key go together";
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
        "  --http HOST:PORT    Streamable HTTP; a port alone is one of 127.0.0.1\n"
        "\n"
        "Over HTTP:\n"
        "  --path PATH         the protocol's path (default: /mcp)\n"
        "  --threads N         loops, each with a thread (default: one for each processor)\n"
        "  --allow-host NAME   a further name under which clients reach this server; may be repeated\n"
        "  --allow-origin URL  a web page's origin that may use this server; may be repeated\n"
        "  --tls-cert FILE, --tls-key FILE\n"
        "                      serve HTTPS; the files are read again when they change\n"
        "  --json              answer with plain JSON only, never with event streams\n"
        "  --stateless         no sessions for clients of the older revisions\n"
        "  --old-sse           also serve the deprecated transport of 2024-11-05, at /sse and /messages\n"
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
