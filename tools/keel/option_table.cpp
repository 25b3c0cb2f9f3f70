#include "option_table.hpp"

#include <array>

namespace keel::command {

namespace {

using enum option::group;
using enum option::completion;

constexpr std::array<option, 24> table = {{
    {"--url", "URL", "a Streamable HTTP endpoint", server},
    {"--unix", "PATH", "a Unix domain socket", server, "", file},
    {"--tcp", "HOST:PORT", "a TCP socket", server},
    {"--", "COMMAND [ARGUMENT ...]", "a program to start; the protocol uses its standard input and output (stdio)",
     server},
    {"--config", "FILE", "read the servers from this file only, not from the usual files", settings, "", file},
    {"--input", "ID=VALUE", "the value of ${input:ID} in a configuration file; may be repeated", settings},
    {"--header", "'N: V'", "for a URL: add this header to every request; may be repeated", settings},
    {"--ca-file", "FILE", "for a URL: trust these CA certificates (PEM) instead of the system's", settings, "", file},
    {"--env", "NAME=VALUE", "for a program: set an environment variable; may be repeated", settings},
    {"--inherit-env", "", "for a program: pass all environment variables, not only a short list", settings},
    {"--cwd", "DIR", "for a program: working directory", settings, "", directory},
    {"--verbose", "", "for a program: show its standard error", settings},
    {"--protocol", "P", "auto (default), legacy, modern, or a version such as 2025-11-25", settings, "", words,
     "auto legacy modern 2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28"},
    {"--edit", "", "fill in the arguments in $VISUAL or $EDITOR before the call", other, "call"},
    {"--templates", "", "list the resource templates instead", other, "resources"},
    {"--json", "", "print the server's result as JSON", other},
    {"--timeout", "DURATION", "timeout for connecting and for each request (30s, 500ms, 5m)", other},
    {"--connect-timeout", "DURATION", "timeout for connecting alone (default 30s)", other},
    {"--max-message", "SIZE", "maximum size of a message from the server (500K, 64M, 1G)", other},
    {"--log-level", "LEVEL", "request log messages of this level and above; they go to standard error", other, "",
     words, "debug info notice warning error critical alert emergency"},
    {"--no-input", "", "do not answer questions of the server (elicitation)", other},
    {"--help", "", "show this help", other},
    {"-h", "", "short for --help", other},
    {"--history", "FILE", "keep the typed lines in this file; \"\": nowhere", other, "shell", file},
}};

}  // namespace

std::span<const option> all_options() { return table; }

const option* find_option(std::string_view name) {
    for (const option& each : table) {
        if (each.name == name && name != "--") return &each;
    }
    return nullptr;
}

bool belongs_to(const option& o, std::string_view command) { return o.only.empty() || o.only == command; }

}  // namespace keel::command
