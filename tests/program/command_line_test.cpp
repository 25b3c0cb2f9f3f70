#include "program/command_line.hpp"
#include "program/option_table.hpp"
#include "program/option_values.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

TEST_CASE("the command line accepts durations with a unit, and bare numbers as seconds") {
    using keel::program::read_duration;
    CHECK(read_duration("2") == 2s);
    CHECK(read_duration("2s") == 2s);
    CHECK(read_duration("1.5s") == 1500ms);
    CHECK(read_duration("200ms") == 200ms);
    CHECK(read_duration("2m") == 2min);
    CHECK(read_duration("1h") == 1h);
    for (const char* wrong : {"", "s", "-1s", "1d", "1 s", "1e3", "nan", "inf", "99999999999h"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read_duration(wrong));
    }
}

TEST_CASE("an invalid command line is reported with its first error") {
    auto problem = [](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        return keel::program::read_command_line(static_cast<int>(words.size()), words.data()).problem;
    };
    CHECK(problem({}) == "");
    CHECK(problem({"--stdio", "--drain", "1s", "--log-level=debug"}) == "");
    CHECK(problem({"--unix"}) == "--unix needs a path");
    CHECK(problem({"--drain", "soon"}) == "--drain: invalid duration: soon (use 2s or 500ms)");
    CHECK(problem({"--threads", "0"}) == "--threads: invalid number: 0 (1 to 1024)");
    CHECK(problem({"--tls-cert", "/dev/null"}) == "--tls-cert and --tls-key must be used together");
    CHECK(problem({"--tls-cert", "/dev/null", "--tls-key", "/no/such/file"}) ==
          "--tls-key: /no/such/file: No such file or directory");
    CHECK(problem({"--tls-cert", "/"}) == "--tls-cert: / is a directory");
    CHECK(problem({"--stdio", "--stdio"}) == "--stdio may be given only once");
    CHECK(problem({"--nonsense"}) == "unknown option: --nonsense");
    CHECK(problem({"extra"}) == "unknown option: extra");
    CHECK(problem({"--treads", "3"}) == "unknown option: --treads; did you mean --threads?");
    CHECK(problem({"--htp=80"}) == "unknown option: --htp=80; did you mean --http?");
    CHECK(problem({"--stdio=yes"}) == "--stdio takes no value");
    CHECK(problem({"--log-level", "loud"}).starts_with("--log-level: invalid level: loud"));
}

TEST_CASE("trusted proxies and quotas can be set on the command line and in the environment") {
    const char* words[] = {"program",
                           "--trusted-proxy",
                           "10.0.0.0/8",
                           "--trusted-proxy=unix",
                           "--max-sessions-per-client",
                           "5",
                           "--max-in-flight-per-client",
                           "0",
                           "--max-connections-per-client",
                           "7"};
    auto line = keel::program::read_command_line(static_cast<int>(std::size(words)), words);
    CHECK(line.problem == "");
    CHECK(line.http.trusted_proxies == std::vector<std::string>{"10.0.0.0/8", "unix"});
    CHECK(line.http.limits.max_sessions_per_client == 5);
    CHECK(line.http.limits.max_in_flight_per_client == 0);
    CHECK(line.http.limits.max_connections_per_client == 7);
    const char* wrong[] = {"program", "--max-sessions-per-client", "-1"};
    CHECK(keel::program::read_command_line(3, wrong).problem ==
          "--max-sessions-per-client: invalid number: -1 (0: no quota)");
}

TEST_CASE("a server watches its client process unless the command line or the environment says otherwise") {
    auto watch = [](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        auto line = keel::program::read_command_line(static_cast<int>(words.size()), words.data());
        CHECK(line.problem == "");
        return line.serving.watch_client;
    };
    CHECK(watch({}) == std::nullopt);  // the environment decides
    CHECK(watch({"--no-watch-client"}) == false);
    const char* with_value[] = {"program", "--no-watch-client=1"};
    CHECK(keel::program::read_command_line(2, with_value).problem == "--no-watch-client takes no value");

    using keel::program::read_watch_client;
    CHECK(read_watch_client(nullptr) == true);
    for (const char* on : {"", "on", "1"}) CHECK(read_watch_client(on) == true);
    for (const char* off : {"off", "0"}) CHECK(read_watch_client(off) == false);
    for (const char* wrong : {"no", "OFF", "2", " "}) CHECK(read_watch_client(wrong) == std::nullopt);
}

TEST_CASE("without an endpoint on the command line, the server uses standard input and output") {
    auto read = [](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        return keel::program::read_command_line(static_cast<int>(words.size()), words.data());
    };
    auto alone = read({"--threads", "2"});
    REQUIRE(alone.serving.endpoints.size() == 1);
    CHECK(alone.serving.endpoints[0].where == keel::endpoint::kind::stdio);
    auto web = read({"--http", "8848", "--path=/other"});
    CHECK(web.serving.endpoints.empty());
    CHECK(web.http_addresses == std::vector<std::string>{"8848"});
    CHECK(web.http.path == "/other");
}

namespace {

keel::program::command_line read_with(std::vector<const char*> words,
                                      const std::map<std::string, const char*>& variables) {
    words.insert(words.begin(), "program");
    return keel::program::read_command_line(static_cast<int>(words.size()), words.data(), [&](const char* name) {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second;
    });
}

}  // namespace

TEST_CASE("an environment variable sets what its option sets, unless the option is on the command line") {
    auto line = read_with({}, {{"KEEL_THREADS", "3"},
                               {"KEEL_ALLOW_HOST", "a.example,b.example"},
                               {"KEEL_STATELESS", "on"},
                               {"KEEL_OLD_SSE", "off"},
                               {"KEEL_JSON", ""}});
    CHECK(line.problem == "");
    CHECK(line.http.threads == 3);
    CHECK(line.http.allow_hosts == std::vector<std::string>{"a.example", "b.example"});
    CHECK(line.http.stateless);
    CHECK_FALSE(line.http.old_sse);
    CHECK(line.http.answers == keel::http_options::answer_form::as_needed);

    line = read_with({"--threads", "5", "--allow-host=c.example"},
                     {{"KEEL_THREADS", "none"}, {"KEEL_ALLOW_HOST", "a.example"}});
    CHECK(line.problem == "");
    CHECK(line.http.threads == 5);
    CHECK(line.http.allow_hosts == std::vector<std::string>{"c.example"});
    CHECK(read_with({}, {{"KEEL_WATCH_CLIENT", "off"}}).serving.watch_client == false);
}

TEST_CASE("an endpoint on the command line takes precedence over endpoints in the environment") {
    CHECK(read_with({}, {{"KEEL_HTTP", "8848"}}).http_addresses == std::vector<std::string>{"8848"});
    CHECK(read_with({}, {{"KEEL_HTTP", "8848"}}).serving.endpoints.empty());
    CHECK(read_with({"--stdio"}, {{"KEEL_HTTP", "8848"}}).http_addresses.empty());
}

TEST_CASE("an invalid environment variable is named") {
    CHECK(read_with({}, {{"KEEL_THREADS", "0"}}).problem == "KEEL_THREADS: invalid number: 0 (1 to 1024)");
    CHECK(read_with({}, {{"KEEL_DRAIN", "soon"}}).problem == "KEEL_DRAIN: invalid duration: soon (use 2s or 500ms)");
    CHECK(read_with({}, {{"KEEL_JSON", "yes"}}).problem == "KEEL_JSON: invalid value \"yes\" (on or off)");
    CHECK(read_with({}, {{"KEEL_WATCH_CLIENT", "no"}}).problem ==
          "KEEL_WATCH_CLIENT: invalid value \"no\" (on or off)");
    CHECK(read_with({"--nonsense"}, {{"KEEL_THREADS", "0"}}).problem == "unknown option: --nonsense");
}

TEST_CASE("the help shows every option with its value and its environment variable") {
    std::string help = keel::program::help_text("program", {.name = "demo", .version = "1"});
    for (const auto& each : keel::program::all_options()) {
        CAPTURE(each.name);
        const std::string left =
            "  " + std::string(each.name) + (each.value.empty() ? "" : " " + std::string(each.value));
        CHECK((help.find(left + " ") != std::string::npos || help.find(left + "\n") != std::string::npos));
        if (!each.variable.empty()) CHECK(help.find("[" + std::string(each.variable) + "]") != std::string::npos);
    }
    for (std::size_t at = 0; at < help.size();) {
        std::size_t end = help.find('\n', at);
        CHECK(end - at <= 120);
        at = end + 1;
    }
}

TEST_CASE("sizes are numbers of bytes with an optional unit") {
    using keel::program::read_size;
    CHECK(read_size("0") == 0);
    CHECK(read_size("65536") == 65536);
    CHECK(read_size("64K") == 65536);
    CHECK(read_size("4M") == 4194304);
    CHECK(read_size("1G") == 1073741824);
    for (const char* wrong :
         {"", "K", "-1", "1.5M", "4 M", "4m", "4MB", "99999999999999999999", "18446744073709551615G"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read_size(wrong));
    }
}

TEST_CASE("a malformed address or value is reported with the name of its option, before anything is opened") {
    auto named = [](std::vector<const char*> words, std::string_view option) {
        std::string problem = read_with(std::move(words), {}).problem;
        CAPTURE(problem);
        CHECK(problem.starts_with(option));
        CHECK(problem.size() > option.size() + 2);
    };
    const std::string long_path(200, 'x');
    const std::string long_unix = "unix:/" + long_path;
    for (const char* wrong :
         {"", "host", "host:", "host:x", "host:65536", "::1:80", "[::1", "unix:", "fd:x", "fd:1000000"}) {
        CAPTURE(wrong);
        named({"--http", wrong}, "--http: ");
        named({"--http=8848", "--monitor", wrong}, "--monitor: ");
    }
    named({"--http", long_unix.c_str()}, "--http: ");
    named({"--http", "0.0.0.0:80"}, "--http 0.0.0.0:80: ");
    for (const char* wrong : {"", "80", ":80", "host", "host:x", "fd:0"}) {
        CAPTURE(wrong);
        named({"--tcp", wrong}, "--tcp: ");
    }
    named({"--unix", ""}, "--unix: ");
    named({"--unix", long_path.c_str()}, "--unix: ");
    named({"--allow-host", "a b"}, "--allow-host: ");
    named({"--allow-host", ""}, "--allow-host: ");
    named({"--allow-origin", "example.com"}, "--allow-origin: ");
    named({"--trusted-proxy", "10.0.0.0/99"}, "--trusted-proxy: ");
    named({"--trusted-proxy", "proxy.example"}, "--trusted-proxy: ");
    named({"--socket-mode", "rw"}, "--socket-mode: ");
    named({"--socket-mode", "1000"}, "--socket-mode: ");
    named({"--max-body", "4 M"}, "--max-body: ");
    named({"--max-body", "0"}, "--max-body: ");
    named({"--max-connections", "0"}, "--max-connections: ");
    named({"--max-sessions", "-1"}, "--max-sessions: ");
    named({"--idle-timeout", "soon"}, "--idle-timeout: ");
    CHECK(read_with({}, {{"KEEL_HTTP", "nowhere"}}).problem.starts_with("KEEL_HTTP: "));
    CHECK(read_with({}, {{"KEEL_MAX_BODY", "big"}}).problem.starts_with("KEEL_MAX_BODY: "));
    CHECK(read_with({"--http", "unix:/run/x.sock", "--http=systemd:web", "--http=[::1]:0"}, {}).problem == "");
    CHECK(read_with({"--http", "0.0.0.0:80", "--allow-any-host"}, {}).problem == "");
}

TEST_CASE("the limits of HTTP and of the server can be set") {
    auto line =
        read_with({"--max-connections=10", "--max-sessions=20", "--max-in-flight=30", "--max-in-flight-each=5",
                   "--max-body=64K", "--max-message=1M", "--max-buffered=1G", "--head-timeout=1s", "--body-timeout=2s",
                   "--idle-timeout=3s", "--session-timeout=4m", "--shutdown-delay=5s", "--socket-mode=660"},
                  {});
    CHECK(line.problem == "");
    const keel::http_limits& http = line.http.limits;
    CHECK(http.max_connections == 10);
    CHECK(line.serving.limits.max_connections == 10);
    CHECK(http.max_sessions == 20);
    CHECK(line.serving.limits.max_in_flight == 30);
    CHECK(line.serving.limits.max_in_flight_each == 5);
    CHECK(http.max_body == 64 * 1024);
    CHECK(line.serving.limits.max_message == 1024 * 1024);
    CHECK(http.max_buffered == 1024 * 1024 * 1024);
    CHECK(http.head_time == 1s);
    CHECK(http.body_time == 2s);
    CHECK(http.idle_time == 3s);
    CHECK(http.session_idle == 4min);
    CHECK(line.http.unready_time == 5s);
    CHECK(line.http.socket_mode == 0660);
}

TEST_CASE("the HTTP options of the program are defaults, which the command line replaces or extends") {
    keel::http_options defaults;
    defaults.path = "/tools";
    defaults.threads = 3;
    defaults.allow_hosts = {"mcp.example.com"};
    defaults.limits.max_sessions = 7;
    auto read = [&](std::vector<const char*> words) {
        words.insert(words.begin(), "program");
        return keel::program::read_command_line(static_cast<int>(words.size()), words.data(), {}, defaults);
    };
    keel::http_options kept = read({"--http", "0"}).http;
    CHECK(kept.path == "/tools");
    CHECK(kept.threads == 3);
    CHECK(kept.limits.max_sessions == 7);
    keel::http_options changed = read({"--http", "0", "--path", "/mcp", "--allow-host", "other.example.com"}).http;
    CHECK(changed.path == "/mcp");
    CHECK(changed.threads == 3);
    CHECK(changed.allow_hosts == std::vector<std::string>{"mcp.example.com", "other.example.com"});
    CHECK(read({}).http_addresses.empty());  // defaults alone do not open a port
}
