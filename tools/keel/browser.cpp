#include "browser.hpp"

#include "child_groups.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace keel::command {

namespace {

// A browser command that fails does so soon. One that still runs after this time has opened the page.
constexpr std::chrono::milliseconds time_to_fail{1500};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);) {
        if (part.find_first_not_of(' ') != std::string::npos) parts.push_back(part);
    }
    return parts;
}

std::vector<std::string> words_of(const std::string& command, const std::string& address) {
    std::vector<std::string> words;
    bool placed = false;
    for (std::string word : split(command, ' ')) {
        if (auto gap = word.find("%s"); gap != std::string::npos) {
            word.replace(gap, 2, address);
            placed = true;
        }
        words.push_back(std::move(word));
    }
    if (!placed) words.push_back(address);
    return words;
}

/// Returns 0 on failure, with the reason in errno.
pid_t start(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& each : words) arguments.push_back(each.data());
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t how;
    ::posix_spawnattr_init(&how);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&how, &none);
    ::posix_spawnattr_setpgroup(&how, 0);  // Ctrl-C is for keel alone
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    errno = ::posix_spawnp(&pid, arguments[0], &files, &how, arguments.data(), environ);
    int wrong = errno;
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    errno = wrong;
    return wrong == 0 ? pid : 0;
}

/// Its wait status if it ends in time. A browser may run longer than keel; init reaps it then.
int early_end(pid_t pid) {
    int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (process < 0) return 0;
    pollfd on{process, POLLIN, 0};
    int ready = ::poll(&on, 1, static_cast<int>(time_to_fail.count()));
    ::close(process);
    int status = 0;
    return ready > 0 && ::waitpid(pid, &status, WNOHANG) == pid ? status : 0;
}

std::string try_one(const std::vector<std::string>& words) {
    pid_t pid = start_to_stay([&] { return start(words); });
    if (pid == 0) return "cannot start " + words[0] + ": " + std::strerror(errno);
    int status = early_end(pid);
    if (status == 0) return {};
    if (WIFSIGNALED(status)) return words[0] + " was terminated by signal " + std::to_string(WTERMSIG(status));
    return words[0] + " exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::string open_in_browser(const std::string& address) {
    const char* chosen = std::getenv("BROWSER");
    std::vector<std::string> commands = split(chosen ? chosen : "", ':');
    if (commands.empty()) commands.emplace_back("xdg-open");
    std::string problems;
    for (const std::string& each : commands) {
        std::string problem = try_one(words_of(each, address));
        if (problem.empty()) return {};
        problems += (problems.empty() ? "" : "; ") + problem;
    }
    return problems;
}

}  // namespace keel::command
