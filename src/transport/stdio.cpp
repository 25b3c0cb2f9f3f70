#include "transport/client_process.hpp"
#include "transport/descriptor.hpp"
#include "transport/fd_connection.hpp"

#include <keel/transport.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <stdexcept>

namespace keel::inline KEEL_ABI {

namespace {

using async::reactor;
using async::reactor_of;

using transport::descriptor;
using transport::duplicate;
using transport::throw_errno;

// A process has only one standard input.
std::atomic<bool> taken = false;

// Reopening /proc/self/fd/N gives our own file description, whose O_NONBLOCK does not affect other processes. It does
// not work for files (the position would be lost), sockets (not allowed) and devices (opening one may have side
// effects).
bool can_be_reopened(int fd, const struct stat& s) {
    constexpr unsigned tty_alt_major = 5;
    constexpr unsigned ptmx_minor = 2;  // opening it would create another terminal
    if (S_ISFIFO(s.st_mode)) return true;
    return S_ISCHR(s.st_mode) && ::isatty(fd) && s.st_rdev != makedev(tty_alt_major, ptmx_minor);
}

descriptor private_copy(int fd, int mode) {
    struct stat before{};
    if (::fstat(fd, &before) != 0) throw_errno("cannot stat descriptor " + std::to_string(fd));
    int flags = ::fcntl(fd, F_GETFL);
    bool allowed = flags >= 0 && ((flags & O_ACCMODE) == mode || (flags & O_ACCMODE) == O_RDWR);
    if (allowed && can_be_reopened(fd, before)) {
        std::string path = "/proc/self/fd/" + std::to_string(fd);
        descriptor own(::open(path.c_str(), mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        struct stat after{};
        if (own && ::fstat(own.get(), &after) == 0 && after.st_dev == before.st_dev && after.st_ino == before.st_ino) {
            return own;
        }
        // No /proc, another user's terminal, or a pipe without a reader: share the description and restore its flags
        // later.
    }
    return duplicate(fd);
}

bool same_socket(int a, int b) {
    struct stat x{};
    struct stat y{};
    return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && S_ISSOCK(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

// Holds the original descriptors 0 and 1, and restores them.
class standard_streams {
public:
    standard_streams() : input_(duplicate(0)), output_(duplicate(1)) {
        input_flags_ = ::fcntl(0, F_GETFL);
        output_flags_ = ::fcntl(1, F_GETFL);
        descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!null) throw_errno("cannot open /dev/null");
        if (::dup2(null.get(), 0) < 0 || ::dup2(2, 1) < 0) {
            int error = errno;
            restore();
            throw std::system_error(error, std::generic_category(), "cannot redirect standard input and output");
        }
    }
    standard_streams(const standard_streams&) = delete;
    standard_streams& operator=(const standard_streams&) = delete;
    ~standard_streams() { restore(); }

private:
    void restore() noexcept {
        ::dup2(input_.get(), 0);
        if (flush_stray_output()) ::dup2(output_.get(), 1);
        restore_flags(input_.get(), input_flags_);
        restore_flags(output_.get(), output_flags_);
    }
    // If the description is shared with other processes, its O_NONBLOCK must be restored.
    static void restore_flags(int fd, int before) noexcept {
        int now = ::fcntl(fd, F_GETFL);
        if (before < 0 || now < 0 || (now & O_NONBLOCK) == (before & O_NONBLOCK)) return;
        ::fcntl(fd, F_SETFL, (now & ~O_NONBLOCK) | (before & O_NONBLOCK));
    }
    // Text that was printed meanwhile and is still buffered must not reach the protocol stream. If it cannot be flushed
    // now (a thread is blocked while printing, or standard error has no reader), descriptor 1 is not restored.
    static bool flush_stray_output() noexcept {
        pollfd writable{1, POLLOUT, 0};
        if (::poll(&writable, 1, 0) < 1 || ::ftrylockfile(stdout) != 0) return false;
        bool flushed = ::fflush_unlocked(stdout) == 0;
        ::funlockfile(stdout);
        // Only after sync_with_stdio(false) does std::cout have its own buffer. (The argument true changes nothing.)
        if (!std::ios_base::sync_with_stdio(true)) flushed = std::cout.rdbuf()->pubsync() == 0 && flushed;
        return flushed;
    }

    descriptor input_;
    descriptor output_;
    int input_flags_ = 0;
    int output_flags_ = 0;
};

}  // namespace

void open_missing_standard_descriptors() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        int null = ::open("/dev/null", O_RDWR);  // gets the lowest free number
        if (null < 0) transport::throw_errno("cannot open /dev/null");
        if (null == fd) continue;
        transport::descriptor elsewhere(null);
        if (::dup2(null, fd) < 0) transport::throw_errno("cannot open a standard descriptor");
    }
}

stdio open_stdio(loop& l, stdio_options how) {
    reactor& r = reactor_of(l);
    if (taken.exchange(true)) {
        throw std::logic_error(
            "keel: standard input and output are already in use by another connection of this process");
    }
    struct claim {
        ~claim() { taken = false; }
    };
    auto claimed = std::make_shared<claim>();

    open_missing_standard_descriptors();
    descriptor input = private_copy(0, O_RDONLY);
    descriptor output = private_copy(1, O_WRONLY);
    struct stat s{};
    stdio made;
    made.input_is_file = ::fstat(input.get(), &s) == 0 && S_ISREG(s.st_mode);

    std::optional<transport::client_process> client;
    if (how.watch_client) client = transport::open_client_process();

    // Owned by the connection's close callback alone; a shared_ptr because std::function requires a copyable callable.
    auto streams = std::make_shared<standard_streams>();
    auto give_back = [claimed = std::move(claimed), streams = std::move(streams)]() mutable {
        streams.reset();
        claimed.reset();
    };
    std::unique_ptr<transport::fd_connection> wire;
    if (same_socket(input.get(), output.get())) {
        wire = std::make_unique<transport::fd_connection>(r, std::move(input), "stdio", std::move(give_back));
    } else {
        wire = std::make_unique<transport::fd_connection>(r, std::move(input), std::move(output), "stdio",
                                                          std::move(give_back));
    }
    if (client) {
        wire->end_with_process(std::move(client->pidfd),
                               "the client process " + std::to_string(client->pid) + " has ended");
    }
    made.wire = std::move(wire);
    return made;
}

}  // namespace keel
