// A page that the server wants to be opened: shown in full, opened by the person's browser and only if they say so
// (ELI-06 to ELI-08, ELI-19).

#include "exchange.hpp"
#include "printable.hpp"
#include "web_address.hpp"

#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace keel::command {

namespace {

/// Starts the browser with nothing of ours. False: there is none.
bool open_in_browser(std::string url) {
    const char* chosen = std::getenv("BROWSER");
    std::string program = chosen && *chosen ? chosen : "xdg-open";
    char* arguments[] = {program.data(), url.data(), nullptr};

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
    ::posix_spawnattr_setpgroup(&how, 0);  // Ctrl-C is for us
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    int wrong = ::posix_spawnp(&pid, program.c_str(), &files, &how, arguments, environ);
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    return wrong == 0;  // it may go on as long as it likes; when we end, somebody else hears of its end
}

}  // namespace

elicit_action asker::ask_url(const asked_by& who, const url_question& q) {
    exchange with(*this, who);
    if (with.over()) return elicit_action::cancel;
    web_address a = read_web_address(q.url);
    with.line("\n" + with.bold(with.asker_name()) + " wants you to open a web page:");
    with.line("  " + printable_line(q.message));
    with.line("  " + printable_line(a.before) + with.bold(printable_line(a.host)) + printable_line(a.after));
    if (!a.problem.empty()) {
        with.line("  This is declined: " + a.problem + ".");
        return elicit_action::decline;
    }
    with.line("  The site is " + with.bold(printable_line(a.host)));
    for (const std::string& each : a.warnings) with.line("  Warning: " + each);
    with.forget_typed();
    auto letter = with.ask_letter("Open it? [o]pen in the browser, [m]yself elsewhere, [d]ecline, [c]ancel: ", "omdc");
    if (!letter || *letter == 'c') return elicit_action::cancel;
    if (*letter == 'd') return elicit_action::decline;
    if (*letter == 'o' && !open_in_browser(q.url))
        with.line("  No browser could be started. Please open the address yourself.");
    return elicit_action::accept;
}

}  // namespace keel::command
