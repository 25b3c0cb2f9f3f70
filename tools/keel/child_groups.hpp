#pragma once

// Kills the child processes of the command when it exits without waiting for them.

#include <functional>

#include <sys/types.h>

namespace keel::command {

/// Starts a process that may outlive keel: the user's browser. `start` returns its process id, or 0 if nothing was
/// started.
pid_t start_to_stay(const std::function<pid_t()>& start);
/// Kills every other child of this process, with its process group.
void kill_child_groups();

}  // namespace keel::command
