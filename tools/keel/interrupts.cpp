#include "interrupts.hpp"

#include "child_groups.hpp"
#include "exit_status.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace keel::command {

namespace {

int opened(int fd, const char* what) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
    return fd;
}

}  // namespace

interrupts::interrupts() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now{};
        ::sigaction(number, nullptr, &now);
        if (now.sa_handler != SIG_IGN) sigaddset(&wanted, number);
    }
    signals_ = opened(::signalfd(-1, &wanted, SFD_CLOEXEC), "signalfd");
    end_ = opened(::eventfd(0, EFD_CLOEXEC), "eventfd");
    sigset_t blocked = wanted;
    // Read through a signalfd (terminal_input.hpp); a blocked SIGCONT still continues the process.
    sigaddset(&blocked, SIGCONT);
    ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    thread_ = std::thread([this] { watch(); });
}

interrupts::~interrupts() {
    std::uint64_t one = 1;
    while (::write(end_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
    ::close(signals_);
    ::close(end_);
}

std::stop_token interrupts::token() const {
    std::lock_guard lock(mutex_);
    return source_.get_token();
}

void interrupts::rearm() {
    std::lock_guard lock(mutex_);
    source_ = std::stop_source();
    caught_ = 0;
}

void interrupts::watch() {
    std::array<pollfd, 2> on = {{{signals_, POLLIN, 0}, {end_, POLLIN, 0}}};
    while (true) {
        if (::poll(on.data(), on.size(), -1) < 0) continue;
        if (on[1].revents != 0) return;
        signalfd_siginfo info{};
        if (::read(signals_, &info, sizeof info) != sizeof info) continue;
        int number = static_cast<int>(info.ssi_signo);
        if (int none = 0; caught_.compare_exchange_strong(none, number)) {
            std::stop_source now;
            {
                std::lock_guard lock(mutex_);
                now = source_;
            }
            now.request_stop();
            continue;
        }
        // The second signal: exit without cleanup, but do not leave a server process behind.
        kill_child_groups();
        std::_Exit(exit_status::by_signal + number);
    }
}

}  // namespace keel::command
