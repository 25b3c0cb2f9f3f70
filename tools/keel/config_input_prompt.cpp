#include "config_input_prompt.hpp"

#include "printable.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace keel::command {

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Ctrl-C ends the program only after the terminal echoes again.
class delayed_interrupt {
public:
    delayed_interrupt() {
        interrupted = 0;
        struct sigaction note{};
        note.sa_handler = [](int) { interrupted = 1; };
        ::sigaction(SIGINT, &note, &before_);
        if (before_.sa_handler == SIG_IGN) ::sigaction(SIGINT, &before_, nullptr);
        // Delivered only while wait_for_input() waits: a signal just before that would go unnoticed.
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGINT);
        ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_);
    }
    delayed_interrupt(const delayed_interrupt&) = delete;
    delayed_interrupt& operator=(const delayed_interrupt&) = delete;
    ~delayed_interrupt() {
        ::sigaction(SIGINT, &before_, nullptr);
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        if (interrupted != 0) ::raise(SIGINT);
    }

    /// Waits until `fd` can be read. Returns false after an interrupt.
    bool wait_for_input(int fd) const {
        pollfd input{fd, POLLIN, 0};
        while (interrupted == 0) {
            if (::ppoll(&input, 1, nullptr, &mask_) >= 0 || errno != EINTR) return true;
        }
        return false;
    }

private:
    struct sigaction before_{};
    sigset_t mask_{};
};

/// The controlling terminal, without echo if the answer is a password.
class prompt_terminal {
public:
    explicit prompt_terminal(bool secret) : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
        if (fd_ < 0 || ::tcgetattr(fd_, &before_) != 0 || !secret) return;
        termios quiet = before_;
        quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(fd_, TCSAFLUSH, &quiet) == 0;
    }
    prompt_terminal(const prompt_terminal&) = delete;
    prompt_terminal& operator=(const prompt_terminal&) = delete;
    ~prompt_terminal() {
        if (changed_) {
            ::tcsetattr(fd_, TCSAFLUSH, &before_);
            write("\n");
        }
        if (fd_ >= 0) ::close(fd_);
    }

    bool there() const noexcept { return fd_ >= 0; }
    void write(const std::string& text) const {
        std::size_t done = 0;
        while (done < text.size()) {
            ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
            if (n < 0 && errno != EINTR) return;
            if (n > 0) done += static_cast<std::size_t>(n);
        }
    }
    std::optional<std::string> read_line(const delayed_interrupt& interrupt) const {
        std::string line;
        char c = 0;
        while (interrupt.wait_for_input(fd_)) {
            ssize_t n = ::read(fd_, &c, 1);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return std::nullopt;
            if (c == '\n') return line;
            line += c;
        }
        return std::nullopt;
    }

private:
    int fd_;
    termios before_{};
    bool changed_ = false;
};

}  // namespace

std::optional<std::string> ask_for_input(const config_input& in) {
    delayed_interrupt interrupt;  // ends after the terminal is restored
    prompt_terminal terminal(in.password);
    if (!terminal.there()) return in.preset;
    std::string question = printable_line(in.description.empty() ? in.id : in.description);
    for (const std::string& each : in.options) terminal.write("  " + printable_line(each) + "\n");
    if (in.preset && !in.password) question += " [" + printable_line(*in.preset) + "]";
    while (true) {
        terminal.write(question + ": ");
        auto line = terminal.read_line(interrupt);
        if (!line) return std::nullopt;
        if (line->empty() && in.preset) return in.preset;
        if (in.options.empty() || std::find(in.options.begin(), in.options.end(), *line) != in.options.end())
            return line;
    }
}

}  // namespace keel::command
