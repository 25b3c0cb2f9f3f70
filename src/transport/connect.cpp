#include "async/reactor.hpp"
#include "async/worker_pool.hpp"
#include "transport/fd_connection.hpp"
#include "transport/sockets.hpp"

#include <keel/async.hpp>
#include <keel/transport.hpp>

#include <exception>

namespace keel::inline KEEL_ABI {

using async::reactor;
using async::reactor_of;
using async::worker_pool;

using namespace transport;

namespace {

bool is_numeric(const tcp_address& to) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (::getaddrinfo(to.host.c_str(), nullptr, &hints, &found) != 0) return false;
    ::freeaddrinfo(found);
    return true;
}

// Resolves a name on its own thread: the system's resolver blocks and cannot be interrupted.
class lookup final : public detail::wait {
public:
    explicit lookup(tcp_address to) : state_(std::make_shared<state>()) { state_->to = std::move(to); }
    ~lookup() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        state_->waiting = this;
        reactor_ = reactor_of(current().loop()).shared_from_this();
        auto look = [s = state_, r = reactor_] {
            try {
                s->found = resolve(s->to, 0);
            } catch (const std::exception&) {
                s->failure = std::current_exception();
            }
            r->post([s] {
                if (lookup* w = std::exchange(s->waiting, nullptr)) w->resume();
            });
        };
        try {
            pool_.submit(std::move(look));
        } catch (...) {  // no thread or no memory: rethrown by the wait
            state_->waiting = nullptr;
            leave();
            throw;
        }
        return true;
    }
    addresses await_resume() {
        // If the wait was cancelled, the thread finishes on its own; it uses only what it owns.
        pool_.shut_down(duration::zero());
        check();
        if (state_->failure) std::rethrow_exception(state_->failure);
        return std::move(state_->found);
    }

private:
    struct state {
        tcp_address to;
        addresses found;
        std::exception_ptr failure;
        lookup* waiting = nullptr;  // used on the loop only
    };
    void interrupt() noexcept override {
        state_->waiting = nullptr;
        resume();
    }

    std::shared_ptr<state> state_;  // shared with the thread, which may end later
    std::shared_ptr<reactor> reactor_;
    worker_pool pool_{1};
};

// Waits until a pending connect has succeeded or failed.
class connecting final : public detail::wait, private reactor::watcher {
public:
    connecting(reactor& r, int fd) noexcept : reactor_(r), fd_(fd) {}
    ~connecting() = default;

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
        if (!begin(h)) return false;
        try {
            watch_ = reactor_.watch_descriptor(fd_, *this);
            watch_->want(reactor::writable);
        } catch (...) {  // cannot watch the descriptor, or no memory: rethrown by the wait
            watch_.reset();
            leave();
            throw;
        }
        return true;
    }
    void await_resume() const { check(); }

private:
    void on_ready(unsigned) override {
        watch_.reset();
        resume();
    }
    void interrupt() noexcept override {
        watch_.reset();
        resume();
    }
    reactor& reactor_;
    int fd_;
    std::unique_ptr<reactor::watch> watch_;
};

}  // namespace

std::unique_ptr<connection> connect_unix(loop& l, const std::string& path) {
    reactor& r = reactor_of(l);
    sockaddr_un address = unix_address(path);
    descriptor socket = open_socket(AF_UNIX);
    // A Unix socket connects at once or fails: EAGAIN means that the server's backlog is full.
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw_errno("cannot connect to " + path);
    }
    return std::make_unique<fd_connection>(r, std::move(socket), "unix " + path);
}

task<std::unique_ptr<connection>> connect_tcp(loop& l, tcp_address to) {
    reactor& r = reactor_of(l);
    addresses found;
    if (is_numeric(to)) {
        found = resolve(to, AI_NUMERICHOST);
    } else {
        lookup name(to);
        found = co_await name;
    }
    int error = 0;
    for (addrinfo* a = found.get(); a; a = a->ai_next) {
        descriptor socket = open_socket(a->ai_family);
        error = ::connect(socket.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            connecting attempt(r, socket.get());
            co_await attempt;
            socklen_t size = sizeof error;
            ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        }
        if (error != 0) continue;
        send_at_once(socket.get());
        watch_for_silence(socket.get());
        auto wire = std::make_unique<fd_connection>(r, std::move(socket), "tcp " + to.text());
        wire->acknowledge_at_once();
        co_return wire;
    }
    throw std::system_error(error, std::generic_category(), "cannot connect to " + to.text());
}

}  // namespace keel
