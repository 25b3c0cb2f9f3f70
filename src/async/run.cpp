#include <keel/run.hpp>

#include "async/epoll_loop.hpp"

#include <stdexcept>

namespace keel::inline KEEL_ABI::detail {

namespace {
// True while this thread is in keel::run. Thread-local, because any user code may call keel::run.
thread_local bool running = false;
}  // namespace

loop_of_thread::loop_of_thread() {
    if (running)
        throw std::logic_error("keel: run() must not be called in a task that run() runs: use co_await instead");
    loop_ = async::epoll_loop::create();
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
