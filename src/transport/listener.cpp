#include "async/reactor.hpp"
#include "transport/fd_connection.hpp"
#include "transport/listen_address.hpp"
#include "transport/sockets.hpp"

#include <keel/transport.hpp>

#include <sys/stat.h>

#include <limits>
#include <string>

namespace keel::inline KEEL_ABI {

namespace {

using async::reactor;
using async::reactor_of;

using namespace transport;

// Wait after the process ran out of descriptors: the system does not notify when one is free again.
constexpr auto pause_when_exhausted = std::chrono::milliseconds(100);
// Limit per turn, so that a flood of new connections does not starve the existing ones.
constexpr int accepts_per_turn = 16;

/// Receives each accepted socket.
using taker = std::function<void(descriptor socket, std::string name)>;

class socket_listener final : public listener, private reactor::watcher {
public:
    socket_listener(reactor& r, descriptor socket) : reactor_(r.shared_from_this()), socket_(std::move(socket)) {
        shared_->owner = this;
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) throw_errno("getsockname");
        if (address.ss_family != AF_UNIX) {
            address_ = address_of(address, size);
            name_ = "tcp " + address_.text();
        }
    }
    ~socket_listener() override { close(); }

    /// Turns sockets into connections on the same loop, at most options.max_connections at a time.
    void make_connections(accepted on_accept, const listen_options& options) {
        max_ = options.max_connections;
        give_to([this, on_accept = std::move(on_accept)](descriptor peer, std::string name) {
            ++shared_->open;
            auto made = std::make_unique<fd_connection>(*reactor_, std::move(peer), std::move(name), [state = shared_] {
                --state->open;
                if (state->owner) state->owner->adjust();
            });
            on_accept(std::move(made));
        });
    }
    void give_to(taker t, std::string no_room = {}) {
        taker_ = std::make_shared<taker>(std::move(t));
        no_room_ = std::move(no_room);
        reserve();
        watch_ = reactor_->watch_descriptor(socket_.get(), *this);
        watch_->want(reactor::readable);
    }

    void set_name(std::string name) { name_ = std::move(name); }
    /// The listener removes the socket file on close.
    void owns_file(const std::string& path) {
        name_ = "unix " + path;
        path_ = path;
        if (::lstat(path.c_str(), &file_) != 0) throw_errno("cannot stat " + path);
    }

    void close() noexcept override {
        if (!socket_) return;
        shared_->owner = nullptr;
        reactor_->stop_timer(std::exchange(retry_, 0));
        watch_.reset();
        struct stat now{};
        // Another process may have replaced it with its own socket.
        if (!path_.empty() && ::lstat(path_.c_str(), &now) == 0 && now.st_dev == file_.st_dev &&
            now.st_ino == file_.st_ino) {
            ::unlink(path_.c_str());
        }
        socket_.reset();
    }
    std::string describe() const override { return name_; }
    std::uint16_t port() const noexcept override { return address_.port; }

private:
    // Shared with every connection, since connections outlive the listener: their number, and the listener to notify.
    struct shared_state {
        std::size_t open = 0;
        socket_listener* owner = nullptr;  // null after close
    };

    void on_ready(unsigned) override {
        auto state = shared_;
        auto take = taker_;  // the callback may destroy this object
        for (int i = 0; i < accepts_per_turn && state->owner; ++i) {
            if (state->open >= max_) return adjust();
            sockaddr_storage address{};
            socklen_t size = sizeof address;
            descriptor peer = accept(&address, &size);
            if (!peer) {
                if (is_exhausted() && !send_away()) wait_for_room();
                // Other errors mean that there is no connection to accept, or that one peer has already gone.
                return;
            }
            std::string name = name_;
            if (address.ss_family != AF_UNIX) {
                send_at_once(peer.get());
                watch_for_silence(peer.get());
                name = "tcp " + address_of(address, size).text();
            }
            (*take)(std::move(peer), std::move(name));
        }
    }

    descriptor accept(sockaddr_storage* address, socklen_t* size) noexcept {
        return descriptor(
            ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(address), size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    }
    static bool is_exhausted() noexcept {
        return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    }

    // One descriptor is kept in reserve, so that a connection can still be accepted and refused when the process has no
    // others left.
    void reserve() noexcept {
        if (!no_room_.empty() && !reserve_) reserve_ = descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    bool send_away() noexcept {
        if (!reserve_) return false;
        reserve_.reset();
        descriptor peer = accept(nullptr, nullptr);
        if (peer) say_and_close(std::move(peer), no_room_);
        reserve();
        return static_cast<bool>(reserve_);
    }

    void adjust() {
        if (watch_) watch_->want(shared_->open < max_ && retry_ == 0 ? reactor::readable : 0);
    }

    void wait_for_room() {
        retry_ = reactor_->start_timer(reactor_->now() + pause_when_exhausted, [this] {
            retry_ = 0;
            reserve();
            adjust();
        });
        adjust();
    }

    std::shared_ptr<reactor> reactor_;
    descriptor socket_;
    std::shared_ptr<taker> taker_;  // shared with the turn that is calling it
    std::shared_ptr<shared_state> shared_ = std::make_shared<shared_state>();
    std::size_t max_ = std::numeric_limits<std::size_t>::max();
    std::string no_room_;
    descriptor reserve_;
    std::string name_;
    tcp_address address_;
    std::string path_;
    struct stat file_{};
    loop::timer retry_ = 0;
    std::unique_ptr<reactor::watch> watch_;
};

// Removes a stale socket file. Throws if the path is in use or is not a socket.
void clear_the_way(const std::string& path, const sockaddr_un& address) {
    struct stat s{};
    if (::lstat(path.c_str(), &s) != 0) {
        if (errno == ENOENT) return;
        throw_errno("cannot stat " + path);
    }
    if (!S_ISSOCK(s.st_mode)) {
        throw std::system_error(EEXIST, std::generic_category(),
                                "cannot listen on " + path + ": the file exists and is not a socket");
    }
    descriptor probe = open_socket(AF_UNIX);
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN) {
        throw std::system_error(EADDRINUSE, std::generic_category(),
                                "cannot listen on " + path + ": another process is listening on it");
    }
    if (errno == ENOENT) return;
    if (errno != ECONNREFUSED) throw_errno("cannot check whether " + path + " is in use");
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_errno("cannot remove " + path);
}

}  // namespace

namespace {

std::unique_ptr<socket_listener> bind_unix(reactor& r, const std::string& path, unsigned mode) {
    sockaddr_un address = unix_address(path);
    clear_the_way(path, address);
    descriptor socket = open_socket(AF_UNIX);
    // Before bind, which creates the file with this mode, so that there is no moment at which other users could
    // connect.
    if (::fchmod(socket.get(), mode) != 0) throw_errno("cannot restrict the permissions of " + path);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw_errno("cannot listen on " + path);
    }
    // bind has removed the bits of the umask.
    if (::chmod(path.c_str(), mode) != 0) throw_errno("cannot set the permissions of " + path);
    if (::listen(socket.get(), SOMAXCONN) != 0) throw_errno("cannot listen on " + path);
    auto made = std::make_unique<socket_listener>(r, std::move(socket));
    made->owns_file(path);
    return made;
}

std::unique_ptr<socket_listener> inherit(reactor& r, int listening) {
    listen_address where = address_of_listener(listening);
    descriptor socket(listening);
    int flags = ::fcntl(listening, F_GETFL);
    if (flags < 0 || ::fcntl(listening, F_SETFL, flags | O_NONBLOCK) < 0 ||
        ::fcntl(listening, F_SETFD, FD_CLOEXEC) < 0) {
        throw_errno("cannot use descriptor " + std::to_string(listening));
    }
    auto made = std::make_unique<socket_listener>(r, std::move(socket));
    if (where.what == listen_address::kind::unix_socket) made->set_name("unix " + where.path);
    return made;
}

std::unique_ptr<socket_listener> bind_tcp(reactor& r, const tcp_address& where) {
    addresses found = resolve(where, AI_PASSIVE);
    int error = 0;
    for (addrinfo* a = found.get(); a; a = a->ai_next) {
        descriptor socket = open_socket(a->ai_family);
        int on = 1;
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (::bind(socket.get(), a->ai_addr, a->ai_addrlen) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
            error = errno;
            continue;
        }
        return std::make_unique<socket_listener>(r, std::move(socket));
    }
    throw std::system_error(error, std::generic_category(), "cannot listen on " + where.text());
}

}  // namespace

std::unique_ptr<listener> listen_unix(loop& l, const std::string& path, listener::accepted on_accept,
                                      listen_options options) {
    auto made = bind_unix(reactor_of(l), path, 0600);
    made->make_connections(std::move(on_accept), options);
    return made;
}

std::unique_ptr<listener> listen_tcp(loop& l, const tcp_address& where, listener::accepted on_accept,
                                     listen_options options) {
    auto made = bind_tcp(reactor_of(l), where);
    made->make_connections(std::move(on_accept), options);
    return made;
}

namespace transport {

std::unique_ptr<listener> listen_tcp_sockets(loop& l, const tcp_address& where,
                                             std::function<void(descriptor, std::string)> taken, std::string no_room) {
    auto made = bind_tcp(reactor_of(l), where);
    made->give_to(std::move(taken), std::move(no_room));
    return made;
}

std::unique_ptr<listener> listen_unix_sockets(loop& l, const std::string& path, unsigned mode, taker taken,
                                              std::string no_room) {
    auto made = bind_unix(reactor_of(l), path, mode);
    made->give_to(std::move(taken), std::move(no_room));
    return made;
}

std::unique_ptr<listener> listen_inherited_sockets(loop& l, int listening, taker taken, std::string no_room) {
    auto made = inherit(reactor_of(l), listening);
    made->give_to(std::move(taken), std::move(no_room));
    return made;
}

std::unique_ptr<listener> listen_inherited(loop& l, int listening, listener::accepted on_accept,
                                           listen_options options) {
    auto made = inherit(reactor_of(l), listening);
    made->make_connections(std::move(on_accept), options);
    return made;
}

void say_and_close(descriptor socket, std::string_view words) noexcept {
    if (::send(socket.get(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
    ::shutdown(socket.get(), SHUT_WR);
    char waste[4096];
    for (int turns = 0; turns < 16 && ::recv(socket.get(), waste, sizeof waste, MSG_DONTWAIT) > 0;) ++turns;
}

}  // namespace transport

}  // namespace keel
