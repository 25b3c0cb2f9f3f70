#pragma once

// A server in a child process, connected through its standard input and output.

#include <keel/connection.hpp>
#include <keel/limits.hpp>
#include <keel/loop.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::inline KEEL_ABI {

/// The program to start. The command is searched in PATH unless it contains a slash.
struct KEEL_API child_process {
    std::string command = {};
    std::vector<std::string> arguments = {};
    /// Variables that are added to the environment of the child, or replace variables in it.
    std::vector<std::pair<std::string, std::string>> environment = {};
    std::string directory = {};  // working directory; "": that of this process
    /// Whether the child inherits all environment variables of this process, which may contain secrets. Otherwise it inherits only
    /// these: HOME, LANG, LANGUAGE, LC_*, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ, USER, and the XDG base directories
    /// (XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_RUNTIME_DIR, XDG_STATE_HOME).
    bool inherit_environment = false;
};

/// How a child process ended.
struct KEEL_API child_end {
    enum class kind : unsigned char {
        exited,     // `number` is the exit status
        signalled,  // `number` is the signal
        unknown,    // other code in this process has reaped the child
        remains,    // the child did not end in time after SIGKILL
    };
    kind how = kind::unknown;
    int number = 0;
    std::string stderr_tail = {};  // the last part of its standard error

    /// "exited with status 3", "was terminated by signal 9", …
    std::string text() const;
};

struct KEEL_API child_options {
    /// Only child_exit, child_term and child_reap are used.
    keel::limits limits = {};
    /// Called with the child's standard error output as it arrives. Standard error is read in any case, so the child never blocks.
    std::function<void(std::string_view)> on_stderr = {};
    /// Called once on the loop when the process has ended, even if its own child processes still hold its pipes open.
    std::function<void(const child_end&)> on_end = {};
};

struct KEEL_API started_child {
    /// Closing the connection shuts the child down: its input is closed and it gets child_exit to exit, while its output is
    /// still read; then its process group gets SIGTERM and child_term; then SIGKILL and child_reap.
    std::unique_ptr<connection> wire;
    int pid = 0;
};

/// Starts a child in a process group of its own. It inherits only the three standard descriptors. Throws std::system_error if it
/// cannot be started. Must be called on the loop, which must be one of the library's.
KEEL_API started_child start_child(loop&, const child_process&, child_options = {});

}  // namespace keel
