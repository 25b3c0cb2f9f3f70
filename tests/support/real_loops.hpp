#pragma once

// The two loops that watch descriptors, behind one face, so that a test can run over each.

#include "async/asio_loop.hpp"
#include "async/epoll_loop.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace keel::test {

struct on_epoll {
    std::shared_ptr<async::epoll_loop> shared = async::epoll_loop::create();
    async::reactor& loop() { return *shared; }
    /// Runs the loop until `done()`.
    template <class Done>
    void until(Done done) {
        while (!done()) shared->run_turn(true);
    }
    /// Runs what is ready now, without waiting.
    void poll() {
        for (int i = 0; i < 10; ++i) shared->run_turn(false);
    }
};

template <io_threads Threads>
struct on_asio_with {
    boost::asio::io_context context{1};
    std::shared_ptr<async::asio_loop> shared = async::asio_loop::create(context, Threads);
    async::reactor& loop() { return *shared; }
    template <class Done>
    void until(Done done) {
        while (!done()) {
            context.restart();
            context.run_one();
        }
    }
    void poll() {
        for (int i = 0; i < 10; ++i) {
            context.restart();
            context.poll();
        }
    }
};
using on_asio = on_asio_with<io_threads::one>;
using on_asio_strand = on_asio_with<io_threads::several>;

}  // namespace keel::test
