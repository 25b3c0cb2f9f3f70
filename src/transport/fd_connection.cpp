#include "transport/fd_connection.hpp"

#include "transport/sockets.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace keel::inline KEEL_ABI::transport {

namespace {

using async::reactor;

constexpr std::size_t default_pipe = 64 * 1024;

std::string text_of(int error) { return std::generic_category().message(error); }

bool is_socket_descriptor(int fd) noexcept {
    struct stat s{};
    return ::fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode);
}

void make_non_blocking(int fd) {
    int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (!(flags & O_NONBLOCK) && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)) {
        throw_errno("cannot set O_NONBLOCK");
    }
}

}  // namespace

fd_connection::end::end(fd_connection& c, handler h, descriptor d) noexcept
    : owner(c), on_event(h), fd(std::move(d)), is_socket(is_socket_descriptor(fd.get())) {}

// At the first message that fills the pipe: a larger pipe needs fewer waits, but the system limits the total size of the pipes of
// a user.
bool fd_connection::end::grow_pipe() noexcept {
    constexpr int wanted = 256 * 1024;
    if (is_socket || std::exchange(grown, true)) return false;
    int size = ::fcntl(fd.get(), F_GETPIPE_SZ);  // fails if it is not a pipe
    return size > 0 && size < wanted && ::fcntl(fd.get(), F_SETPIPE_SZ, wanted) > 0;
}

fd_connection::fd_connection(reactor& r, descriptor input, descriptor output, std::string name,
                             std::function<void()> closed)
    : reactor_(r.shared_from_this()), input_(*this, &fd_connection::input_event, std::move(input)),
      output_(std::in_place, *this, &fd_connection::output_event, std::move(output)), name_(std::move(name)),
      on_closed_(std::move(closed)) {
    if (!output_->is_socket) sigpipe_.emplace();
}

fd_connection::fd_connection(reactor& r, descriptor socket, std::string name, std::function<void()> closed)
    : reactor_(r.shared_from_this()), input_(*this, &fd_connection::input_event, std::move(socket)),
      name_(std::move(name)), on_closed_(std::move(closed)) {}

fd_connection::~fd_connection() {
    close();
    if (destroyed_) *destroyed_ = true;
}

void fd_connection::end_with_process(descriptor pidfd, std::string cause) {
    process_ = std::make_unique<end>(*this, &fd_connection::process_event, std::move(pidfd));
    process_ended_ = std::move(cause);
}

void fd_connection::start(listener& l) {
    if (closed_) return;
    input_.watch = reactor_->watch_descriptor(input_.fd.get(), input_);
    if (input_.watch) {
        if (!input_.is_socket) make_non_blocking(input_.fd.get());
        input_.watch->want(reactor::readable);
    }
    if (output_) {
        output_->watch = reactor_->watch_descriptor(output_->fd.get(), *output_);
        if (output_->watch && !output_->is_socket) make_non_blocking(output_->fd.get());
    }
    if (process_) {
        process_->watch = reactor_->watch_descriptor(process_->fd.get(), *process_);
        process_->watch->want(reactor::readable);
    }
    listener_ = &l;
    if (!input_.watch) read_later();
}

unsigned fd_connection::input_interest() const noexcept {
    unsigned events = 0;
    if (!paused_ && !input_ended_) events |= reactor::readable;
    if (duplex() && blocked_) events |= reactor::writable;
    return events;
}

void fd_connection::input_event(unsigned events) {
    bool gone = false;
    destroyed_ = &gone;
    if (events & reactor::broken) hung_up_ = true;
    if (!paused_ && !input_ended_) {
        // After a hang-up, first read all input that was sent before it.
        if (events & (reactor::readable | reactor::broken)) read_some();
    }
    if (!gone && listener_ && duplex()) {
        if (hung_up_ && (paused_ || input_ended_)) {
            fail(cause_of_hang_up());
        } else if (events & reactor::writable) {
            became_writable();
        }
    }
    if (!gone) destroyed_ = nullptr;
}

void fd_connection::output_event(unsigned events) {
    if (events & reactor::broken) return fail(cause_of_hang_up());
    if (events & reactor::writable) became_writable();
}

void fd_connection::process_event(unsigned) {
    process_->watch.reset();
    if (input_ended_) return;
    // Without another process that has the stream open, the normal end follows: first the remaining input, then its end.
    pollfd state{input_.fd.get(), POLLRDHUP, 0};
    if (::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLRDHUP)) != 0) return;
    fail(std::string(process_ended_));  // a copy: the listener may destroy this object
}

void fd_connection::stop_watching() noexcept {
    input_.watch.reset();
    if (output_) output_->watch.reset();
    if (process_) process_->watch.reset();
}

void fd_connection::read_some() {
    std::span<char> room = listener_->input_room();
    if (room.empty()) room = reactor_->read_buffer();
    ssize_t n = input_.is_socket ? ::recv(input_.fd.get(), room.data(), room.size(), MSG_DONTWAIT)
                                 : ::read(input_.fd.get(), room.data(), room.size());
    if (n > 0) {
        if (static_cast<std::size_t>(n) >= default_pipe) input_.grow_pipe();
        // No second read after a short one: it would only return EAGAIN, and the loop reports new input.
        listener_->on_input(std::string_view(room.data(), static_cast<std::size_t>(n)));
        return;
    }
    if (n == 0) {
        input_ended_ = true;
        if (duplex()) {
            input_.watch->want(input_interest());
        } else {
            input_.watch.reset();  // a hang-up of the input says nothing about the output
        }
        return listener_->on_input_end();
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
    fail("read failed: " + text_of(errno));
}

void fd_connection::read_later() {
    if (read_posted_ || paused_ || input_ended_ || !listener_) return;
    read_posted_ = true;
    reactor_->post([this, alive = std::weak_ptr<const bool>(alive_)] {
        if (alive.expired()) return;
        read_posted_ = false;
        if (!listener_ || paused_ || input_ended_ || failed_) return;
        read_some();
        if (!alive.expired() && listener_ && !failed_) read_later();
    });
}

connection::written fd_connection::write(std::string_view bytes) {
    if (closed_ || failed_) return {0, "the connection is closed"};
    if (blocked_) return {};
    end& to = output();
    written done;
    while (done.bytes < bytes.size()) {
        const char* from = bytes.data() + done.bytes;
        std::size_t left = bytes.size() - done.bytes;
        ssize_t n = to.is_socket ? ::send(to.fd.get(), from, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : ::write(to.fd.get(), from, left);
        if (n >= 0) {
            done.bytes += static_cast<std::size_t>(n);
            if (done.bytes == bytes.size() || !to.watch) continue;  // a file accepts the rest in the next iteration
            if (to.grow_pipe()) continue;
            blocked_ = true;
        } else if (errno == EINTR) {
            continue;
        } else if ((errno == EAGAIN || errno == EWOULDBLOCK) && to.watch) {
            if (to.grow_pipe()) continue;
            blocked_ = true;
        } else {
            failed_ = true;
            done.failure = "write failed: " + text_of(errno);
            stop_watching();
            return done;
        }
        to.watch->want(duplex() ? input_interest() : reactor::writable);
        return done;
    }
    return done;
}

void fd_connection::became_writable() {
    if (!blocked_) return;
    blocked_ = false;
    bool gone = false;
    bool* outer = std::exchange(destroyed_, &gone);
    listener_->on_writable();
    if (gone) {
        if (outer) *outer = true;
        return;
    }
    destroyed_ = outer;
    // Only now: a long message blocks again, and then the interest in writing has not changed.
    if (!blocked_ && output().watch) output().watch->want(duplex() ? input_interest() : 0);
}

void fd_connection::pause() noexcept {
    if (std::exchange(paused_, true) || !input_.watch) return;
    input_.watch->want(input_interest());
}

void fd_connection::resume() {
    if (!std::exchange(paused_, false) || !listener_ || input_ended_ || failed_) return;
    if (input_.watch) {
        input_.watch->want(input_interest());
    } else {
        read_later();
    }
}

void fd_connection::expect_more_input() noexcept {
    // The system turns this off again by itself, so it is set after each read.
    if (acknowledges_ && !closed_) acknowledge_input(input_.fd.get());
}

void fd_connection::end_output() noexcept {
    if (!closed_ && !failed_ && duplex()) ::shutdown(input_.fd.get(), SHUT_WR);
}

void fd_connection::fail(const std::string& cause) {
    if (failed_) return;
    failed_ = true;
    stop_watching();
    listener_->on_failure(cause);
}

std::string fd_connection::cause_of_hang_up() noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    if (output().is_socket && ::getsockopt(output().fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0) {
        return "the peer closed the connection: " + text_of(error);
    }
    return "the peer closed the connection";
}

void fd_connection::close() noexcept {
    if (std::exchange(closed_, true)) return;
    listener_ = nullptr;
    stop_watching();
    process_.reset();
    if (duplex() && !failed_) {
        // Closing a TCP socket with unread input sends a reset, which may overtake the data that we wrote. Shut down
        // the output first and read the pending input.
        int fd = input_.fd.get();
        ::shutdown(fd, SHUT_WR);
        char waste[16 * 1024];  // not the loop's buffer: a listener that closes may still be reading from that
        for (int turns = 0; turns < 64 && ::recv(fd, waste, sizeof waste, MSG_DONTWAIT) > 0;) ++turns;
    }
    input_.fd.reset();
    if (output_) output_->fd.reset();
    sigpipe_.reset();
    if (auto closed = std::exchange(on_closed_, nullptr)) closed();
}

}  // namespace keel::transport
