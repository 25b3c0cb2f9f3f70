#include "console.hpp"

#include "printable.hpp"

#include <cerrno>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace keel::command {

namespace {
constexpr std::size_t most_held = 1000;  // lines held back while the user answers a question
}

std::size_t terminal_columns(int fd) {
    if (::isatty(fd) == 0) return 0;
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

bool colors_wanted() {
    const char* off = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return (!off || *off == 0) && (!terminal || std::string_view(terminal) != "dumb");
}

console::console(int fd) : fd_(fd), terminal_(::isatty(fd) != 0), colours_(terminal_ && colors_wanted()) {}

console::~console() { clear_status(); }

void console::put(std::string_view text) {
    while (!text.empty()) {
        ssize_t n = ::write(fd_, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return;  // the terminal is gone
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

void console::erase_status() {
    if (!status_.empty()) put("\r\x1b[K");
}

void console::say(std::string_view line) {
    std::lock_guard lock(mutex_);
    if (asking_) {
        if (held_.size() < most_held) held_.emplace_back(line);
        else ++dropped_;
        return;
    }
    erase_status();
    put(std::string(line) + "\n" + status_);
}

void console::show_status(std::string_view text) {
    if (!terminal_) return;
    std::lock_guard lock(mutex_);
    if (asking_) return;
    // Leave the last column free: some terminals wrap there.
    std::string now = cut_to(text, terminal_columns(fd_) - 1);
    if (now == status_) return;
    put("\r" + now + "\x1b[K");
    status_ = std::move(now);
}

void console::clear_status() {
    std::lock_guard lock(mutex_);
    erase_status();
    status_.clear();
}

void console::show_prompt(std::string rendered) {
    std::lock_guard lock(mutex_);
    put("\r\x1b[K" + rendered);
    status_ = std::move(rendered);
}

void console::end_prompt() {
    std::lock_guard lock(mutex_);
    put("\r\n");
    status_.clear();
}

console::question::question(console& c) : console_(c) {
    std::lock_guard lock(c.mutex_);
    c.erase_status();
    c.status_.clear();
    c.asking_ = true;
}

console::question::~question() {
    std::lock_guard lock(console_.mutex_);
    console_.asking_ = false;
    for (const std::string& each : console_.held_) console_.put(each + "\n");
    if (console_.dropped_ != 0) console_.put("(" + std::to_string(console_.dropped_) + " more messages)\n");
    console_.held_.clear();
    console_.dropped_ = 0;
}

void console::question::write(std::string_view text) {
    std::lock_guard lock(console_.mutex_);
    console_.put(text);
}

}  // namespace keel::command
