#include <keel/log.hpp>

#include "transport/descriptor.hpp"
#include "transport/sigpipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace keel::inline KEEL_ABI {

namespace {

transport::descriptor open_for_append(const std::string& path) {
    // O_NONBLOCK matters for pipes and terminals only. Without a reader, opening a named pipe fails instead of waiting.
    transport::descriptor fd(
        ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640));
    if (!fd) transport::throw_errno("cannot open the log file " + path);
    return fd;
}

}  // namespace

log_file::log_file(std::string path) : path_(std::move(path)), guard_(std::make_shared<transport::sigpipe_guard>()) {
    transport::descriptor fd = open_for_append(path_);
    // Not 0, 1 or 2: a program without standard error must not write its messages for users into this file.
    fd_ = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
    if (fd_ < 0) transport::throw_errno("cannot open the log file " + path_);
    struct stat about = {};
    kind_ = ::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode) ? kind::file : kind::pipe;
}

log_file::log_file(int descriptor) : fd_(descriptor), guard_(std::make_shared<transport::sigpipe_guard>()) {
    struct stat about = {};
    const bool known = ::fstat(fd_, &about) == 0;
    kind_ = known && S_ISREG(about.st_mode) ? kind::file : known && S_ISSOCK(about.st_mode) ? kind::socket : kind::pipe;
}

log_file::~log_file() {
    if (!path_.empty()) ::close(fd_);
}

bool log_file::write_line(std::string_view text) noexcept {
    // One system call per line, so that lines of several threads and processes are not mixed. A pipe that is writable accepts PIPE_BUF
    // bytes without blocking.
    constexpr std::size_t room = PIPE_BUF - 2;
    char line[PIPE_BUF];
    std::size_t size = 0;
    if (cut_.load(std::memory_order_relaxed)) line[size++] = '\n';
    text = text.substr(0, room);
    size += text.copy(line + size, text.size());
    line[size++] = '\n';
    if (write_all({line, size})) return true;
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
}

bool log_file::write_all(std::string_view line) noexcept {
    if (kind_ == kind::pipe) {
        // A descriptor of the caller may be in blocking mode, and other processes may depend on that.
        pollfd out = {fd_, POLLOUT, 0};
        if (::poll(&out, 1, 0) != 1 || (out.revents & (POLLERR | POLLHUP)) || !(out.revents & POLLOUT)) return false;
    }
    ssize_t n = 0;
    do {
        n = kind_ == kind::socket ? ::send(fd_, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : ::write(fd_, line.data(), line.size());
    } while (n < 0 && errno == EINTR);
    if (n == static_cast<ssize_t>(line.size())) {
        cut_.store(false, std::memory_order_relaxed);
        return true;
    }
    if (n > 0) cut_.store(true, std::memory_order_relaxed);  // the disk became full
    return false;
}

void log_file::reopen() {
    if (path_.empty()) return;
    transport::descriptor fd = open_for_append(path_);
    // Replaces the file behind fd_ atomically, so that other threads can write meanwhile.
    if (::dup3(fd.get(), fd_, O_CLOEXEC) < 0) transport::throw_errno("cannot reopen the log file " + path_);
}

}  // namespace keel
