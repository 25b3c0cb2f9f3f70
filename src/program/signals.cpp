#include "program/signals.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace keel::inline KEEL_ABI::program {

namespace {

// The only state that the signal handler may use: it must be async-signal-safe.
std::atomic<int> wake_descriptor{-1};
std::atomic<int> stops_seen{0};
std::atomic<bool> hung_up{false};

extern "C" void on_signal(int number) {
    int before = errno;
    if (number == SIGHUP) hung_up = true;
    else if (stops_seen.fetch_add(1) > 0) _exit(128 + number);
    std::uint64_t one = 1;
    // A failed write cannot be reported here; the next signal ends the process.
    [[maybe_unused]] ssize_t n = write(wake_descriptor.load(), &one, sizeof one);
    errno = before;
}

}  // namespace

struct signal_watch::saved {
    struct sigaction term;
    struct sigaction interrupt;
    struct sigaction hang_up;
};

signal_watch::signal_watch(async::reactor& on, std::function<void()> stop, std::function<void()> hang_up)
    : stop_(std::move(stop)), hang_up_(std::move(hang_up)), saved_(new saved) {
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    watch_ = on.watch_descriptor(wake_, *this);
    watch_->want(async::reactor::readable);
    wake_descriptor = wake_;
    stops_seen = 0;
    hung_up = false;
    struct sigaction act = {};
    act.sa_handler = on_signal;
    act.sa_flags = SA_RESTART;
    sigemptyset(&act.sa_mask);
    sigaction(SIGTERM, &act, &saved_->term);
    sigaction(SIGINT, &act, &saved_->interrupt);
    sigaction(SIGHUP, &act, &saved_->hang_up);
}

signal_watch::~signal_watch() {
    sigaction(SIGTERM, &saved_->term, nullptr);
    sigaction(SIGINT, &saved_->interrupt, nullptr);
    sigaction(SIGHUP, &saved_->hang_up, nullptr);
    wake_descriptor = -1;
    watch_.reset();
    close(wake_);
}

void signal_watch::on_ready(unsigned) {
    std::uint64_t count = 0;
    if (read(wake_, &count, sizeof count) != sizeof count) return;
    if (hung_up.exchange(false)) hang_up_();
    if (stops_seen > 0 && !std::exchange(stopped_, true)) stop_();
}

bool input_is_terminal() noexcept { return isatty(STDIN_FILENO) == 1; }

}  // namespace keel::program
