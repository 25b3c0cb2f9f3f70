#include "program/option_table.hpp"

#include "program/command_line.hpp"
#include "program/option_values.hpp"

#include <algorithm>
#include <array>
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
    {"--unix", "PATH", "a path", "", endpoints, "listen on a Unix socket, one client per connection",
     KEEL_STORE(line.serving.endpoints.push_back(endpoint::unix_socket(text))), true},
    {"--tcp", "HOST:PORT", "HOST:PORT", "", endpoints, "listen on a TCP socket; port 0 lets the system choose",
     KEEL_STORE(line.serving.endpoints.push_back(endpoint::tcp(text))), true},
    {"--http", "HOST:PORT", "HOST:PORT", "KEEL_HTTP", endpoints, "serve Streamable HTTP; a port alone means 127.0.0.1",
     KEEL_STORE(line.http_addresses.push_back(text)), true},

    {"--path", "PATH", "a path", "KEEL_PATH", http, "path of the MCP endpoint (default: /mcp)", set_path},
    {"--threads", "N", "a number", "KEEL_THREADS", http,
     "number of threads, each with its own event loop (default: one per processor)", set_threads},
    {"--allow-host", "NAME", "a host name", "KEEL_ALLOW_HOST", http,
     "accept requests for this host name; may be repeated. Required on other addresses than loopback",
     KEEL_STORE(line.http.allow_hosts.push_back(text)), true},
    {"--allow-any-host", "", "", "KEEL_ALLOW_ANY_HOST", http, "accept requests for every host name",
     KEEL_STORE(line.http.allow_hosts.push_back("*"))},
    {"--monitor", "HOST:PORT", "HOST:PORT", "KEEL_MONITOR", http, "serve /health and /metrics on this address only",
     KEEL_STORE(line.http.monitor_address = text)},
    {"--allow-origin", "URL", "an origin", "KEEL_ALLOW_ORIGIN", http,
     "allow web pages of this origin to use the server (CORS); may be repeated",
     KEEL_STORE(line.http.allow_origins.push_back(text)), true},
    {"--trusted-proxy", "NETWORK", "an address or network", "KEEL_TRUSTED_PROXY", http,
     "believe X-Forwarded-For and Forwarded headers of this proxy: an address, a network (10.0.0.0/8), or unix; may be "
     "repeated",
     KEEL_STORE(line.http.trusted_proxies.push_back(text)), true},
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
     "serve HTTPS with this certificate (PEM); read again when the file changes",
     KEEL_STORE(line.http.tls_certificate = text)},
    {"--tls-key", "FILE", "a file", "KEEL_TLS_KEY", http, "the private key of the certificate (PEM)",
     KEEL_STORE(line.http.tls_key = text)},
    {"--json", "", "", "KEEL_JSON", http, "answer with plain JSON only, never with event streams",
     KEEL_STORE(line.http.answers = http_options::answer_form::json)},
    {"--stateless", "", "", "KEEL_STATELESS", http, "no sessions for clients of revisions before 2026-07-28",
     KEEL_STORE(line.http.stateless = true)},
    {"--old-sse", "", "", "KEEL_OLD_SSE", http,
     "also serve the deprecated HTTP+SSE transport of 2024-11-05, at /sse and /messages",
     KEEL_STORE(line.http.old_sse = true)},

    {"--drain", "DURATION", "a duration", "KEEL_DRAIN", other,
     "how long running calls may continue after the end of input or SIGTERM (2s, 500ms, 1m; default: 0, or until they "
     "finish if the input is a file)",
     KEEL_STORE_DURATION(serving.drain)},
    {"--no-watch-client", "", "", "KEEL_WATCH_CLIENT", other,
     "with --stdio: do not end when the client process ends, only when it closes the pipes. The variable is on "
     "(default) or off",
     KEEL_STORE(line.serving.watch_client = false), false, set_watch_client},
    {"--log-level", "LEVEL", "a level", "KEEL_LOG_LEVEL", other,
     "least severe message written to standard error (default: warning)", set_log_level},
    {"--help", "", "", "", other, "show this help; also -h", KEEL_STORE(line.help = true)},
});

#undef KEEL_STORE
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
