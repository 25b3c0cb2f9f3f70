#include "transport/sigpipe.hpp"

#include <csignal>
#include <cstddef>
#include <mutex>

namespace keel::inline KEEL_ABI::transport {

namespace {

// Signal dispositions are per process, so this state is global. Loops of several threads use it.
std::mutex mutex;
std::size_t guards = 0;
bool installed = false;

void nothing(int) {}

}  // namespace

sigpipe_guard::sigpipe_guard() {
    std::lock_guard lock(mutex);
    if (guards++ != 0) return;
    struct sigaction current{};
    ::sigaction(SIGPIPE, nullptr, &current);
    // The program has set its own disposition: keep it.
    if ((current.sa_flags & SA_SIGINFO) || current.sa_handler != SIG_DFL) return;
    // Not SIG_IGN: child processes would inherit it. A handler is reset by exec.
    struct sigaction ours{};
    ours.sa_handler = nothing;
    ours.sa_flags = SA_RESTART;
    ::sigemptyset(&ours.sa_mask);
    installed = ::sigaction(SIGPIPE, &ours, nullptr) == 0;
}

sigpipe_guard::~sigpipe_guard() {
    std::lock_guard lock(mutex);
    if (--guards != 0 || !installed) return;
    installed = false;
    struct sigaction current{};
    ::sigaction(SIGPIPE, nullptr, &current);
    // Restore the default only if our handler is still installed.
    if ((current.sa_flags & SA_SIGINFO) || current.sa_handler != nothing) return;
    struct sigaction before{};
    before.sa_handler = SIG_DFL;
    ::sigemptyset(&before.sa_mask);
    ::sigaction(SIGPIPE, &before, nullptr);
}

}  // namespace keel::transport
