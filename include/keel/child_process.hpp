#pragma once

// A server as a child process: its standard input and output are the wire.

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

/// What to start. The command is looked up in PATH unless it holds a slash.
struct KEEL_API child_process {
    std::string command = {};
    std::vector<std::string> arguments = {};
    /// Added to, or replacing, what this process has in its environment.
    std::vector<std::pair<std::string, std::string>> environment = {};
    std::string directory = {};  // "": this process's own
};

/// How a child ended.
struct KEEL_API child_end {
    enum class kind : unsigned char {
        exited,     // `number` is its status
        signalled,  // `number` is the signal
        unknown,    // somebody else in this process took its status
        remains,    // not even SIGKILL ended it in time
    };
    kind how = kind::unknown;
    int number = 0;
    std::string stderr_tail = {};  // the last it wrote to standard error

    /// "exited with status 3", "was ended by signal 9", …
    std::string text() const;
};

struct KEEL_API child_options {
    /// Its bounds child_exit, child_term and child_reap are used here.
    keel::limits limits = {};
    /// What it writes to standard error, as it comes. It is read in any case: a child never has to wait for it.
    std::function<void(std::string_view)> on_stderr = {};
    /// Called once, when the process has ended (whether or not something it started still holds its pipes), on the loop.
    std::function<void(const child_end&)> on_end = {};
};

struct KEEL_API started_child {
    /// Closing it ends the child in order: its input ends and it has child_exit to go, with its output still being read;
    /// then SIGTERM to its process group and child_term; then SIGKILL and child_reap.
    std::unique_ptr<connection> wire;
    int pid = 0;
};

/// Starts a child in a process group of its own, with nothing of ours but its three standard descriptors. Throws
/// std::system_error with the reason when it cannot be started. On the loop, which must be one of the library's own.
KEEL_API started_child start_child(loop&, const child_process&, child_options = {});

}  // namespace keel
