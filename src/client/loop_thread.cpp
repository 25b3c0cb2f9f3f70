#include "client/loop_thread.hpp"

#include "async/epoll_loop.hpp"

#include <utility>

namespace keel::inline KEEL_ABI::client_side {

void loop_thread::start(std::shared_ptr<async::epoll_loop> own) {
    loop_ = own;
    thread_ = std::thread([own = std::move(own)] {
        own->run();
        own->end();  // on this thread: if the client is destroyed here, no other thread could do it
    });
}

void loop_thread::stop_when_idle(duration grace) {
    if (calls_ == 0) return loop_->stop();
    when_idle_ = [own = loop_] { own->stop(); };
    start_timer_after(*loop_, grace, [own = loop_] { own->stop(); });
}

void loop_thread::call_ended() {
    if (--calls_ == 0 && when_idle_) std::exchange(when_idle_, nullptr)();
}

void loop_thread::join() {
    std::thread thread = std::move(thread_);
    if (loop_->here()) thread.detach();  // destroyed in a callback of the client: joining would deadlock
    else thread.join();
}

}  // namespace keel::client_side
