#include "proxy.hpp"

#include <keel/transport.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace keel::caller {

namespace {

enum class fault : unsigned char { cut, reset, stall, delay, close };
constexpr std::array<const char*, 5> fault_names = {"cut", "reset", "stall", "delay", "close"};

struct counts {
    std::atomic<unsigned long> connections = 0;
    std::array<std::atomic<unsigned long>, fault_names.size()> of = {};
};

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &out.sin_addr) != 1)
        throw std::invalid_argument("not an IPv4 address: " + host);
    return out;
}

int open_socket() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
    return fd;
}

/// Two sockets and the faults between them. Owned by the threads of its two directions; the last one closes the
/// sockets.
class bridge {
public:
    bridge(int a, int b, std::uint64_t seed, double mean, counts& sum)
        : a_(a), b_(b), chance_(seed), mean_(mean), sum_(sum) {}
    bridge(const bridge&) = delete;
    bridge& operator=(const bridge&) = delete;
    ~bridge() {
        for (int fd : {a_, b_}) {
            if (reset_) {
                const linger hard{.l_onoff = 1, .l_linger = 0};
                ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
            }
            ::close(fd);
        }
    }

    static void start(const std::shared_ptr<bridge>& self) {
        std::thread([self] { self->pump(self->a_, self->b_); }).detach();
        std::thread([self] { self->pump(self->b_, self->a_); }).detach();
    }

private:
    std::size_t next_fault() {
        std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(std::exponential_distribution<double>(1 / mean_)(chance_));
    }

    void pump(int from, int to) {
        std::array<char, 16 * 1024> room;
        std::size_t until_fault = next_fault();
        while (!over()) {
            const ssize_t got = ::recv(from, room.data(), room.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (over()) return;
            if (got <= 0) {
                // The end of one direction is forwarded; an error ends both.
                if (got == 0) ::shutdown(to, SHUT_WR);
                else end(false);
                return;
            }
            const auto size = static_cast<std::size_t>(got);
            const std::size_t whole = std::min(size, until_fault);
            if (!hand_on(to, room.data(), whole)) return;
            until_fault -= whole;
            if (whole == size) continue;
            if (!meet_fault()) return;
            until_fault = next_fault();
            if (!hand_on(to, room.data() + whole, size - whole)) return;
        }
    }

    bool hand_on(int to, const char* data, std::size_t size) {
        while (size > 0 && !over()) {
            const ssize_t sent = ::send(to, data, size, MSG_NOSIGNAL);
            if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;  // EAGAIN: SO_SNDTIMEO
            if (sent < 0) {
                end(false);
                break;
            }
            data += sent;
            size -= static_cast<std::size_t>(sent);
        }
        return !over();
    }

    /// Returns false if the bridge has ended.
    bool meet_fault() {
        fault what;
        std::chrono::milliseconds time;
        {
            std::lock_guard lock(mutex_);
            what = static_cast<fault>(std::discrete_distribution<int>({2, 2, 1, 3, 2})(chance_));
            time =
                std::chrono::milliseconds(std::uniform_int_distribution(1, what == fault::stall ? 2000 : 20)(chance_));
        }
        ++sum_.of[static_cast<std::size_t>(what)];
        switch (what) {
            case fault::cut: end(false); break;
            case fault::reset: end(true); break;
            case fault::stall:  // this direction stops forwarding, then the connection fails
                wait(time);
                end(true);
                break;
            case fault::delay: wait(time); break;
            case fault::close:  // half-close: sent bytes arrive, then the end
                ::shutdown(a_, SHUT_WR);
                ::shutdown(b_, SHUT_WR);
                wait(time);
                end(false);
                break;
        }
        return !over();
    }

    void wait(std::chrono::milliseconds how_long) {
        std::unique_lock lock(mutex_);
        ended_.wait_for(lock, how_long, [this] { return over_; });
    }

    bool over() {
        std::lock_guard lock(mutex_);
        return over_;
    }

    void end(bool hard) {
        {
            std::lock_guard lock(mutex_);
            if (over_) return;
            over_ = true;
            reset_ = hard;
        }
        ended_.notify_all();
        // Wakes the other direction. Without `hard` the peers see the end of input, otherwise a reset.
        for (int fd : {a_, b_}) ::shutdown(fd, hard ? SHUT_RD : SHUT_RDWR);
    }

    const int a_;
    const int b_;
    // The threads of both directions use this.
    std::mutex mutex_;
    std::condition_variable ended_;
    std::mt19937_64 chance_;
    const double mean_;
    counts& sum_;
    bool over_ = false;
    bool reset_ = false;
};

void reach(int from, const sockaddr_in& where, std::uint64_t seed, double mean, counts& sum) {
    const int to = open_socket();
    if (::connect(to, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
        ::close(from);
        ::close(to);
        return;
    }
    const int on = 1;
    // A direction that waits to send checks regularly whether the other one has ended the bridge.
    const timeval send_timeout{.tv_sec = 0, .tv_usec = 50'000};
    for (int fd : {from, to}) {
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send_timeout, sizeof send_timeout);
    }
    bridge::start(std::make_shared<bridge>(from, to, seed, mean, sum));
}

}  // namespace

int run_proxy(int argc, const char* const* argv) {
    if (argc < 3) {
        std::fputs("usage: test-caller proxy SEED HOST:PORT [MEAN]\n", stderr);
        return 2;
    }
    const std::uint64_t seed = std::stoull(argv[1]);
    const tcp_address named = tcp_address::parse(argv[2]);
    const sockaddr_in where = address_of(named.host, named.port);
    const double mean = argc > 3 ? std::stod(argv[3]) : 100'000;

    const int at = open_socket();
    sockaddr_in here = address_of("127.0.0.1", 0);
    socklen_t size = sizeof here;
    if (::bind(at, reinterpret_cast<const sockaddr*>(&here), size) != 0 || ::listen(at, 1024) != 0 ||
        ::getsockname(at, reinterpret_cast<sockaddr*>(&here), &size) != 0) {
        std::perror("test-caller proxy");
        return 1;
    }
    std::printf("%d\n", ntohs(here.sin_port));
    std::fflush(stdout);

    // The threads of bridges outlive main's frame until the process exits.
    static counts sum;
    std::array<pollfd, 2> ready = {
        {{.fd = at, .events = POLLIN, .revents = 0}, {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
    while (::poll(ready.data(), ready.size(), -1) >= 0 || errno == EINTR) {
        if (ready[1].revents != 0) break;  // the end of input ends the proxy
        if (ready[0].revents == 0) continue;
        const int from = ::accept4(at, nullptr, nullptr, SOCK_CLOEXEC);
        if (from < 0) continue;
        const std::uint64_t number = ++sum.connections;
        reach(from, where, seed + number, mean, sum);
    }
    std::printf("connections %lu", sum.connections.load());
    for (std::size_t i = 0; i < fault_names.size(); ++i) std::printf(" %s %lu", fault_names[i], sum.of[i].load());
    std::printf("\n");
    std::fflush(stdout);
    ::_exit(0);  // bridges may still run; the process closes their sockets
}

}  // namespace keel::caller
