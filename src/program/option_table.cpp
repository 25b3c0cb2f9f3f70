#include "program/option_table.hpp"

#include "http/origin_check.hpp"
#include "http_common/forwarded.hpp"
#include "program/command_line.hpp"
#include "program/option_values.hpp"
#include "program/passed_sockets.hpp"
#include "transport/listen_address.hpp"
#include "transport/sockets.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI::program {

namespace {

using enum option_group;
using std::string;

// ---- setters ----

string set_stdio(command_line& line, const string&) {
    for (const endpoint& e : line.serving.endpoints) {
        if (e.where == endpoint::kind::stdio) return " may be given only once";
    }
    line.serving.endpoints.push_back(endpoint::stdio());
    return {};
}

/// Calls `check`, which throws std::invalid_argument if the value is invalid.
template <class Check>
string problem_of(Check check) {
    try {
        check();
    } catch (const std::invalid_argument& e) {
        std::string_view why = e.what();
        constexpr std::string_view library = "keel: ";
        if (why.starts_with(library)) why.remove_prefix(library.size());
        return ": " + string(why);
    }
    return {};
}

/// What is wrong with the name of a file that must be readable.
string unreadable(const string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return ": " + path + " is a directory";
    errno = 0;
    if (std::ifstream(path)) return {};
    return ": " + path + ": " + std::generic_category().message(errno);
}

string set_certificate(command_line& line, const string& path) {
    line.http.tls_certificate = path;
    return unreadable(path);
}

string set_key(command_line& line, const string& path) {
    line.http.tls_key = path;
    return unreadable(path);
}

string set_unix(command_line& line, const string& text) {
    if (socket_name(text)) {
        line.serving.endpoints.push_back(endpoint::tcp(text));
        return {};
    }
    line.serving.endpoints.push_back(endpoint::unix_socket(text));
    return problem_of([&] { transport::unix_address(text); });
}

string set_tcp(command_line& line, const string& text) {
    line.serving.endpoints.push_back(endpoint::tcp(text));
    if (socket_name(text)) return {};
    return problem_of([&] {
        if (int n = transport::inherited_descriptor(text); n >= 0) transport::address_of_listener(n);
        else tcp_address::parse(text);
    });
}

string check_http_address(const string& text) {
    if (socket_name(text)) return {};
    return problem_of([&] { transport::listen_address::parse(text); });
}

string set_http(command_line& line, const string& text) {
    line.http_addresses.push_back(text);
    return check_http_address(text);
}

string set_monitor(command_line& line, const string& text) {
    line.http.monitor_address = text;
    return check_http_address(text);
}

string set_allowed_host(command_line& line, const string& text) {
    line.http.allow_hosts.push_back(text);
    return problem_of([&] { http::origin_check({.hosts = {text}}); });
}

string set_allowed_origin(command_line& line, const string& text) {
    line.http.allow_origins.push_back(text);
    return problem_of([&] { http::origin_check({.origins = {text}}); });
}

string set_trusted_proxy(command_line& line, const string& text) {
    line.http.trusted_proxies.push_back(text);
    return problem_of([&] { http::trusted_proxies check(std::span(&text, 1)); });
}

string set_socket_mode(command_line& line, const string& text) {
    unsigned mode = 0;
    auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
    if (wrong != std::errc() || end != text.data() + text.size() || mode > 0777) {
        return ": invalid mode: " + text + " (an octal number, as in 660)";
    }
    line.http.socket_mode = mode;
    return {};
}

string set_path(command_line& line, const string& text) {
    if (!text.starts_with('/')) return " must begin with '/'";
    line.http.path = text;
    return {};
}

string set_threads(command_line& line, const string& text) {
    auto n = read_number(text, 1, 1024);
    if (!n) return ": invalid number: " + text + " (1 to 1024)";
    line.http.threads = static_cast<unsigned>(*n);
    return {};
}

string set_log_level(command_line& line, const string& text) {
    auto level = find_log_level(text);
    if (!level) {
        return ": invalid level: " + text + " (debug, info, notice, warning, error, critical, alert, emergency)";
    }
    line.serving.level = *level;
    return {};
}

string set_log_format(command_line& line, const string& text) {
    if (text != "text" && text != "json") return ": invalid format: " + text + " (text or json)";
    line.log.format = text == "json" ? log_format::json : log_format::text;
    return {};
}

string set_watch_client(command_line& line, const string& text) {
    auto on = read_watch_client(text.c_str());
    if (!on) return ": invalid value \"" + text + "\" (on or off)";
    line.serving.watch_client = on;
    return {};
}

/// Stores a duration with `store(line, duration)`.
template <class Store>
string read_into(command_line& line, const string& text, Store store) {
    auto time = read_duration(text);
    if (!time) return ": invalid duration: " + text + " (use 2s or 500ms)";
    store(line, *time);
    return {};
}

/// Stores a quota with `store(line, n)`.
template <class Store>
string read_quota(command_line& line, const string& text, Store store) {
    auto n = read_number(text, 0, 1'000'000'000);
    if (!n) return ": invalid number: " + text + " (0: no quota)";
    store(line, static_cast<std::size_t>(*n));
    return {};
}

/// A setter for values that are always valid, or for options without a value.
#define KEEL_STORE(statement)                              \
    [](command_line& line, const string& text) -> string { \
        static_cast<void>(text);                           \
        statement;                                         \
        return {};                                         \
    }
#define KEEL_STORE_COUNT(member)                                           \
    [](command_line& line, const string& text) -> string {                 \
        auto n = read_number(text, 1, 1'000'000'000);                      \
        if (!n) return ": invalid number: " + text + " (1 to 1000000000)"; \
        line.member = static_cast<std::size_t>(*n);                        \
        return {};                                                         \
    }
#define KEEL_STORE_SIZE(member)                                                               \
    [](command_line& line, const string& text) -> string {                                    \
        auto n = read_size(text);                                                             \
        if (!n || *n == 0) return ": invalid size: " + text + " (use 65536, 500K, 4M or 1G)"; \
        line.member = static_cast<std::size_t>(*n);                                           \
        return {};                                                                            \
    }
#define KEEL_STORE_DURATION(member)                                                      \
    [](command_line& line, const string& text) -> string {                               \
        return read_into(line, text, [](command_line& l, duration d) { l.member = d; }); \
    }
#define KEEL_STORE_QUOTA(member)                                                             \
    [](command_line& line, const string& text) -> string {                                   \
        return read_quota(line, text, [](command_line& l, std::size_t n) { l.member = n; }); \
    }

// ---- the table, in the order of --help ----

constexpr auto table = std::to_array<option>({
    {"--stdio", "", "", "", endpoints, "serve standard input and output; the program ends when the client closes them",
     set_stdio},
    {"--unix", "PATH", "a path", "", endpoints, "listen on a Unix socket, one client per connection", set_unix, true},
    {"--tcp", "HOST:PORT", "HOST:PORT", "", endpoints, "listen on a TCP socket; port 0 lets the system choose", set_tcp,
     true},
    {"--http", "ADDRESS", "HOST:PORT", "KEEL_HTTP", endpoints,
     "serve Streamable HTTP on HOST:PORT (a port alone means 127.0.0.1) or unix:PATH. For all endpoints, systemd or "
     "systemd:NAME means the sockets that systemd passes, and fd:N an inherited descriptor",
     set_http, true},

    {"--path", "PATH", "a path", "KEEL_PATH", http, "path of the MCP endpoint (default: /mcp)", set_path},
    {"--threads", "N", "a number", "KEEL_THREADS", http,
     "number of threads, each with its own event loop (default: one per processor)", set_threads},
    {"--allow-host", "NAME", "a host name", "KEEL_ALLOW_HOST", http,
     "accept requests for this host name; may be repeated. Required on other addresses than loopback", set_allowed_host,
     true},
    {"--allow-any-host", "", "", "KEEL_ALLOW_ANY_HOST", http, "accept requests for every host name",
     KEEL_STORE(line.http.allow_hosts.push_back("*"))},
    {"--monitor", "ADDRESS", "HOST:PORT", "KEEL_MONITOR", http,
     "serve /health, /ready and /metrics on this address only", set_monitor},
    {"--socket-mode", "MODE", "a mode", "KEEL_SOCKET_MODE", http,
     "permissions of the file of --http unix:PATH (default: 600; 660 for a proxy in the same group)", set_socket_mode},
    {"--allow-origin", "URL", "an origin", "KEEL_ALLOW_ORIGIN", http,
     "allow web pages of this origin to use the server (CORS); may be repeated", set_allowed_origin, true},
    {"--trusted-proxy", "NETWORK", "an address or network", "KEEL_TRUSTED_PROXY", http,
     "believe X-Forwarded-For and Forwarded headers of this proxy: an address, a network (10.0.0.0/8), or unix; may be "
     "repeated",
     set_trusted_proxy, true},
    {"--max-connections-per-client", "N", "a number", "KEEL_MAX_CONNECTIONS_PER_CLIENT", http,
     "open connections of one address or principal (default: 2048; 0: no quota)",
     KEEL_STORE_QUOTA(http.limits.max_connections_per_client)},
    {"--max-sessions-per-client", "N", "a number", "KEEL_MAX_SESSIONS_PER_CLIENT", http,
     "open sessions of one address or principal (default: 1000; 0: no quota)",
     KEEL_STORE_QUOTA(http.limits.max_sessions_per_client)},
    {"--max-in-flight-per-client", "N", "a number", "KEEL_MAX_IN_FLIGHT_PER_CLIENT", http,
     "running calls of one address or principal (default: 1024; 0: no quota)",
     KEEL_STORE_QUOTA(http.limits.max_in_flight_per_client)},
    {"--tls-cert", "FILE", "a file", "KEEL_TLS_CERT", http,
     "serve HTTPS with this certificate (PEM); read again when the file changes", set_certificate},
    {"--tls-key", "FILE", "a file", "KEEL_TLS_KEY", http, "the private key of the certificate (PEM)", set_key},
    {"--json", "", "", "KEEL_JSON", http, "answer with plain JSON only, never with event streams",
     KEEL_STORE(line.http.answers = http_options::answer_form::json)},
    {"--stateless", "", "", "KEEL_STATELESS", http, "no sessions for clients of revisions before 2026-07-28",
     KEEL_STORE(line.http.stateless = true)},
    {"--old-sse", "", "", "KEEL_OLD_SSE", http,
     "also serve the deprecated HTTP+SSE transport of 2024-11-05, at /sse and /messages",
     KEEL_STORE(line.http.old_sse = true)},

    {"--max-connections", "N", "a number", "KEEL_MAX_CONNECTIONS", limits,
     "open connections, for HTTP and for sockets each (default: 16384 and 1024)",
     [](command_line& line, const string& text) -> string {
         auto n = read_number(text, 1, 1'000'000);
         if (!n) return ": invalid number: " + text + " (1 to 1000000)";
         line.http.limits.max_connections = static_cast<std::size_t>(*n);
         line.serving.limits.max_connections = static_cast<std::size_t>(*n);
         return {};
     }},
    {"--max-sessions", "N", "a number", "KEEL_MAX_SESSIONS", limits,
     "open HTTP sessions of clients before 2026-07-28 (default: 10000)", KEEL_STORE_COUNT(http.limits.max_sessions)},
    {"--max-in-flight", "N", "a number", "KEEL_MAX_IN_FLIGHT", limits, "running requests (default: 4096)",
     KEEL_STORE_COUNT(serving.limits.max_in_flight)},
    {"--max-in-flight-each", "N", "a number", "KEEL_MAX_IN_FLIGHT_EACH", limits,
     "running requests of one connection or session (default: 256)",
     KEEL_STORE_COUNT(serving.limits.max_in_flight_each)},
    {"--max-body", "SIZE", "a size", "KEEL_MAX_BODY", limits, "body of an HTTP request (default: 4M)",
     KEEL_STORE_SIZE(http.limits.max_body)},
    {"--max-message", "SIZE", "a size", "KEEL_MAX_MESSAGE", limits, "message on stdio or a socket (default: 16M)",
     KEEL_STORE_SIZE(serving.limits.max_message)},
    {"--max-buffered", "SIZE", "a size", "KEEL_MAX_BUFFERED", limits,
     "memory for HTTP bodies, unread output and stored events together (default: a quarter of the memory)",
     KEEL_STORE_SIZE(http.limits.max_buffered)},
    {"--head-timeout", "DURATION", "a duration", "KEEL_HEAD_TIMEOUT", limits,
     "to receive the head of an HTTP request (default: 10s)", KEEL_STORE_DURATION(http.limits.head_time)},
    {"--body-timeout", "DURATION", "a duration", "KEEL_BODY_TIMEOUT", limits,
     "to receive the body of an HTTP request, if it is slower than 1K per second (default: 30s)",
     KEEL_STORE_DURATION(http.limits.body_time)},
    {"--idle-timeout", "DURATION", "a duration", "KEEL_IDLE_TIMEOUT", limits,
     "until an idle HTTP connection is closed (default: 75s)", KEEL_STORE_DURATION(http.limits.idle_time)},
    {"--session-timeout", "DURATION", "a duration", "KEEL_SESSION_TIMEOUT", limits,
     "until an idle HTTP session ends (default: 30m)", KEEL_STORE_DURATION(http.limits.session_idle)},

    {"--shutdown-delay", "DURATION", "a duration", "KEEL_SHUTDOWN_DELAY", other,
     "with --http: how long /ready answers 503 after SIGTERM while new requests are still served, before the shutdown "
     "begins (default: 0)",
     KEEL_STORE_DURATION(http.unready_time)},
    {"--drain", "DURATION", "a duration", "KEEL_DRAIN", other,
     "how long running calls may continue after the end of input or SIGTERM (2s, 500ms, 1m; default: 0, or until they "
     "finish if the input is a file)",
     KEEL_STORE_DURATION(serving.drain)},
    {"--no-watch-client", "", "", "KEEL_WATCH_CLIENT", other,
     "with --stdio: do not end when the client process ends, only when it closes the pipes. The variable is on "
     "(default) or off",
     KEEL_STORE(line.serving.watch_client = false), false, set_watch_client},
    {"--log-level", "LEVEL", "a level", "KEEL_LOG_LEVEL", other,
     "least severe message that is logged (default: warning)", set_log_level},
    {"--log-format", "FORMAT", "a format", "KEEL_LOG_FORMAT", other,
     "text or json (default: text), for the log and the access log", set_log_format},
    {"--log-file", "FILE", "a file", "KEEL_LOG_FILE", other,
     "append the log to this file instead of writing it to standard error; SIGHUP opens it again",
     KEEL_STORE(line.log.file = text)},
    {"--access-log", "FILE", "a file", "KEEL_ACCESS_LOG", other,
     "append one line for each HTTP request to this file, or write it to standard output (-); SIGHUP opens it again",
     KEEL_STORE(line.log.access_file = text)},
    {"--help", "", "", "", other, "show this help; also -h", KEEL_STORE(line.help = true)},
});

#undef KEEL_STORE
#undef KEEL_STORE_COUNT
#undef KEEL_STORE_SIZE
#undef KEEL_STORE_QUOTA
#undef KEEL_STORE_DURATION

/// The number of insertions, deletions and replacements of letters that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

std::span<const option> all_options() { return table; }

const option* find_option(std::string_view name) {
    if (name == "-h") name = "--help";
    auto found = std::find_if(table.begin(), table.end(), [&](const option& each) { return each.name == name; });
    return found == table.end() ? nullptr : &*found;
}

std::string did_you_mean(std::string_view name) {
    constexpr std::size_t longest = 64;
    if (name.size() > longest) return {};
    const option* found = nullptr;
    std::size_t least = std::max<std::size_t>(2, name.size() / 3);
    for (const option& each : table) {
        std::size_t distance = edit_distance(name, each.name);
        if (distance < least) {
            least = distance;
            found = &each;
        }
    }
    return found ? "; did you mean " + string(found->name) + "?" : string();
}

}  // namespace keel::program
