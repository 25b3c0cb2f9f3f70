#pragma once

// A whole server program: command line, signals, serving and shutdown.
//
//     #include <keel/main.hpp>
//
//     struct greet_args { std::string name; };
//     KEEL_DESCRIBE(greet_args, name)
//
//     int main(int argc, char** argv) {
//         keel::server server({.name = "greeter", .version = "1.0"});
//         server.add_tool("greet", "Say hello", [](greet_args a) { return "Hello, " + a.name + "!"; });
//         return keel::main(server, argc, argv);
//     }

#include <keel/server.hpp>

namespace keel::inline KEEL_ABI {

/// Runs a server program: reads the command line, serves on the calling thread, and shuts down gracefully on SIGTERM and SIGINT
/// (a second signal ends the process at once). SIGHUP reloads the TLS certificate and reopens log files; see docs/operations.md.
/// Without --stdio, --unix, --tcp or --http it serves standard input and output.
/// `program --help` lists all options.
///
/// On standard input and output the server ends when the client closes them, and also when the client process ends while another
/// process holds the pipes open (docs/lifecycle.md, G13). --no-watch-client or KEEL_WATCH_CLIENT=off turns the latter off.
///
/// Returns the exit status: 0 after a graceful shutdown, 1 if serving failed, 2 if the command line or the environment is
/// invalid. If a handler is still running `limits::cleanup_grace` after it was cancelled, the process exits without returning from
/// this function.
///
/// Must be called on one thread at a time per process: it replaces the handlers of SIGTERM, SIGINT and SIGHUP while it runs.
/// In the library keel::http (part of keel::keel).
KEEL_API int main(server& s, int argc, const char* const* argv);
/// Same, with defaults for HTTP (keel/http_server.hpp): options of the command line replace them, and lists such as allow_hosts become
/// longer. HTTP is still served only with --http.
KEEL_API int main(server& s, int argc, const char* const* argv, http_options defaults);

/// Serves standard input and output until the client closes them or ends, with the same signal handling and exit status as `main`,
/// but without a command line. In the library keel::core.
KEEL_API int run_stdio(server& s);

}  // namespace keel
