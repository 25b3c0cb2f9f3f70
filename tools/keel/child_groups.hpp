#pragma once

// The programs that were started here, for when nobody waits for them any more.

#include <functional>

#include <sys/types.h>

namespace keel::command {

/// What is started by this goes on when we end: the person's browser. `start` gives its number; 0: nothing was started.
pid_t start_to_stay(const std::function<pid_t()>& start);
/// Kills every other child of this process, with all of its group.
void kill_child_groups();

}  // namespace keel::command
