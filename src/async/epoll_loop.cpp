#include "async/epoll_loop.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

namespace keel::inline KEEL_ABI::async {

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// In a process started without standard input or output, a new descriptor gets a number from 0 to 2, and code that opens the
// standard streams would replace it.
int not_standard(int fd) noexcept {
    if (fd < 0 || fd > 2) return fd;
    int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int error = errno;
    ::close(fd);
    errno = error;
    return moved;
}

std::uint32_t bits_for(unsigned events) noexcept {
    // epoll always reports errors and hang-ups. If nothing else is wanted, report them once instead of in every iteration.
    if (events == 0) return EPOLLONESHOT;
    std::uint32_t bits = 0;
    if (events & reactor::readable) bits |= EPOLLIN;
    if (events & reactor::writable) bits |= EPOLLOUT;
    return bits;
}

}  // namespace

struct epoll_loop::entry {
    int fd;
    watcher* who;  // null: the watch was destroyed
    unsigned wanted = 0;
    bool disarmed = false;
};

class epoll_loop::held_entry final : public watch {
public:
    held_entry(std::shared_ptr<epoll_loop> owner, std::unique_ptr<entry> e) noexcept
        : owner_(std::move(owner)), entry_(std::move(e)) {}
    ~held_entry() override {
        // Closing the descriptor does not remove it from the epoll set if another process has a copy.
        if (owner_->epoll_ >= 0) ::epoll_ctl(owner_->epoll_, EPOLL_CTL_DEL, entry_->fd, nullptr);
        entry_->who = nullptr;
        owner_->forget(std::move(entry_));
    }
    void want(unsigned events) override {
        if (owner_->epoll_ < 0 || (events == entry_->wanted && !entry_->disarmed)) return;
        epoll_event e{};
        e.events = bits_for(events);
        e.data.ptr = entry_.get();
        if (::epoll_ctl(owner_->epoll_, EPOLL_CTL_MOD, entry_->fd, &e) != 0) fail("epoll_ctl");
        entry_->wanted = events;
        entry_->disarmed = false;
    }

private:
    std::shared_ptr<epoll_loop> owner_;
    std::unique_ptr<entry> entry_;
};

epoll_loop::epoll_loop() {
    epoll_ = not_standard(::epoll_create1(EPOLL_CLOEXEC));
    if (epoll_ < 0) fail("epoll_create1");
    wake_ = not_standard(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (wake_ < 0 || !watch_own(wake_)) {
        int error = errno;
        ::close(epoll_);
        if (wake_ >= 0) ::close(wake_);
        throw std::system_error(error, std::generic_category(), "eventfd");
    }
}

bool epoll_loop::watch_own(int fd) noexcept {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLET;  // edge-triggered: the counter is never read
    return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e) == 0;
}

epoll_loop::~epoll_loop() { end(); }

void epoll_loop::end() noexcept {
    std::vector<std::function<void()>> dropped;
    {
        std::lock_guard lock(mutex_);
        if (ended_) return;
        ended_ = true;
        dropped.swap(posted_);
        ::close(std::exchange(epoll_, -1));
        ::close(std::exchange(wake_, -1));
        if (timer_ >= 0) ::close(std::exchange(timer_, -1));
    }
    stopping_ = true;
    running_.clear();
    timers_.clear();
    drop_workers();
}

bool epoll_loop::post(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    if (ended_) return false;
    posted_.push_back(std::move(work));
    if (sleeping_) {
        sleeping_ = false;
        wake();
    }
    return true;
}

void epoll_loop::wake() noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is full, after 2^64 wake-ups.
    [[maybe_unused]] ssize_t n = ::write(wake_, &one, sizeof one);
}

void epoll_loop::stop() noexcept {
    stopping_ = true;
    std::lock_guard lock(mutex_);
    if (!ended_) wake();
}

loop::timer epoll_loop::start_timer(time_point when, std::function<void()> work) {
    if (epoll_ < 0) return 0;
    if (timer_ >= 0 && when < timer_armed_) arm_timer(when);
    return timers_.add(when, std::move(work));
}

std::unique_ptr<reactor::watch> epoll_loop::watch_descriptor(int fd, watcher& who) {
    auto e = std::make_unique<entry>(entry{fd, &who});
    epoll_event event{};
    event.events = bits_for(0);
    event.data.ptr = e.get();
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
        if (errno == EPERM) return nullptr;
        fail("epoll_ctl");
    }
    return std::make_unique<held_entry>(std::static_pointer_cast<epoll_loop>(shared_from_this()), std::move(e));
}

void epoll_loop::forget(std::unique_ptr<entry> e) noexcept {
    if (dispatching_) forgotten_.push_back(std::move(e));
}

int epoll_loop::wait_milliseconds(duration most) const noexcept {
    if (most <= duration::zero()) return 0;
    if (timers_.empty() && most == duration::max()) return -1;
    duration left = timers_.empty() ? most : std::min(most, timers_.next() - now());
    if (left <= duration::zero()) return 0;
    // Rounded up: waking up early would only spin.
    auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<long long>(milliseconds, INT_MAX));
}

bool epoll_loop::turn(duration wait) {
    std::shared_ptr<reactor> alive = shared_from_this();  // a callback may drop the last reference
    loop_thread_mark here(runner_);
    if (epoll_ < 0) return false;
    bool busy = dispatch_ready(wait);
    if (!timers_.empty()) {
        time_point moment = now();
        while (std::function<void()> due = timers_.take_due(moment)) {
            busy = true;
            due();
        }
    }
    if (running_.empty()) {
        std::lock_guard lock(mutex_);
        running_.take(posted_);
    }
    busy = busy || !running_.empty();
    running_.run();
    return busy;
}

bool epoll_loop::dispatch_ready(duration wait) {
    int timeout = !stopping_ && running_.empty() ? wait_milliseconds(wait) : 0;
    bool busy = false;
    if (timeout != 0) {
        std::lock_guard lock(mutex_);
        if (posted_.empty()) {
            sleeping_ = true;
        } else {
            timeout = 0;
        }
    }
    std::array<epoll_event, 64> events;
    int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    if (timeout != 0) {
        std::lock_guard lock(mutex_);
        sleeping_ = false;
    }
    if (count < 0 && errno != EINTR) fail("epoll_wait");

    struct dispatch {
        epoll_loop& self;
        explicit dispatch(epoll_loop& l) noexcept : self(l) { self.dispatching_ = true; }
        ~dispatch() {
            self.dispatching_ = false;
            self.forgotten_.clear();
        }
    } dispatching(*this);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* e = static_cast<entry*>(event.data.ptr);
        if (!e || !e->who) continue;  // the wake-up event, or a watch destroyed by an earlier callback
        unsigned told = 0;
        if (event.events & EPOLLIN) told |= readable;
        if (event.events & EPOLLOUT) told |= writable;
        if (event.events & (EPOLLERR | EPOLLHUP)) told |= broken;
        if (e->wanted == 0) e->disarmed = true;
        told &= e->wanted | broken;
        if (told != 0 && epoll_ >= 0) {
            busy = true;
            e->who->on_ready(told);
        }
    }
    return busy;
}

// ---- for another event loop that watches this one ----

bool epoll_loop::poll(duration wait) {
    struct watched_again {
        epoll_loop& self;
        ~watched_again() { self.be_watched(); }  // also if work has thrown
    } after{*this};
    {
        std::lock_guard lock(mutex_);
        sleeping_ = false;  // until `be_watched`
    }
    return turn(wait);
}

int epoll_loop::descriptor() {
    if (timer_ < 0 && epoll_ >= 0) {
        int made = not_standard(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        if (made < 0 || !watch_own(made)) {
            int error = errno;
            if (made >= 0) ::close(made);
            throw std::system_error(error, std::generic_category(), "timerfd");
        }
        timer_ = made;
        be_watched();
    }
    return epoll_;
}

/// From now on, whatever gives the loop something to do makes its descriptor readable.
void epoll_loop::be_watched() noexcept {
    if (timer_ < 0) return;
    if (next_timer() != timer_armed_) arm_timer(next_timer());
    std::lock_guard lock(mutex_);
    sleeping_ = posted_.empty() && running_.empty();
    if (!sleeping_) wake();
}

void epoll_loop::arm_timer(time_point when) noexcept {
    timer_armed_ = when;
    itimerspec at{};  // zero: no timer
    if (when != time_point::max()) {
        // steady_clock is CLOCK_MONOTONIC. A time in the past expires at once.
        auto since_boot = std::max(when.time_since_epoch(), duration(1));
        auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        at.it_value.tv_sec = seconds.count();
        at.it_value.tv_nsec = std::chrono::nanoseconds(since_boot - seconds).count();
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

void epoll_loop::run() {
    while (!stopping_ && epoll_ >= 0) run_turn(true);
    if (epoll_ >= 0) run_turn(false);
    stopping_ = false;
}

}  // namespace keel::async
