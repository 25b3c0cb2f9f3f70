#pragma once

// A file descriptor with one owner.

#include <keel/version.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace keel::inline KEEL_ABI::transport {

class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~descriptor() { reset(); }

    explicit operator bool() const noexcept { return fd_ >= 0; }
    int get() const noexcept { return fd_; }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

[[noreturn]] inline void throw_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

/// Duplicates a descriptor. The result is never 0, 1 or 2 and has O_CLOEXEC.
inline descriptor duplicate(int fd) {
    descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy) throw_errno("cannot duplicate descriptor " + std::to_string(fd));
    return copy;
}

}  // namespace keel::transport
