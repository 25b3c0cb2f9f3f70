#include <keel/event_loop.hpp>

#include "async/epoll_loop.hpp"

#include <stdexcept>
#include <string>

namespace keel::inline KEEL_ABI {

event_loop::event_loop() : own_(async::epoll_loop::create()), loop_(own_) { own_->belong_to_this_thread(); }

event_loop::~event_loop() { own_->end(); }

void event_loop::enter(const char* what) {
    const char* why = !own_->here() ? " on another thread than the one that created the loop"
                      : polling_    ? " by work that the loop is running"
                                    : nullptr;
    if (why) throw std::logic_error(std::string("keel: event_loop::") + what + " must not be called" + why);
}

bool event_loop::poll(duration wait) {
    enter("poll");
    struct polling {
        bool& flag;
        explicit polling(bool& f) noexcept : flag(f) { flag = true; }
        ~polling() { flag = false; }
    } now(polling_);
    return own_->poll(wait);
}

void event_loop::run() {
    enter("run");
    while (!own_->take_stop()) poll(duration::max());
    poll();  // work that was posted before stop
}

void event_loop::stop() noexcept { own_->stop(); }

int event_loop::descriptor() { return own_->descriptor(); }

time_point event_loop::next_timer() const noexcept { return own_->next_timer(); }

}  // namespace keel
