#pragma once

// Serving on the calling thread until a signal or the end of standard input stops the server. Used by keel::main and run_stdio.

#include "async/epoll_loop.hpp"

#include <keel/server.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace keel::inline KEEL_ABI::program {

struct foreground_options {
    std::vector<endpoint> endpoints = {};
    /// Drain time at shutdown and at the end of input. Default: none at shutdown, `limits::drain_on_eof` at the end of input.
    std::optional<duration> drain = {};
    /// Whether a server on standard input and output ends when its client process ends. Default: as the environment variable
    /// KEEL_WATCH_CLIENT says ("on" or "off"), otherwise on.
    std::optional<bool> watch_client = {};
    /// Least severe message to write to standard error, if the server has no log function of its own.
    log_level level = log_level::warning;
    /// Opens what `endpoints` cannot describe (HTTP). Called on the loop before anything is served; an exception is reported on
    /// standard error and stops the server.
    std::function<void(const std::shared_ptr<async::epoll_loop>&)> open_more = {};
};

/// Returns the setting of KEEL_WATCH_CLIENT. `value` is the value of the variable, or null if it is not set. Returns nullopt if it
/// is invalid.
std::optional<bool> read_watch_client(const char* value);

/// Returns the exit status: 0 after a graceful shutdown, 1 if serving failed, 2 if the environment is invalid. Exits the process if a handler ignores its
/// cancellation.
int serve_in_foreground(server& s, const foreground_options& how);

}  // namespace keel::program
