#include "proxy.hpp"

#include <keel/transport.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <string>

namespace keel::caller {

namespace {

namespace asio = boost::asio;
constexpr auto use = asio::as_tuple(asio::use_awaitable);
using stream = asio::ip::tcp::socket;

enum class fault : unsigned char { cut, reset, stall, delay, close };
constexpr std::array<const char*, 5> fault_names = {"cut", "reset", "stall", "delay", "close"};

struct counts {
    unsigned long connections = 0;
    std::array<unsigned long, fault_names.size()> of = {};
};

/// Two sockets and what happens between them. Owned by its two directions, which end one after the other.
class bridge : public std::enable_shared_from_this<bridge> {
public:
    bridge(stream from, stream to, std::uint64_t seed, double mean, counts& sum)
        : a_(std::move(from)), b_(std::move(to)), chance_(seed), mean_(mean), sum_(sum) {}

    void start() {
        auto self = shared_from_this();
        asio::co_spawn(a_.get_executor(), [self] { return self->pump(self->a_, self->b_); }, asio::detached);
        asio::co_spawn(a_.get_executor(), [self] { return self->pump(self->b_, self->a_); }, asio::detached);
    }

private:
    std::size_t next_fault() {
        return static_cast<std::size_t>(std::exponential_distribution<double>(1 / mean_)(chance_));
    }

    asio::awaitable<void> pump(stream& from, stream& to) {
        std::array<char, 16 * 1024> room;
        std::size_t until_fault = next_fault();
        while (!over_) {
            auto [wrong, got] = co_await from.async_read_some(asio::buffer(room), use);
            if (over_) co_return;
            if (wrong) {
                // The end of one direction is handed on; an error ends both.
                boost::system::error_code ignored;
                if (wrong == asio::error::eof) to.shutdown(stream::shutdown_send, ignored);
                else end(false);
                co_return;
            }
            std::size_t whole = std::min(got, until_fault);
            if (!co_await hand_on(to, room.data(), whole)) co_return;
            until_fault -= whole;
            if (whole == got) continue;
            if (!co_await meet_fault()) co_return;
            until_fault = next_fault();
            if (!co_await hand_on(to, room.data() + whole, got - whole)) co_return;
        }
    }

    asio::awaitable<bool> hand_on(stream& to, const char* data, std::size_t size) {
        auto [wrong, sent] = co_await asio::async_write(to, asio::buffer(data, size), use);
        if (wrong && !over_) end(false);
        co_return !over_;
    }

    /// False when there is nothing left to do.
    asio::awaitable<bool> meet_fault() {
        auto what = static_cast<fault>(std::discrete_distribution<int>({2, 2, 1, 3, 2})(chance_));
        ++sum_.of[static_cast<std::size_t>(what)];
        auto time = [&](int most) {
            return std::chrono::milliseconds(std::uniform_int_distribution(1, most)(chance_));
        };
        switch (what) {
            case fault::cut: end(false); break;
            case fault::reset: end(true); break;
            case fault::stall:  // nothing moves any more; at last it breaks
                co_await wait(time(2000));
                end(true);
                break;
            case fault::delay: co_await wait(time(20)); break;
            case fault::close: {  // half: what was sent arrives, then the end
                boost::system::error_code ignored;
                a_.shutdown(stream::shutdown_send, ignored);
                b_.shutdown(stream::shutdown_send, ignored);
                co_await wait(time(20));
                end(false);
                break;
            }
        }
        co_return !over_;
    }

    asio::awaitable<void> wait(std::chrono::milliseconds how_long) {
        asio::steady_timer timer(a_.get_executor(), how_long);
        co_await timer.async_wait(use);
    }

    void end(bool hard) {
        if (over_) return;
        over_ = true;
        boost::system::error_code ignored;
        for (stream* each : {&a_, &b_}) {
            if (hard) each->set_option(asio::socket_base::linger(true, 0), ignored);
            each->close(ignored);
        }
    }

    stream a_;
    stream b_;
    std::mt19937_64 chance_;
    double mean_;
    counts& sum_;
    bool over_ = false;
};

asio::awaitable<void> reach(stream from, asio::ip::tcp::endpoint where, std::uint64_t seed, double mean, counts& sum) {
    stream to(from.get_executor());
    auto [wrong] = co_await to.async_connect(where, use);
    if (wrong) co_return;
    boost::system::error_code ignored;
    from.set_option(asio::ip::tcp::no_delay(true), ignored);
    to.set_option(asio::ip::tcp::no_delay(true), ignored);
    std::make_shared<bridge>(std::move(from), std::move(to), seed, mean, sum)->start();
}

asio::awaitable<void> accept(asio::ip::tcp::acceptor& at, asio::ip::tcp::endpoint where, std::uint64_t seed,
                             double mean, counts& sum) {
    for (;;) {
        auto [wrong, from] = co_await at.async_accept(use);
        if (wrong) co_return;
        ++sum.connections;
        asio::co_spawn(at.get_executor(), reach(std::move(from), where, seed + sum.connections, mean, sum),
                       asio::detached);
    }
}

}  // namespace

int run_proxy(int argc, const char* const* argv) {
    if (argc < 3) {
        std::fputs("usage: test-caller proxy SEED HOST:PORT [MEAN]\n", stderr);
        return 2;
    }
    std::uint64_t seed = std::stoull(argv[1]);
    tcp_address where = tcp_address::parse(argv[2]);
    double mean = argc > 3 ? std::stod(argv[3]) : 100'000;

    asio::io_context context(1);
    counts sum;
    asio::ip::tcp::acceptor at(context, {asio::ip::make_address("127.0.0.1"), 0});
    asio::co_spawn(context, accept(at, {asio::ip::make_address(where.host), where.port}, seed, mean, sum),
                   asio::detached);
    std::printf("%d\n", at.local_endpoint().port());
    std::fflush(stdout);

    asio::posix::stream_descriptor input(context, ::dup(STDIN_FILENO));
    std::array<char, 64> unread;
    input.async_read_some(asio::buffer(unread), [&](const boost::system::error_code&, std::size_t) { context.stop(); });
    context.run();
    std::printf("connections %lu", sum.connections);
    for (std::size_t i = 0; i < fault_names.size(); ++i) std::printf(" %s %lu", fault_names[i], sum.of[i]);
    std::printf("\n");
    return 0;
}

}  // namespace keel::caller
