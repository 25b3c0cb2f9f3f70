#include "program/command_line.hpp"

#include <charconv>

namespace keel::inline KEEL_ABI::program {

std::optional<duration> read_duration(std::string_view text) {
    double n = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n, std::chars_format::fixed);
    if (problem != std::errc() || !(n >= 0 && n <= 1e9)) return std::nullopt;  // NaN fails both comparisons
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
            for (const endpoint& e : line.serving.endpoints) {
                if (e.where == endpoint::kind::stdio && line.problem.empty())
                    line.problem = "--stdio may be given only once";
            }
            line.serving.endpoints.push_back(endpoint::stdio());
        } else if (word == "--unix") {
            line.serving.endpoints.push_back(endpoint::unix_socket(value("a path")));
        } else if (word == "--tcp") {
            line.serving.endpoints.push_back(endpoint::tcp(value("HOST:PORT")));
        } else if (word == "--http") {
            line.http_addresses.push_back(value("HOST:PORT"));
        } else if (word == "--path") {
            line.http.path = value("a path");
            if (!line.http.path.starts_with('/') && line.problem.empty()) line.problem = "--path must begin with '/'";
        } else if (word == "--tls-cert") {
            line.http.tls_certificate = value("a file");
        } else if (word == "--tls-key") {
            line.http.tls_key = value("a file");
        } else if (word == "--allow-origin") {
            line.http.allow_origins.push_back(value("an origin"));
        } else if (word == "--allow-host") {
            line.http.allow_hosts.push_back(value("a host name"));
        } else if (word == "--allow-any-host") {
            takes_none();
            line.http.allow_hosts.push_back("*");
        } else if (word == "--monitor") {
            line.http.monitor_address = value("HOST:PORT");
        } else if (word == "--json") {
            takes_none();
            line.http.answers = http_options::answer_form::json;
        } else if (word == "--stateless") {
            takes_none();
            line.http.stateless = true;
        } else if (word == "--old-sse") {
            takes_none();
            line.http.old_sse = true;
        } else if (word == "--threads") {
            std::string text = value("a number");
            unsigned n = 0;
            auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
            if (wrong != std::errc() || end != text.data() + text.size() || n == 0 || n > 1024) {
                if (line.problem.empty()) line.problem = "--threads: invalid number: " + text + " (1 to 1024)";
            } else {
                line.http.threads = n;
            }
        } else if (word == "--drain") {
            std::string text = value("a duration");
            line.serving.drain = read_duration(text);
            if (!line.serving.drain && line.problem.empty())
                line.problem = "--drain: invalid duration: " + text + " (use 2s or 500ms)";
        } else if (word == "--no-watch-client") {
            takes_none();
            line.serving.watch_client = false;
        } else if (word == "--log-level") {
            std::string text = value("a level");
            auto level = find_log_level(text);
            if (level) line.serving.level = *level;
            else if (line.problem.empty()) {
                line.problem = "--log-level: invalid level: " + text +
                               " (debug, info, notice, warning, error, critical, alert, emergency)";
            }
        } else if (line.problem.empty()) {
            line.problem = "unknown option: " + std::string(argv[i]);
        }
    }
    if (line.serving.endpoints.empty() && line.http_addresses.empty())
        line.serving.endpoints.push_back(endpoint::stdio());
    if (line.http.tls_certificate.empty() != line.http.tls_key.empty() && line.problem.empty())
        line.problem = "--tls-cert and --tls-key must be used together";
    return line;
}

std::string help_text(std::string_view program, const implementation& about) {
    std::string text = about.name + " " + about.version + ", a Model Context Protocol (MCP) server\n\n";
    if (!about.description.empty()) text += about.description + "\n\n";
    text += "Usage: " + std::string(program) + " [options]\n\n";
    text +=
        "Endpoints (default: --stdio; options may be repeated, except --stdio):\n"
        "  --stdio             serve standard input and output; the program ends when the client closes them\n"
        "  --unix PATH         listen on a Unix socket, one client per connection\n"
        "  --tcp HOST:PORT     listen on a TCP socket; port 0 lets the system choose\n"
        "  --http HOST:PORT    serve Streamable HTTP; a port alone means 127.0.0.1\n"
        "\n"
        "HTTP options:\n"
        "  --path PATH         path of the MCP endpoint (default: /mcp)\n"
        "  --threads N         number of threads, each with its own event loop (default: one per processor)\n"
        "  --allow-host NAME   accept requests for this host name; may be repeated. Required on other addresses than "
        "loopback\n"
        "  --allow-any-host    accept requests for every host name\n"
        "  --monitor HOST:PORT serve /health and /metrics on this address only\n"
        "  --allow-origin URL  allow web pages of this origin to use the server (CORS); may be repeated\n"
        "  --tls-cert FILE, --tls-key FILE\n"
        "                      serve HTTPS; the files are read again when they change\n"
        "  --json              answer with plain JSON only, never with event streams\n"
        "  --stateless         no sessions for clients of revisions before 2026-07-28\n"
        "  --old-sse           also serve the deprecated HTTP+SSE transport of 2024-11-05, at /sse and /messages\n"
        "\n"
        "Other options:\n"
        "  --drain DURATION    how long running calls may continue after the end of input or SIGTERM\n"
        "                      (2s, 500ms, 1m; default: 0, or until they finish if the input is a file)\n"
        "  --no-watch-client   with --stdio: do not end when the client process ends, only when it closes the pipes\n"
        "                      (also KEEL_WATCH_CLIENT=off in the environment)\n"
        "  --log-level LEVEL   least severe message written to standard error (default: warning)\n"
        "  -h, --help          show this help\n"
        "\n"
        "SIGTERM and SIGINT shut the server down gracefully; a second signal ends the process at once.\n"
        "Exit status: 0 after a graceful shutdown, 1 if serving failed, 2 if the command line is invalid.\n";
    return text;
}

}  // namespace keel::program
