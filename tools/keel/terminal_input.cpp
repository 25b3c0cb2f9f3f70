#include "terminal_input.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace keel::command {

namespace {

constexpr std::size_t longest_line = 64 * 1024;

class wake_up {
public:
    wake_up() : fd_(::eventfd(0, EFD_CLOEXEC)) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    wake_up(const wake_up&) = delete;
    wake_up& operator=(const wake_up&) = delete;
    ~wake_up() { ::close(fd_); }

    int fd() const noexcept { return fd_; }
    void operator()() const noexcept {
        std::uint64_t one = 1;
        while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }

private:
    int fd_;
};

}  // namespace

terminal_input::terminal_input() {
    if (::isatty(STDIN_FILENO) != 0) {
        fd_ = STDIN_FILENO;
    } else {
        fd_ = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
        own_ = true;
    }
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCONT);
    continued_ = ::signalfd(-1, &wanted,
                            SFD_CLOEXEC | SFD_NONBLOCK);  // on failure, the question is not shown again after Ctrl-Z
}

terminal_input::~terminal_input() {
    if (own_ && fd_ >= 0) ::close(fd_);
    if (continued_ >= 0) ::close(continued_);
}

void terminal_input::discard_resumed() { resumed(); }

bool terminal_input::resumed() {
    signalfd_siginfo info{};
    return ::read(continued_, &info, sizeof info) == sizeof info;
}

typed terminal_input::read_line(const std::stop_token& one, const std::stop_token& other) {
    wake_up wake;
    std::stop_callback on_one(one, [&wake] { wake(); });
    std::stop_callback on_other(other, [&wake] { wake(); });
    std::array<pollfd, 3> on = {{{fd_, POLLIN, 0}, {wake.fd(), POLLIN, 0}, {continued_, POLLIN, 0}}};
    while (true) {
        if (auto end = rest_.find('\n'); end != std::string::npos) {
            typed t{typed::kind::line, rest_.substr(0, end)};
            rest_.erase(0, end + 1);
            if (t.line.ends_with('\r')) t.line.pop_back();
            return t;
        }
        if (rest_.size() > longest_line) return {};
        if (::poll(on.data(), on.size(), -1) < 0) continue;
        if (on[1].revents != 0) return {typed::kind::stopped, {}};
        if (on[2].revents != 0 && resumed()) return {typed::kind::resumed, {}};
        if (on[0].revents == 0) continue;
        std::array<char, 4096> chunk;
        ssize_t n = ::read(fd_, chunk.data(), chunk.size());
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) {
            rest_.clear();
            return {};
        }
        rest_.append(chunk.data(), static_cast<std::size_t>(n));
    }
}

void terminal_input::forget_typed() {
    rest_.clear();
    ::tcflush(fd_, TCIFLUSH);
}

}  // namespace keel::command
