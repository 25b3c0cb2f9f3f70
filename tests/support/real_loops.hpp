#pragma once

// The loops that can watch descriptors, behind one interface, so that a test can run on each. The loop on Asio exists
// only in builds with keel::asio.

#include "async/epoll_loop.hpp"

#ifdef KEEL_HAVE_ASIO
#include "asio/asio_loop.hpp"

#include <boost/asio/io_context.hpp>
#endif

#include <memory>

namespace keel::test {

struct on_epoll {
    std::shared_ptr<async::epoll_loop> shared = async::epoll_loop::create();
    on_epoll() = default;
    on_epoll(const on_epoll&) = delete;
    on_epoll& operator=(const on_epoll&) = delete;
    ~on_epoll() { shared->end(); }  // queued work may own the loop

    async::reactor& loop() { return *shared; }
    /// Runs the loop until `done()`.
    template <class Done>
    void until(Done done) {
        while (!done()) shared->run_turn(true);
    }
    /// Runs the work that is ready, without waiting.
    void poll() {
        for (int i = 0; i < 10; ++i) shared->run_turn(false);
    }
};

#ifdef KEEL_HAVE_ASIO

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

// Types for TEST_CASE_TEMPLATE.
#define KEEL_TEST_LOOPS ::keel::test::on_epoll, ::keel::test::on_asio
#define KEEL_TEST_LOOPS_AND_STRAND KEEL_TEST_LOOPS, ::keel::test::on_asio_strand

#else

#define KEEL_TEST_LOOPS ::keel::test::on_epoll
#define KEEL_TEST_LOOPS_AND_STRAND KEEL_TEST_LOOPS

#endif

}  // namespace keel::test
