#include "child_groups.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <vector>

namespace keel::command {

namespace {

std::mutex mutex;
std::vector<pid_t> staying;

/// Asks /proc, because the library does not expose the process ids of its children.
std::vector<pid_t> children() {
    std::vector<pid_t> all;
    std::error_code wrong;
    std::filesystem::directory_iterator end;
    for (std::filesystem::directory_iterator at("/proc/self/task", wrong); !wrong && at != end; at.increment(wrong)) {
        std::ifstream list(at->path() / "children");  // the children of this thread
        for (pid_t each = 0; list >> each;) all.push_back(each);
    }
    return all;
}

}  // namespace

pid_t start_to_stay(const std::function<pid_t()>& start) {
    std::lock_guard lock(mutex);  // from its first moment, kill_child_groups() must not kill this process
    pid_t pid = start();
    if (pid != 0) staying.push_back(pid);
    return pid;
}

void kill_child_groups() {
    std::lock_guard lock(mutex);
    for (pid_t each : children()) {
        if (std::find(staying.begin(), staying.end(), each) != staying.end()) continue;
        // Each child leads its own process group, except for a moment after it was started.
        if (::kill(-each, SIGKILL) != 0) ::kill(each, SIGKILL);
    }
}

}  // namespace keel::command
