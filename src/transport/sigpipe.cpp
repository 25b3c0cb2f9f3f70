#include "transport/sigpipe.hpp"

#include <csignal>
#include <cstddef>
#include <mutex>

namespace keel::inline KEEL_ABI::transport {

namespace {

// Signal dispositions belong to the process, so this does too. Loops of several threads meet here.
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
    // Whoever chose something else has chosen not to be killed.
    if ((current.sa_flags & SA_SIGINFO) || current.sa_handler != SIG_DFL) return;
    // Not SIG_IGN: that would be inherited by every program a handler starts. A handler is reset by exec.
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
    // Only what is still ours is taken back.
    if ((current.sa_flags & SA_SIGINFO) || current.sa_handler != nothing) return;
    struct sigaction before{};
    before.sa_handler = SIG_DFL;
    ::sigemptyset(&before.sa_mask);
    ::sigaction(SIGPIPE, &before, nullptr);
}

}  // namespace keel::transport
