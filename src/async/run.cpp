#include <keel/run.hpp>

#include "async/epoll_loop.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI::detail {

namespace {
// Whether this thread is inside of keel::run. There is nobody to hand this in: the one who asks may be any code of the user's.
thread_local bool running = false;
}  // namespace

loop_of_thread::loop_of_thread() {
    if (running)
        throw std::logic_error("keel: run() inside of a task that run() runs would hold that up: await instead");
    loop_ = epoll_loop::create();
    running = true;
}

loop_of_thread::~loop_of_thread() {
    loop_->end();
    running = false;
}

keel::loop& loop_of_thread::loop() noexcept { return *loop_; }
void loop_of_thread::work() noexcept { loop_->run(); }
void loop_of_thread::stop() noexcept { loop_->stop(); }

}  // namespace keel::detail
