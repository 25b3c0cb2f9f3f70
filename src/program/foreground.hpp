#pragma once

// Serving on the calling thread until a signal or the end of standard input stops the server. Used by keel::main and run_stdio.

#include "async/epoll_loop.hpp"

#include <keel/server.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::program {

/// Something to reload on SIGHUP.
struct reload_hook {
    std::string what;           // for the log: "log file"
    std::function<void()> run;  // called on the loop; an exception is logged, and the other hooks still run
};

/// Limits that replace those of the server's own options.
struct limit_overrides {
    std::optional<std::size_t> max_connections = {};
    std::optional<std::size_t> max_in_flight = {};       // limits::max_in_flight_total
    std::optional<std::size_t> max_in_flight_each = {};  // limits::max_in_flight
    std::optional<std::size_t> max_message = {};
};

struct foreground_options {
    std::vector<endpoint> endpoints = {};
    /// Drain time at shutdown and at the end of input. Default: none at shutdown, `limits::drain_on_eof` at the end of input.
    std::optional<duration> drain = {};
    /// Whether a server on standard input and output ends when its client process ends. Default: as the environment variable
    /// KEEL_WATCH_CLIENT says ("on" or "off"), otherwise on.
    std::optional<bool> watch_client = {};
    /// Least severe message to write to standard error, if there is no other log.
    log_level level = log_level::warning;
    limit_overrides limits = {};
    /// The log, if the server has none of its own.
    log_sink log = {};
    /// Opens what `endpoints` cannot describe (HTTP). Called on the loop before anything is served; an exception is reported on
    /// standard error and stops the server.
    std::function<void(const std::shared_ptr<async::epoll_loop>&)> open_more = {};
    /// Called in this order on SIGHUP, while the server is serving. Add an entry for every file that the program keeps open:
    ///     line.serving.on_reload.push_back({"access log", [&] { access_log.reopen(); }});
    std::vector<reload_hook> on_reload = {};
    /// Called on the loop when a shutdown begins, `shutdown_delay` before the listeners are closed.
    std::function<void()> announce_stop = {};
    duration shutdown_delay = duration::zero();
};

/// Returns the setting of KEEL_WATCH_CLIENT. `value` is the value of the variable, or null if it is not set. Returns nullopt if it
/// is invalid.
std::optional<bool> read_watch_client(const char* value);

/// Serves until SIGTERM, SIGINT or the end of standard input. SIGHUP runs the reload hooks, except if standard input is a terminal
/// and is served: then the terminal has hung up, and the server shuts down. Notifies a service manager (service_notify.hpp).
///
/// Returns the exit status: 0 after a graceful shutdown, 1 if serving failed, 2 if the environment is invalid. Exits the process if a handler ignores its
/// cancellation.
int serve_in_foreground(server& s, const foreground_options& how);

}  // namespace keel::program
